// Package segment owns the mapped file: its three positions, its reference-
// counted lifetime, how its bytes come to be (allocated, populated, warmed,
// locked), and the ordered queue of equally sized files that forms a log.
//
// # Positions within a file
//
//	0            flushed        committed          wrote            size
//	├──────────────┼────────────────┼────────────────┼────────────────┤
//	│   on disk    │ in the page    │ only in the    │  zero bytes    │
//	│              │ cache          │ transient      │                │
//	│              │                │ buffer         │                │
//
// Without transient buffers a store goes straight through the mapping, and
// committed follows wrote at once. Readers see bytes below the read position,
// which is committed. All positions only grow, except in Truncate, which
// belongs to recovery and runs alone.
//
// # Life of a file
//
//	create ─► allocate ─► sync file, sync directory ─► map ─► advise ─► populate or touch ─► lock
//	   ─► appended to (tail) ─► full ─► unlock ─► read, synced
//	   ─► Destroy: name unlinked, no new references ─► last Release ─► Reaper: unmap, free, close
//	             └► recycled: renamed to a spare ─► last Release ─► Reaper: unmap, close ─► next file
//
// A file that is there when its queue is opened is opened and mapped at once or, with
// Options.Late, by whoever needs its bytes first: until then it is a name, a size and
// positions, and goes with its name.
//
// The bytes of a View stay mapped until its Release: a file is never unmapped
// under a reader. A reader that holds on longer than the caller's patience does
// not keep the disk space: Destroy then exchanges the pages under it for zeros
// and marks its views revoked. Nor does a reader pay for the end of a file: with a
// Reaper, the last Release only hands it over.
//
// A file that is used again shows bytes of its former life where nothing was written
// since. See Spares for what keeps them from being taken for records.
//
// # Concurrency
//
// One goroutine at a time appends to a queue (the log's append lock). Commit
// and Sync may run beside it, one goroutine each. Reads, Hold, Release and
// Snapshot are safe from any goroutine. Structural changes of a Queue take its
// mutex; readers see an immutable list through an atomic pointer.
//
// The package does not know what the bytes mean.
package segment
