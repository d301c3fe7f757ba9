package commitlog

// queueKey names one consume queue.
type queueKey struct {
	topic string
	id    int32
}

// queueOffsets holds the next queue offset, in units, of every consume queue.
// Guarded by the append lock.
type queueOffsets map[queueKey]*int64

// next returns where the next offset of a queue is kept; 0 for a new queue.
func (q queueOffsets) next(topic string, id int32) *int64 {
	key := queueKey{topic, id}
	n := q[key]
	if n == nil {
		n = new(int64)
		q[key] = n
	}
	return n
}

// QueueOffsets calls f for every consume queue that has records in the log, with
// its next queue offset, until f returns false. Appends wait meanwhile.
func (l *Log) QueueOffsets(f func(topic string, id int32, next int64) bool) {
	l.lock.lock()
	defer l.lock.unlock()
	for key, next := range l.offsets {
		if !f(key.topic, key.id, *next) {
			return
		}
	}
}

// RaiseQueueOffset makes the next offset of a queue at least next: the queue may
// know of records that are no longer in the log.
func (l *Log) RaiseQueueOffset(topic string, id int32, next int64) {
	l.lock.lock()
	defer l.lock.unlock()
	at := l.offsets.next(topic, id)
	*at = max(*at, next)
}
