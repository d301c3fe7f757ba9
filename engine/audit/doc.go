// Package audit reads a store directory that nobody has open, judges it, and
// changes nothing: no lock is taken, files are opened for reading only, nothing
// is mapped.
//
//	commit log ──► every record: lengths, place, checksums
//	   │ record                                     │ what can be decoded
//	   ├─► consume queue: the unit at its queue offset must be that of the record
//	   └─► index: the next items must be its keys
//	consume queues ─► every unit that no record asked for: expired, pre-fill, or a fault
//	index files    ─► header, slots, links; items that no record asked for
//	root           ─► lock, abort marker, checkpoint, progress of delayed messages
//
// Sizes come from the files, so that a store of any configuration can be read.
// That of an index does not tell how many slots and items it has: see [Options].
//
// # Memory
//
// Everything is read in one direction, in pieces. What stays in memory is one bit
// for each unit, one file of the index, and the record at hand. This works because
// items stand in the index in the order of the log; items that do not are faults.
//
// # What counts as a fault
//
// A [Fault] is what a store that was closed in order never has. It says which
// file and where. After a crash a fault may be what opening the store would mend:
// a torn end of the log, units and items that are missing at the end. What is
// unusual but lawful is a note.
//
// Damage is named once, where it is. A record whose body is damaged but whose
// lengths are not still speaks for its unit and its items.
//
// # Limits
//
// Units that lead to the extension of a queue are taken for right as far as tags
// go. Queues that get units beside the one of the record (multiple dispatch of
// release 5) look like faults.
//
// # Concurrency
//
// Functions share nothing. On a store that is open and being written the ends of
// the parts move while they are read, which shows as faults that are none.
package audit
