// Package scenario says what is done in a run: a literal registry of
// scenarios, and the named configurations they are run with.
//
//	scenario           operation, and what is timed
//	append             Put into a store that flushes in the background
//	append_sync        Put that returns when the message is on disk
//	roll               append into small files; the puts that open a file are timed apart
//	lookup_cold        read by key from a log out of the page cache, with a 1 ms ticker beside
//	destroy            fill files and take them down, step by step
//	retention          append to a log of bounded size: files come and go all the time
//	recover            open a store as it was closed; recover_killed, recover_bare: as a kill left it,
//	                   with nothing but the log left; with a scan of the same files beside it
//	mixed              append and dispatch, tail readers and lookups in one store
//	baseline_scan      sequential read and CRC of a log in the page cache, 1 MiB at a time
//	baseline_memcpy    CRC and copy of an encoded record into a populated mapping
//	baseline_mmap      the same into a sparse mapping: first touch included
//	baseline_pwrite    CRC and one pwrite of an encoded record
//	baseline_fsync     encoded records, grouped: one pwrite and fdatasync for many
//
// A baseline is the cost below which nothing of this kind can go on this
// machine. It lays out files of the same size and total volume as the append
// it is compared with, and like that touches every byte once.
//
// # Bytes
//
// A closed loop can fill 10 GB in a second, and the store keeps all it is
// given. So every run has a byte budget (Spec.MaxBytes). When it is used, the
// operation returns an error that wraps measure.ErrEnd, which ends the run
// early and in order: what was measured until then counts.
//
// # Concurrency
//
// A Scenario is immutable. An instance's Op may be called by Spec.Writers
// workers at the same time, each with its own Worker.ID below Spec.Writers;
// Setup, Verify and Close only while no Op runs.
package scenario
