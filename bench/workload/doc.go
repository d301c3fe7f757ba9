// Package workload says what data is stored: sizes, topics, queues, keys, tags
// and a body whose every byte can be told again from three numbers.
//
// A message is a pure function of (seed, worker, sequence). Nothing about it
// is remembered, so a run of any length can be checked afterwards: read a
// record, regenerate the message with the same three numbers, compare.
//
//	body, n bytes
//	 0        8        12       16         24                     n-8      n
//	 ┌────────┬────────┬────────┬──────────┬──────────────────────┬────────┐
//	 │ seed   │ worker │ length │ sequence │ filler[24:n-8]       │ tail   │
//	 └────────┴────────┴────────┴──────────┴──────────────────────┴────────┘
//
// Numbers are big-endian. The filler is the same incompressible bytes in every
// body of a workload, the tail is a hash of (seed, worker, sequence): a body
// whose first half came from one message and whose second half from another
// has a head and a tail that disagree. A body below 32 bytes has no tail, one
// below 24 bytes only the first n bytes of the head.
//
// Concurrency: a Workload is immutable after New and shared by all workers. A
// Generator belongs to one worker; it owns one message.Message and its bytes
// and hands out the same pointer again and again, so that a steady state
// allocates nothing.
package workload
