package engine

import (
	"sync/atomic"
	"time"
)

// A queueFlusher makes consume queues durable: every interval those with enough
// dirty pages, and at longer intervals all. It is a service.
type queueFlusher struct {
	store      *Store
	leastPages int
	interval   time.Duration // between thorough rounds

	thorough  time.Time // of the last thorough round
	durableMs atomic.Int64
}

func newQueueFlusher(s *Store) *queueFlusher {
	f := &queueFlusher{
		store: s, leastPages: s.opt.FlushConsumeQueueLeastPages,
		interval: time.Duration(s.opt.FlushConsumeQueueThoroughIntervalMs) * time.Millisecond,
		thorough: time.Now(),
	}
	s.checkpoint.queues = f
	return f
}

// Name implements service.Service.
func (f *queueFlusher) Name() string { return "queue-flush" }

// Step does one round. It never reports work: one round per interval is enough.
func (f *queueFlusher) Step(now time.Time) (int, error) {
	if now.Sub(f.thorough) < f.interval {
		_, err := f.store.queues.Sync(f.leastPages)
		return 0, err
	}
	f.thorough = now
	return 0, f.syncAll()
}

// syncAll makes all units durable. Only then the checkpoint may say so: up to
// the store time of the last record that was dispatched before the sync began.
func (f *queueFlusher) syncAll() error {
	reached := f.store.dispatch.storeMs.Load()
	if _, err := f.store.queues.Sync(0); err != nil {
		return err
	}
	f.durableMs.Store(reached)
	return nil
}
