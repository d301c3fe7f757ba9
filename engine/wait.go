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
	queues map[waitKey]*waiting // guarded by mu; only queues that somebody waits for
}

type waitKey struct {
	topic string
	id    int32
}

// waiting is what the readers of one queue share until the next notify.
type waiting struct {
	ready   chan struct{} // closed by notify
	readers int           // guarded by waiters.mu
}

// notify wakes the readers of one queue.
func (w *waiters) notify(topic []byte, id int32) {
	if w.count.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if on := w.queues[waitKey{string(topic), id}]; on != nil { // as a literal the key costs no copy
		close(on.ready)
		delete(w.queues, waitKey{string(topic), id})
	}
}

// join adds a reader to those of a queue.
func (w *waiters) join(key waitKey) *waiting {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queues == nil {
		w.queues = make(map[waitKey]*waiting)
	}
	on := w.queues[key]
	if on == nil {
		on = &waiting{ready: make(chan struct{})}
		w.queues[key] = on
	}
	on.readers++
	return on
}

// leave takes a reader off again. The last one leaves nothing behind, so that
// waiting for queues that never come to be costs nothing in the end.
func (w *waiters) leave(key waitKey, on *waiting) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if on.readers--; on.readers == 0 && w.queues[key] == on {
		delete(w.queues, key)
	}
}

// Wait returns when the queue holds the given queue offset, at once if it does
// already. It fails with the context's error, with ErrClosing when the store
// closes, and with ErrNoDispatch. The queue need not exist yet.
func (s *Store) Wait(ctx context.Context, topic string, queueID int32, offset int64) error {
	if s.queues == nil {
		return fmt.Errorf("wait for %s/%d at %d: %w", topic, queueID, offset, ErrNoDispatch)
	}
	s.waiters.count.Add(1)
	defer s.waiters.count.Add(-1)
	for {
		arrived, err := s.waitOnce(ctx, waitKey{topic, queueID}, offset)
		if err != nil {
			return fmt.Errorf("wait for %s/%d at %d: %w", topic, queueID, offset, err)
		}
		if arrived {
			return nil
		}
	}
}

// waitOnce reports whether the queue holds the offset, and if not waits for the
// next message in it.
func (s *Store) waitOnce(ctx context.Context, key waitKey, offset int64) (arrived bool, err error) {
	on := s.waiters.join(key) // before the look: a message in between is not missed
	defer s.waiters.leave(key, on)
	if q := s.queue(key.topic, key.id); q != nil && q.Max() > offset {
		return true, nil
	}
	select {
	case <-on.ready:
		return false, nil
	case <-s.closing:
		return false, ErrClosing
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}
