package commitlog

// QueueOffsets returns the end of the log, and the next queue offset of each queue
// of a topic that was given any, as of one moment. Appends wait meanwhile.
func (l *Log) QueueOffsets(topic string) (end int64, next map[int32]int64) {
	l.lock.lock()
	defer l.lock.unlock()
	next = make(map[int32]int64)
	for key, offset := range l.offsets.All() {
		if key.Topic == topic && offset > 0 {
			next[key.ID] = offset
		}
	}
	return l.Appended(), next
}

// RaiseQueueOffset makes the next offset of a queue at least next: the queue may
// know of records that are no longer in the log.
func (l *Log) RaiseQueueOffset(topic string, id int32, next int64) {
	l.lock.lock()
	defer l.lock.unlock()
	at := l.offsets.Of(topic, id)
	*at = max(*at, next)
}
