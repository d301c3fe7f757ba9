// Package mmap owns the dangers of memory-mapped files: it is the only package
// of the module that imports unsafe, and the only one that turns a page fault
// into an error.
//
// # The picture
//
//	Bytes()  ── load, store ──►  pages of the mapping ─┐ one page cache: a store, a WriteAt and
//	WriteAt, ReadAt ── pwrite, pread ──────────────────┤ a ReadAt see each other at once
//	                                                   ▼
//	                              Sync (msync), SyncData (fdatasync) ──► storage
//
// A [Mapper] makes a [Region] of an open file that already has its full length.
// Three more kinds of call act on a Region: hints (Advise), preparations
// (Populate, Lock) and the end of life (ReplaceWithZeros, Unmap). Each hint and
// preparation may fail on some machine for reasons that do not matter to
// correctness, such as an old kernel or a small limit; the error wraps the errno
// so that the caller can report it once and go on.
//
// # Invariants
//
//   - A range is checked against the length of the mapping before the system
//     sees it; the answer to a bad range is [ErrRange], never a fault.
//   - Nothing here touches mapped bytes except the loads and stores in atomic.go.
//   - After ReplaceWithZeros a Region promises nothing about its file: Sync fails
//     rather than succeed on pages that belong to no file.
//   - Unmap succeeds once.
//
// # Concurrency
//
// Every method may be called from several goroutines at once. ReplaceWithZeros
// and Unmap wait for the other calls in progress and make later ones fail. That
// does not extend to slices handed out by Bytes: whoever unmaps must know that
// nobody uses them any more. Reference counting is the caller's, here there is
// only the mechanism.
//
// # Faults
//
// A page that storage cannot back (a hole on a full disk, a file truncated by
// someone else, an unreadable block) raises SIGBUS at the load or store that
// touches it. Allocate real blocks before mapping so that this stays an accident;
// wrap reads of bytes that an accident may have taken away in [Guard] or
// [Recover], which turn the fault into a [FaultError].
//
// The race detector does not watch mapped memory. The package mmaptest has a
// Mapper on the Go heap for that purpose.
package mmap
