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
//	commitlog/flush.go      page cache → disk, by interval or one sync for a group.go  Flushed
//	dispatch.go             consume queue, then index, then waiting readers         Dispatched
//	                        by a service, and by puts where it is behind: assist.go
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
//	storedir       lock, abort marker, checkpoint, and what config/ remembers
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
//	load.go         lock ─► abort marker, checkpoint ─► queues, log files, index: only looked at
//	recoverfrom.go  where to begin: the first place that may lack something      (pure)
//	commitlog/scan.go      verify the log from that file on, several files at a time
//	verdict.go      where the log ends, and what in it is damaged                (pure)
//	load.go         abort marker ─► cut and erase; sync what a killed process left
//	reconcile.go    dispatch what queues and index lack, by catchup.go ─► services
//
// Nothing is read before the lock is held, and nothing is changed before it is
// decided: what is refused is as it was. Of a queue the end is read; its files are
// opened and mapped when somebody uses them, so that a start with thousands of queues
// costs a few system calls for each.
//
// The checkpoint has times, which RocketMQ reads, and behind them positions in the
// log: up to where it is durable (noted with every sync), up to where all queues
// have their units durably, with a sum that tells when one lacks some, how far the
// index reaches, and up to where the progress of delayed messages is saved. After a
// crash only files from the lowest of these on are read; after a clean exit the
// last three. Where nothing is known, as of a directory that RocketMQ has used, the
// whole log is read. The option recoverFrom has RocketMQ's own rules beside this.
//
// Bytes that were durable and are no records are damage, whatever stands behind
// them; what was not durable is the torn end and is cut off. Damage is refused with
// its place, or by the option damage truncated as RocketMQ does, or skipped: then
// its bytes stay, config/skippedRanges.json names the range for every later Open,
// dispatch goes on behind it, At says that it is damaged, and Get passes over units
// that point there. Damage in older files, which no start reads, is met by readers.
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
// Held against RocketMQ 4.9.8 and 5.5.1 by scripts/interop.sh: either side opens, reads
// and goes on with what the other one closed or was killed over. The number of a
// hazard stands in the names of tests (TestH09_…) or in the comment above one; without
// a number it was found later.
//
// The same on disk:
//
//	records, blanks, units, index, checkpoint   byte for byte, but for what no plan can fix
//	                                            (package bench/bytewise)
//	H28  a key repeated in one message          two entries in the index; found once
//	H18  index times in whole seconds           widen the search; exact times decide
//	     end of the properties                  with or without separator, as put (4.9.1 to
//	                                            5.1.4 leave it out, others do not)
//	     checkpoint of 5.5, from where queues   written as well
//	     are to be recovered
//	     tags in the index, from 5.4 on         with indexTags on; accepted always
//
// Fixed, and compatible. What RocketMQ's store does wrong, and what happens here:
//
//	H1   lock taken after load and recovery     taken before anything is read
//	H2   unmap under readers after an interval  never; the pages are exchanged for zeros
//	H3   pre-fill counts as built up to 2 GiB   never counts
//	H4   a lost last queue file gives a unit    zeros are no unit
//	H5   index of a log that is gone            nothing points behind the log
//	H6   what a queue lacks is not rebuilt      each queue gets what it lacks
//	H7   truncated tail kept on disk            erased, durably
//	H8   damage in the middle cuts the log      refused or skipped, with file, offset and what
//	                                            follows; also of the last durable record
//	H9   record larger than a file: PUT_OK      refused
//	H10  32-bit bounds, references left behind  64 bits, and a view is released once
//	H11  files dropped though still there       not forgotten
//	H12  unit behind its place appended anyway  refused, repaired from the log on open
//	H13  flush without reference moves on       moves nothing
//	H14  record CRC of batches unreadable       separated and counted as for one message
//	H15  deletion stops at a file that is held  held files are off the log and block nobody
//	H16  bad deleteWhen ends all cleaning       refused by Open
//	H17  checkpoint ahead of the queues         says only what was synced
//	H18  first item of a rolled index late      lies at the begin of its file
//	H19  records indexed twice after a kill     added again, they change nothing
//	H20  two index files of one name            a name is never used again
//	H22  topic of ≤127 characters, >127 bytes   refused, instead of ending the next recovery;
//	                                            a retry topic becomes version 2
//	H24  age of a file by its modification time by store times of records; steps of the clock,
//	                                            also while the store is closed, count an
//	                                            hour later
//	H25  one failure ends writing for good      refusals heal when the disk does
//	H26  extension never cut, torn units        cut behind the last unit of its queue
//	H27  reading an unknown queue creates it    creates nothing
//	H29  minimum of a pre-filled queue          the first message
//	H30  deleted topic: offsets from 0 again    go on, as long as the store stays open or
//	                                            the log reaches back to the deletion
//	H33  no next file: puts fail for a time     an error, nothing stored; heals by itself
//	H34  a foreign name fails the load          is left alone
//	H35  a failed read loses messages           what is still in the log is never passed over
//	H36  index order by local time              by the offsets in the files
//	H37  unit lost when its append fails        built only when it is stored
//	     hash taken for key equality            every answer compared with its record
//	     start of recovery by the clock         by positions in the log, of what is durable
//	     lost queue directory: back in part     noticed by a sum over all queues, built anew
//	     stored physical offset not looked at   must equal the place of the record
//	     failed sync: logged, position moves on position stays, no more is accepted
//	     full disk: fault in the mapping        an error, nothing stored; heals by itself
//	     unknown disk usage counts as full      is no measurement, said once
//	     disk looked at by who deletes          a service of its own; refusals heal
//	     expired queue keeps its minimum        is empty: minimum = maximum (5.x likewise)
//	     deleted topic: back after a crash      remembered until its records are gone
//	     4.9 recovers delayed messages without  the record tells the time, also for units
//	     their time and delivers at once        that 4.9 left behind
//
// Different on purpose:
//
//	H21  transient buffers run out: a file that an append waits for a buffer
//	     nobody can read
//	H23  several log directories                one
//	H31  writing without a mapping              syncPath pwrite, with buffers for any record
//	H32  queue files of one unit never cut      cut by the number of the unit, file by file
//	     delayed messages put together again    properties keep their order, and what no reader
//	     from a map                             sees; a level beyond the table is stored capped
//	     inner batches, batch consume queues    refused
package engine
