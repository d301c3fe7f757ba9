// Package commitlog is the append-only log of message records over a queue of
// mapped files. It assigns physical and queue offsets, decides when a file is
// full, and makes records durable, one by one or in groups.
//
//	Append ─ lock ─► room for the record? ── no ─► blank record, next file from segment.Prealloc
//	                     │ yes
//	                     ▼
//	         queue offset, store time, encode straight into the mapping
//	         (or a transient buffer), publish the position ─ unlock
//
//	Commit    transient buffers ─► page cache                 (only with SyncPwrite)
//	Flush     page cache ─► disk, every interval, or one sync for a group of waiting appends
//
// # Watermarks
//
//	Min ≤ Flushed ≤ Committed ≤ Appended
//
// All are byte offsets in the log. None goes back while the log is open.
// Without transient buffers Committed equals Appended.
//
// # Concurrency
//
// Append, AppendBatch, Record, Flush and Snapshot may be called from any
// goroutine. One append lock orders the appends; one sync lock orders commits
// and syncs. Reads take neither.
//
// # Errors
//
// A sync that failed ends acceptance for good: the kernel may have dropped the
// pages, and a later sync that succeeds would prove nothing about them. A full
// disk does not: the next append tries again.
package commitlog
