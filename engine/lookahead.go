package engine

import (
	"commitlab/engine/index"
	"commitlab/engine/message"
	"commitlab/engine/mmap"
)

// A job is a record on its way through the dispatcher.
type job struct {
	record message.Record
	entry  index.Record
}

// look decodes the next records of data, up to as many as ahead holds or to what
// is no record, and returns their number and, if there is none, why.
//
// The records were written by another processor, and the slots of their keys lie
// anywhere in a large table: each is a miss of the cache, and done one record at
// a time the misses are most of a dispatch. So all of them are under way before
// the first record is dispatched.
func (d *dispatcher) look(data []byte) (n int, err error) {
	for n < len(d.ahead) && len(data) > 0 {
		job := &d.ahead[n]
		if job.record, err = message.Decode(data); err != nil {
			return n, err
		}
		size := job.record.Size
		prefetchRecord(data, fetchAhead*size, size)
		if d.index != nil {
			d.prepare(job)
		}
		data = data[size:]
		n++
	}
	return n, nil
}

const (
	lookAhead  = 16 // records that are under way at once
	fetchAhead = 4  // records between the one that is decoded and the one that is fetched
)

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

// prepare takes the keys of a record to the index.
func (d *dispatcher) prepare(job *job) {
	rec, entry := &job.record, &job.entry
	entry.Topic, entry.SysFlag, entry.Physical, entry.StoreMs = rec.Topic, rec.SysFlag, rec.PhysicalOffset, rec.StoreTimestamp
	entry.UniqueKey, _ = rec.Properties.Get(message.PropertyUniqueKey)
	entry.Keys, _ = rec.Properties.Get(message.PropertyKeys)
	if d.indexTags {
		entry.Tags, _ = rec.Properties.Get(message.PropertyTags)
	}
	d.index.Prepare(entry)
}
