package engine

import (
	"strconv"

	"commitlab/engine/message"
)

// found is what the recovery of the log tells about the parts of the store that
// follow it.
type found struct {
	delays message.DelayLevels
	// lastKeyed is the offset of the last record that belongs into the index, -1
	// if there is none.
	lastKeyed int64
	// delivered is the last message of each delay level that was delivered: the
	// physical offset of its record in the schedule topic.
	delivered map[int]int64
}

// visit looks at one record of the log.
func (f *found) visit(rec *message.Record) {
	transaction := message.TransactionOf(rec.SysFlag)
	if transaction.Indexed() && keyed(rec.Properties) {
		f.lastKeyed = rec.PhysicalOffset
	}
	if level, ok := f.deliveredLevel(rec); ok {
		f.delivered[level] = max(f.delivered[level], rec.PreparedOffset)
	}
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
