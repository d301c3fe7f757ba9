package engine

import (
	"strconv"
	"sync"
	"sync/atomic"

	"commitlab/engine/commitlog"
	"commitlab/engine/message"
)

// found is what the recovery of the log tells about the delayed messages that
// were delivered, and about topics that were deleted.
type found struct {
	delays  message.DelayLevels
	deleted map[string]int64 // immutable while the log is scanned; see dispatcher

	lastKeyed atomic.Int64 // offset of the last record that belongs into the index, -1 for none
	mu        sync.Mutex
	marks     []deliveredMark             // guarded by mu
	recreated map[commitlog.QueueKey]bool // guarded by mu; queues of deleted topics with records from after that
}

// A deliveredMark says that the record at source, in the schedule topic, was
// delivered by the record at offset.
type deliveredMark struct {
	level          int
	offset, source int64
}

// visit looks at one record of the log. It may be called concurrently.
func (f *found) visit(rec *message.Record) {
	if message.TransactionOf(rec.SysFlag).Indexed() && keyed(rec.Properties) {
		for old := f.lastKeyed.Load(); old < rec.PhysicalOffset && !f.lastKeyed.CompareAndSwap(old, rec.PhysicalOffset); old = f.lastKeyed.Load() {
		}
	}
	if offset, ok := f.deleted[string(rec.Topic)]; ok && rec.PhysicalOffset >= offset {
		f.mu.Lock()
		f.recreated[commitlog.QueueKey{Topic: string(rec.Topic), ID: rec.QueueID}] = true
		f.mu.Unlock()
	}
	level, ok := f.deliveredLevel(rec)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.marks = append(f.marks, deliveredMark{level: level, offset: rec.PhysicalOffset, source: rec.PreparedOffset})
}

// isDeleted reports whether a queue was deleted and has had no message since.
func (f *found) isDeleted(q commitlog.QueueKey) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, deleted := f.deleted[q.Topic]
	return deleted && !f.recreated[q]
}

// delivered is the last message of each delay level that was delivered, by the
// records that v keeps: the physical offset of its record in the schedule topic.
func (f *found) delivered(v verdict) map[int]int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := make(map[int]int64)
	for _, m := range f.marks {
		if gap, ok := v.skipped.At(m.offset); m.offset >= v.end || ok && gap.Contains(m.offset) {
			continue
		}
		last[m.level] = max(last[m.level], m.source)
	}
	return last
}

func keyed(p message.Properties) bool {
	if _, ok := p.Get(message.PropertyUniqueKey); ok {
		return true
	}
	for range p.Keys() {
		return true
	}
	return false
}

// deliveredLevel returns the level of a record that was delivered after a delay.
// It still has the properties that it waited with; see delivery.Deliver.
func (f *found) deliveredLevel(rec *message.Record) (level int, ok bool) {
	delay, ok := rec.Properties.Get(message.PropertyDelay)
	if !ok || string(rec.Topic) == message.ScheduleTopic {
		return 0, false
	}
	if real, _ := rec.Properties.Get(message.PropertyRealTopic); string(real) != string(rec.Topic) {
		return 0, false
	}
	level, err := strconv.Atoi(string(delay))
	return f.delays.Cap(level), err == nil
}
