package engine

import (
	"strconv"
	"sync"

	"commitlab/engine/message"
)

// found is what the recovery of the log tells about the delayed messages that
// were delivered.
type found struct {
	delays message.DelayLevels

	mu    sync.Mutex
	marks []deliveredMark // guarded by mu
}

// A deliveredMark says that the record at source, in the schedule topic, was
// delivered by the record at offset.
type deliveredMark struct {
	level          int
	offset, source int64
}

// visit looks at one record of the log. It may be called concurrently.
func (f *found) visit(rec *message.Record) {
	level, ok := f.deliveredLevel(rec)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.marks = append(f.marks, deliveredMark{level: level, offset: rec.PhysicalOffset, source: rec.PreparedOffset})
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
