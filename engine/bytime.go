package engine

import (
	"fmt"

	"commitlab/engine/consumequeue"
)

// A Bound says which message a search by time wants.
type Bound = consumequeue.Bound

// The bounds.
const (
	Lower = consumequeue.Lower // the first message stored at the time or later
	Upper = consumequeue.Upper // the last message stored at the time or earlier
)

// OffsetByTime returns the queue offset that a store time leads to, epoch
// milliseconds: with Lower that of the first message stored then or later, or
// the next offset if all are older; with Upper that of the last message stored
// then or earlier, or the first offset if all are younger. An unknown queue
// gives 0. It fails with ErrNoDispatch, with ErrClosing when the store closes, and if
// a file of the queue cannot be opened.
func (s *Store) OffsetByTime(topic string, queueID int32, timeMs int64, bound Bound) (int64, error) {
	if s.queues == nil {
		return 0, fmt.Errorf("offset by time in %s/%d: %w", topic, queueID, ErrNoDispatch)
	}
	q := s.queue(topic, queueID)
	if q == nil {
		return 0, nil
	}
	offset, err := q.SearchByTime(timeMs, bound, s.storeTime)
	if s.isClosing() { // store times may have been gone with the store
		err = ErrClosing
	}
	if err != nil {
		return 0, fmt.Errorf("offset by time in %s/%d: %w", topic, queueID, err)
	}
	return offset, nil
}

// queue returns a queue, nil if there is none or the store does not dispatch.
func (s *Store) queue(topic string, id int32) *consumequeue.Queue {
	if s.queues == nil {
		return nil
	}
	return s.queues.Get(topic, id)
}

// storeTime reads the store time of a unit's record.
func (s *Store) storeTime(u consumequeue.Unit) (ms int64, ok bool) {
	view, err := s.At(u.PhysicalOffset)
	if err != nil {
		return 0, false
	}
	defer view.Release()
	return view.StoreTimestamp, true
}

// A QueueName says which queue is meant.
type QueueName struct {
	Topic   string
	QueueID int32
}

// Queues returns the queues of the store, ordered by topic and id. None is there
// before its first message; one whose messages are all gone still is.
func (s *Store) Queues() []QueueName {
	if s.queues == nil {
		return nil
	}
	entries := s.queues.All()
	names := make([]QueueName, len(entries))
	for i, e := range entries {
		names[i] = QueueName{Topic: e.Topic, QueueID: e.ID}
	}
	return names
}

// QueueBounds returns the offset of the first message a queue still has and of
// the one behind its last. Both are 0 for an unknown queue.
func (s *Store) QueueBounds(topic string, queueID int32) (first, next int64) {
	if q := s.queue(topic, queueID); q != nil {
		return q.Min(), q.Max()
	}
	return 0, 0
}

// EarliestTime returns the store time of the first message a queue still has,
// epoch milliseconds; ok is false if it has none or it cannot be read.
func (s *Store) EarliestTime(topic string, queueID int32) (ms int64, ok bool) {
	q := s.queue(topic, queueID)
	if q == nil {
		return 0, false
	}
	u, ok := q.Read(q.Min())
	if !ok {
		return 0, false
	}
	return s.storeTime(u)
}
