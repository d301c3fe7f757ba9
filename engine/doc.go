// Package engine is a message store in the design of the local file store of
// Apache RocketMQ, compatible with it on disk in both directions, and built so
// that every choice in it can be changed and measured.
//
// # From Put to Destroy
//
// Follow a message through the files in this order.
//
//	put.go                  validate and plan (package message), delayed messages aside
//	commitlog/append.go     one lock: room, queue offset, store time; encode straight into the
//	                        mapping or a transient buffer; publish the position       Appended
//	                        tail full: blank record, next file from segment/prealloc.go
//	segment/window.go       pages just ahead of the writer are populated by another thread
//	commitlog/commit.go     transient buffers → page cache                           Committed
//	commitlog/flush.go      page cache → disk, by interval or one sync for a group     Flushed
//	dispatch.go             consume queue, then index, then waiting readers         Dispatched
//	get.go query.go         a unit or an index candidate → the record, verified → View
//	commitlog/cold.go       a record far behind the end: how the wait for the disk is spent
//	bytime.go wait.go       search by store time; wait for what comes
//	delay.go schedule/      delay queues → due → put again
//	clean.go                which files go, by cleanplan.go: log first, then queues, then index
//	commitlog/retire.go     off the log, oldest first; readers may hold on              Min
//	segment/destroy.go      name unlinked → last Release, or zeros by force → reaper.go
//	segment/freeing.go      unmap, free, close: at once, in pieces, or segment/spares.go: used again
//
// topic.go takes down the queues of one topic in the same way. diskwatch.go refuses
// puts while a disk is too full, however long a deletion takes.
//
// What crosses the structures lives in this package, so that the story can be
// read in one place. The packages below own one thing each:
//
//	message        the record format and its codec: bytes to bytes
//	segment        the mapped file: positions, lifetime, preallocation, transient buffers, destruction
//	commitlog      the log over such files: append, read, sync, recovery
//	consumequeue   20-byte units per topic and queue
//	index          hash files from key to records
//	schedule       delivery of delayed messages
//	storedir       lock, abort marker, checkpoint, progress of delayed messages
//	audit          judges a directory that nobody has open; only reads
//	mmap fsutil    the system calls; unsafe lives in mmap
//	service stats  the loop that runs background jobs; what they report
//
// # Watermarks
//
//	Min ≤ Dispatched ≤ Committed ≤ Appended        Flushed ≤ Committed
//
// All are byte offsets in the commit log and none goes back while the store is
// open. Min never passes Dispatched or Flushed: what no queue has yet, or no disk, is
// not deleted. With flush sync Dispatched follows Flushed, so that a reader by queue or
// key never sees what a power cut could take back.
//
// # Opening
//
//	lock ─► abort marker, checkpoint ─► commit log (verify, find the end) ─► queues, index
//	     ─► reconcile.go: cut what points behind the end, dispatch what is missing ─► marker ─► services
//
// Nothing is read or changed before the lock is held. A torn end is cut off;
// damage in the middle of what was durable is refused with its place.
//
// # Closing
//
// Services stop in the order in which a message meets them; then log, queues and
// index are durable, then the checkpoint says so, then the abort marker goes. If
// anything fails the marker stays.
//
// # Options
//
// Options are data, with a zero value that works; Resolve fills in the defaults,
// and every result of the lab stores what was resolved.
//
// # Same, fixed, different
//
// Where RocketMQ's store does wrong this one keeps the format and mends the
// behaviour. The more important places:
//
//	lock taken after load and recovery          taken before anything is read
//	unmap under readers after an interval       never; the pages are exchanged for zeros
//	deletion stops at a file that is held       held files are off the log and block nobody
//	age of a file by its modification time      by store times of records, clock steps survived
//	bad deleteWhen ends all cleaning            refused by Open
//	unknown disk usage counts as full           is no measurement, said once
//	disk looked at by who deletes               a service of its own; refusals heal
//	fully expired queue keeps its minimum       is empty: minimum = maximum
//	deleted topic: back after a crash           remembered until its records are gone
//	deleted topic: queue offsets from 0 again   go on, as long as the log has records of it
//	record larger than a file: PUT_OK, lost     refused
//	topic of ≤127 characters, >127 bytes        refused, instead of ending the next recovery
//	hash taken for key equality in queries      every answer compared with its record
//	keys repeated in one message                found once
//	index times in whole seconds                widen the search; exact times decide
//	unit behind its place appended anyway       refused, repaired from the log on open
//	truncated tail kept on disk                 erased, durably
//	stored physical offset not looked at        must equal the place of the record
//	damage in the middle cuts the log           refused, with file, offset and what follows
//	failed sync: logged, position moves on      position stays, no more is accepted
//	full disk: fault in the mapping             an error, nothing stored; heals by itself
//	reading an unknown queue creates it         creates nothing
package engine
