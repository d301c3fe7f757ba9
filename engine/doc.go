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
//	segment/lifetime.go     no new references → last Release → unmap, unlink, close       Min
//
// Nothing takes files down yet: the last line is built and tested below this
// package, and its caller, retention, is still to come. Until then Min stays.
//
// What crosses the structures lives in this package, so that the story can be
// read in one place. The packages below own one thing each:
//
//	message        the record format and its codec: bytes to bytes
//	segment        the mapped file: positions, lifetime, preallocation, transient buffers
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
// open. With flush sync Dispatched follows Flushed, so that a reader by queue or
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
