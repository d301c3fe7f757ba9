package engine

import (
	"commitlab/engine/commitlog"
	"commitlab/engine/consumequeue"
	"commitlab/engine/index"
	"commitlab/engine/message"
	"commitlab/engine/mmap"
)

// A job is a record on its way through the dispatcher.
type job struct {
	record message.Record
	queued bool                // it has a place in a queue, if its topic was not deleted since
	queue  *consumequeue.Queue // its queue; nil if there was none yet
	unit   consumequeue.Unit
	entry  index.Record
}

// A lookahead decodes records and gets ready all that their dispatch needs, so that
// the dispatcher has only to store it. It changes nothing, and belongs to one
// goroutine at a time.
//
// The records were written by another processor, and the slots of their keys lie
// anywhere in a large table: each is a miss of the cache, and done one record at
// a time the misses are most of a dispatch. So all of them are under way before
// the first record is dispatched.
type lookahead struct {
	queues *consumequeue.Table
	index  *index.Set // nil: no index
	// indexTags enters tags beside keys.
	indexTags bool
	delays    message.DelayLevels
	// queuesFrom: records before this log offset are in their queues.
	queuesFrom int64

	known commitlog.QueueMap[*consumequeue.Queue] // met so far; nil while there is none
}

const (
	jobsAhead  = 16 // records that are under way at once
	fetchAhead = 4  // records between the one that is decoded and the one that is fetched
)

// look makes jobs of the next records of data, up to as many as ahead holds or to
// what is no record. If there are none it says why. They are good as long as data.
func (l *lookahead) look(data []byte, ahead []job) (jobs []job, err error) {
	for n := range ahead {
		if len(data) == 0 {
			return ahead[:n], nil
		}
		job := &ahead[n]
		if job.record, err = message.Decode(data); err != nil {
			return ahead[:n], err
		}
		size := job.record.Size
		prefetchRecord(data, fetchAhead*size, size)
		l.prepare(job)
		data = data[size:]
	}
	return ahead, nil
}

// prefetchRecord has the processor fetch what dispatching reads of a record: the
// head, and topic and properties at the end. That there is a record of this size
// is a guess.
func prefetchRecord(data []byte, at, size int) {
	const part = 128
	if at+size > len(data) {
		return
	}
	mmap.Prefetch(data[at : at+min(part, size)])
	if size > part {
		mmap.Prefetch(data[at+max(part, size-part) : at+size])
	}
}

// prepare finds the queue of a record and makes its unit and its index entry.
func (l *lookahead) prepare(job *job) {
	rec := &job.record
	job.queued = message.TransactionOf(rec.SysFlag).Queued() && rec.PhysicalOffset >= l.queuesFrom
	if job.queued {
		known := l.known.OfBytes(rec.Topic, rec.QueueID)
		if *known == nil {
			*known = l.queues.Get(string(rec.Topic), rec.QueueID)
		}
		job.queue = *known
		job.unit = consumequeue.Unit{PhysicalOffset: rec.PhysicalOffset, Size: int32(rec.Size), TagsCode: rec.TagsCode(l.delays)}
	}
	if l.index == nil {
		return
	}
	entry := &job.entry
	entry.Topic, entry.SysFlag, entry.Physical, entry.StoreMs = rec.Topic, rec.SysFlag, rec.PhysicalOffset, rec.StoreTimestamp
	entry.UniqueKey, _ = rec.Properties.Get(message.PropertyUniqueKey)
	entry.Keys, _ = rec.Properties.Get(message.PropertyKeys)
	if l.indexTags {
		entry.Tags, _ = rec.Properties.Get(message.PropertyTags)
	}
	l.index.Prepare(entry)
}

// prefetch asks the processor for what storing the jobs will need.
func (l *lookahead) prefetch(jobs []job) {
	if l.index == nil {
		return
	}
	for i := range jobs {
		l.index.Prefetch(&jobs[i].entry)
	}
}
