package commitlog

// A QueueKey names one consume queue.
type QueueKey struct {
	Topic string
	ID    int32
}

// queueOffsets holds the next queue offset, in units, of every consume queue.
// Guarded by the append lock.
type queueOffsets struct {
	next   map[QueueKey]*int64
	recent [recentQueues]recentQueue // of the queues used last, by id
}

// recentQueues is how many queues are found without hashing the topic, which
// would cost a third of an append. A power of two.
const recentQueues = 64

type recentQueue struct {
	QueueKey
	next *int64
}

func newQueueOffsets() queueOffsets { return queueOffsets{next: make(map[QueueKey]*int64)} }

// of returns where the next offset of a queue is kept; 0 for a new queue.
func (q *queueOffsets) of(topic string, id int32) *int64 {
	r := &q.recent[uint32(id)%recentQueues]
	if r.ID == id && r.Topic == topic && r.next != nil {
		return r.next
	}
	key := QueueKey{topic, id}
	n := q.next[key]
	if n == nil {
		n = new(int64)
		q.next[key] = n
	}
	*r = recentQueue{key, n}
	return n
}

// QueueOffsets returns the end of the log, and the next queue offset of each queue
// of a topic that was given any, as of one moment. Appends wait meanwhile.
func (l *Log) QueueOffsets(topic string) (end int64, next map[int32]int64) {
	l.lock.lock()
	defer l.lock.unlock()
	next = make(map[int32]int64)
	for key, offset := range l.offsets.next {
		if key.Topic == topic && *offset > 0 {
			next[key.ID] = *offset
		}
	}
	return l.Appended(), next
}

// RaiseQueueOffset makes the next offset of a queue at least next: the queue may
// know of records that are no longer in the log.
func (l *Log) RaiseQueueOffset(topic string, id int32, next int64) {
	l.lock.lock()
	defer l.lock.unlock()
	at := l.offsets.of(topic, id)
	*at = max(*at, next)
}
