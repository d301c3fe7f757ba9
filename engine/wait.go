package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// waiters are the readers that wait for a message in a queue.
type waiters struct {
	count atomic.Int64 // readers waiting anywhere; lets the dispatcher pass by

	mu     sync.Mutex
	queues map[string]map[int32]chan struct{} // guarded by mu; closed by notify
}

// notify wakes the readers of one queue.
func (w *waiters) notify(topic []byte, id int32) {
	if w.count.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if ch, ok := w.queues[string(topic)][id]; ok {
		close(ch)
		delete(w.queues[string(topic)], id)
	}
}

// on returns the channel that the next notify for the queue closes.
func (w *waiters) on(topic string, id int32) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queues == nil {
		w.queues = make(map[string]map[int32]chan struct{})
	}
	ids := w.queues[topic]
	if ids == nil {
		ids = make(map[int32]chan struct{})
		w.queues[topic] = ids
	}
	ch := ids[id]
	if ch == nil {
		ch = make(chan struct{})
		ids[id] = ch
	}
	return ch
}

// Wait returns when the queue holds the given queue offset, at once if it does
// already. It fails with the context's error, or ErrClosing when the store
// closes. The queue need not exist yet.
func (s *Store) Wait(ctx context.Context, topic string, queueID int32, offset int64) error {
	w := s.waiters
	w.count.Add(1)
	defer w.count.Add(-1)
	for {
		ready := w.on(topic, queueID) // before the look: a message in between is not missed
		if q := s.queue(topic, queueID); q != nil && q.Max() > offset {
			return nil
		}
		select {
		case <-ready:
		case <-s.closing:
			return fmt.Errorf("wait for %s/%d at %d: %w", topic, queueID, offset, ErrClosing)
		case <-ctx.Done():
			return fmt.Errorf("wait for %s/%d at %d: %w", topic, queueID, offset, context.Cause(ctx))
		}
	}
}
