package scenario

import (
	"sync"
	"sync/atomic"
	"time"

	"commitlab/bench/measure"
)

// maxAside bounds the durations that wait for a worker.
const maxAside = 1 << 16

// An aside is an operation that goes on beside the workers, in goroutines of the
// instance. Only a worker may record, so its durations wait here until the next
// Op takes them along; those behind the last Op are not recorded. Safe for
// concurrent use.
type aside struct {
	op      string // immutable
	waiting atomic.Int64

	mu        sync.Mutex
	durations []time.Duration // guarded by mu
	spare     []time.Duration // guarded by mu; empty, for the next ones
	lost      int64           // guarded by mu; beyond maxAside
}

func (a *aside) add(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.durations) == maxAside {
		a.lost++
		return
	}
	a.durations = append(a.durations, d)
	a.waiting.Store(int64(len(a.durations)))
}

// observe records what has come together. It costs one load if that is nothing.
func (a *aside) observe(w *measure.Worker) {
	if a.waiting.Load() == 0 {
		return
	}
	a.mu.Lock()
	taken := a.durations
	a.durations, a.spare = a.spare, nil
	a.waiting.Store(0)
	a.mu.Unlock()
	for _, d := range taken {
		w.Observe(a.op, d)
	}
	a.mu.Lock()
	a.spare = taken[:0]
	a.mu.Unlock()
}

// dropped is how many durations were lost since no worker came by.
func (a *aside) dropped() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lost
}
