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
