// Package consumequeue owns the queues that consumers read: for each topic and
// queue id, a dense array of fixed-size units that point into the commit log. A
// queue is derived data. Everything in it can be built again from the log, as
// far as the log still reaches back.
//
// # One unit
//
// All integers are big-endian and signed. The unit of queue offset n stands at
// byte n*20 of the queue.
//
//	offset  width  field
//	     0      8  physical offset   where the record starts in the commit log
//	     8      4  size              of the whole record, in bytes
//	    12      8  tags code         hash of the tags, due time of a delayed message,
//	                                 or address in the extension file
//
// A queue whose first message has an offset other than 0 starts with pre-fill
// units (physical offset 0, size 0x7FFFFFFF, tags code 0) up to that offset, as
// far as they lie in the same file. They keep positions and offsets in step and
// stand for no message.
//
// # One queue
//
//	consumequeue/<topic>/<queue id>/<20 digits: byte of the queue at which the file starts>
//
//	      first file                        last file
//	  ├───────────────────────┤ … ├──────────────────────────────┤
//	  │ pre-fill or expired │ live units      │      zeros       │
//	                        ▲                 ▲
//	                       Min               Max, where Put goes
//
// Min ≤ Max always; both are queue offsets. MaxPhysical is the end of the record
// that the last unit points at: what is below it has been dispatched to this
// queue.
//
// # Writing
//
// Put is driven by the position: a unit goes to the place of its queue offset and
// nowhere else. One that stands there already is confirmed by comparison; a
// different one is a [ConflictError], a place behind Max a [GapError], and in
// neither case anything is written. Bytes are stored first, then MaxPhysical and
// Max are raised, so that a failed Put can be repeated.
//
// # Opening
//
// A store may have thousands of queues, most of them at rest. So Open asks little of
// the system for each: its directory is listed, with the sizes of the files, and of
// those in doubt the units are read, with pread. What stands at both ends is kept, and
// answers all that a start, a clean end and a deletion ask. Files are opened and
// mapped, one by one, when they are first used:
//
//	LoadTable ─► Sum, CorrectMin, Settle ─► … ─► Sync, Sum, Close    no file is opened
//	                                        ├──► Read, Units, Put    the file they need
//	                                        └──► search, cut         all files of the queue
//
// Most of the queues have not even changed since the last clean end. Of those it leaves
// a catalog, one file for the table, by which LoadTable knows a queue that still has the
// stamps it had then: it asks for one or two of them and reads nothing. Every other
// queue, and every one where the catalog is missing, is read as above.
//
// What is wrong with names, sizes or units is found by Open. What becomes wrong
// afterwards, and want of descriptors or mappings, is an error of the first use, which
// changes nothing and may be tried again.
//
// # After a crash
//
// Open finds the end of a queue by its units alone: the first that is zero, torn
// or out of order in the log ends it. What lies behind is made zeros before the first
// unit is stored there, at the latest by a Sync of all units. Two things it cannot see: units that point
// behind the end of the log, which is what TruncateTo is for, and a tags code of
// which only a part reached the disk. Whoever recovers a store must therefore
// dispatch the log again, at least from the last sync of the queues on: Put
// confirms what is right, and reports what is not, for CutAt.
//
// # Concurrency
//
// Read, Units, LastUnit, SearchByTime and the watermarks may be used by any
// goroutine at any time, beside one writer at a time (Ready, Put, Skip, Reset), one
// sync, the service [Names] and one cleaner (CorrectMin, DeleteBefore, Reap). TruncateTo and CutAt are part of
// recovery: they must not run beside readers.
//
// Bytes of a [Units] stay mapped until its Release. Deleting a file unlinks it at
// once, takes it off the queue so that it blocks no younger one, and remembers
// it until the last reader is gone.
//
// # Where this differs from the Java store on purpose
//
//   - "Already built" is decided by position and comparison, not by one maximum
//     of physical offsets, which a queue of pre-fill units poisons.
//   - A unit is never appended at another position than its own.
//   - What a truncation cuts off is erased durably, and all-zero units are never
//     taken for entries.
//   - A queue of which all records expired has Min equal to Max.
//   - A file that a reader holds neither stays in the queue nor blocks others.
//   - Looking at an unknown topic or queue creates nothing.
package consumequeue
