package commitlog

import (
	"iter"
	"maps"
)

// A QueueKey names one consume queue.
type QueueKey struct {
	Topic string
	ID    int32
}

// A QueueMap holds a value for each consume queue, made when it is first asked
// for, and keeps it in its place. The queues used last are found without hashing
// their topic, which would cost a third of an append and as much of the scan of a
// record. The zero QueueMap is empty. Not safe for concurrent use.
type QueueMap[V any] struct {
	all    map[QueueKey]*queueValue[V]
	recent [recentQueues]*queueValue[V] // by recentPlace
}

type queueValue[V any] struct {
	QueueKey
	value V
}

// recentQueues is how many queues are found without the map. A power of two.
const recentQueues = 256

// recentPlace spreads the queues of one topic by their ids, and topics that are
// numbered by their last digits.
func recentPlace[T ~string | ~[]byte](topic T, id int32) uint32 {
	place := uint32(id)
	if n := len(topic); n > 1 {
		place += 29*uint32(topic[n-1]) + 11*uint32(topic[n-2])
	}
	return place % recentQueues
}

// Of returns where the value of a queue is kept.
func (m *QueueMap[V]) Of(topic string, id int32) *V {
	r := &m.recent[recentPlace(topic, id)]
	if v := *r; v != nil && v.ID == id && v.Topic == topic {
		return &v.value
	}
	v := m.all[QueueKey{topic, id}]
	if v == nil {
		v = m.add(QueueKey{topic, id})
	}
	*r = v
	return &v.value
}

// OfBytes is Of for a topic in bytes, which are copied only for a new queue.
func (m *QueueMap[V]) OfBytes(topic []byte, id int32) *V {
	r := &m.recent[recentPlace(topic, id)]
	if v := *r; v != nil && v.ID == id && v.Topic == string(topic) {
		return &v.value
	}
	v := m.all[QueueKey{string(topic), id}] // as a literal the key costs no copy
	if v == nil {
		v = m.add(QueueKey{string(topic), id})
	}
	*r = v
	return &v.value
}

func (m *QueueMap[V]) add(key QueueKey) *queueValue[V] {
	if m.all == nil {
		m.all = make(map[QueueKey]*queueValue[V])
	}
	v := &queueValue[V]{QueueKey: key}
	m.all[key] = v
	return v
}

// Len is the number of queues.
func (m *QueueMap[V]) Len() int { return len(m.all) }

// All iterates over the queues and their values, in no order.
func (m *QueueMap[V]) All() iter.Seq2[QueueKey, V] {
	return func(yield func(QueueKey, V) bool) {
		for key, v := range m.all {
			if !yield(key, v.value) {
				return
			}
		}
	}
}

// DropTopic forgets the queues of a topic.
func (m *QueueMap[V]) DropTopic(topic string) {
	maps.DeleteFunc(m.all, func(key QueueKey, _ *queueValue[V]) bool { return key.Topic == topic })
	clear(m.recent[:])
}
