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
	file      int64     // number of the log file up to which was then dispatched
	deletions int64     // of topics, until then
	durable   atomic.Pointer[durableUnits]
}

// durableUnits says what is durable of all queues: the units of the records below
// a log offset, the last of them stored at storeMs. sum is [consumequeue.Table.Sum].
type durableUnits struct {
	offset, storeMs int64
	sum             uint64
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

// Step does one round; a thorough one also when dispatch has gone on to another log
// file, so that recovery need not go back much further than that, and when a topic was
// deleted, lest recovery miss its queues. It never reports work: one round per
// interval is enough.
func (f *queueFlusher) Step(now time.Time) (int, error) {
	file, deletions := f.store.dispatch.at.Load()/f.store.opt.CommitLogFileBytes, f.store.dispatch.deletions.Load()
	if now.Sub(f.thorough) < f.interval && file == f.file && deletions == f.deletions {
		_, err := f.store.queues.Sync(f.leastPages)
		return 0, err
	}
	f.thorough, f.file, f.deletions = now, file, deletions
	return 0, f.syncAll()
}

// syncAll makes all units durable. Only then the checkpoint may say so: up to the
// last record that was dispatched before the sync began.
func (f *queueFlusher) syncAll() error {
	d := f.store.dispatch
	reached := durableUnits{storeMs: d.storeMs.Load(), offset: d.at.Load()}
	if _, err := f.store.queues.Sync(0); err != nil {
		return err
	}
	reached.sum = f.store.queues.Sum(reached.offset)
	f.durable.Store(&reached)
	return nil
}

// reached notes that all units are durable, for a store that was stopped and has
// synced its queues.
func (f *queueFlusher) reached() {
	d := f.store.dispatch
	at := d.at.Load()
	f.durable.Store(&durableUnits{offset: at, storeMs: d.storeMs.Load(), sum: f.store.queues.Sum(at)})
}
