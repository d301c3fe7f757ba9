package measure

import (
	"runtime"
	"sync/atomic"
	"time"

	"commitlab/bench/pace"
)

// tickets hands the operations of a schedule to the workers, in order and each
// once. A number is drawn only when its due time has come, so that a worker that
// is late or stuck holds nothing back: whoever is free takes what is due first.
//
//	free worker -+- next is due -------------> draw it, operate
//	             +- fewer than watchers -----> wait for its due time, then draw
//	             +- otherwise ---------------> park until a watcher goes to operate
//
// Note: if each worker drew a number first and then waited for it, many workers
// would sleep with fine system timers at once. Each of those blocks a processor
// of the Go scheduler until it is noticed: 64 workers at 50,000/s were late by
// 1 ms in the median.
type tickets struct {
	pacer    pace.Pacer
	watchers int32 // at most so many wait for the clock; immutable

	_        [64]byte
	next     atomic.Uint64 // number of the next operation
	_        [64]byte
	watching atomic.Int32
	parked   atomic.Int32
	wake     chan struct{} // capacity 1: a wake-up is kept for who is about to park
}

func newTickets(p pace.Pacer) *tickets {
	return &tickets{
		pacer:    p,
		watchers: int32(min(runtime.GOMAXPROCS(0), runtime.NumCPU())),
		wake:     make(chan struct{}, 1),
	}
}

// draw waits for the next operation that nobody has drawn. ok is false when there
// is none before end, or stop was closed.
func (t *tickets) draw(w *Worker, end *atomic.Int64, stop <-chan struct{}) (n uint64, due, start time.Duration, ok bool) {
	for {
		n = t.next.Load()
		due = t.pacer.Due(n)
		if int64(due) >= end.Load() {
			t.wakeOne() // who finds the end as well, and wakes the next one
			return n, due, 0, false
		}
		start = w.clock.Now()
		if start < due {
			w.rec.gate.Store(gateIdle)
			watched := false
			if start, watched, ok = t.await(w, due, stop); !ok {
				return n, due, start, false
			} else if !watched {
				continue
			}
		}
		if t.next.CompareAndSwap(n, n+1) {
			if t.replaceWatcher() {
				start = w.clock.Now()
			}
			return n, due, start, true
		}
	}
}

// await passes time until due as a watcher, or parks until one is wanted; watched
// says which. ok is false when stop was closed.
func (t *tickets) await(w *Worker, due time.Duration, stop <-chan struct{}) (now time.Duration, watched, ok bool) {
	if t.watching.Add(1) <= t.watchers {
		now, ok = w.waiter.Until(due)
		t.watching.Add(-1)
		return now, true, ok
	}
	t.parked.Add(1)
	defer t.parked.Add(-1)
	// Either the last watcher sees us parked, or we see that it has gone.
	if t.watching.Add(-1) == 0 {
		return 0, false, true
	}
	select {
	case <-t.wake:
		return 0, false, true
	case <-stop:
		return 0, false, false
	}
}

// replaceWatcher sees to it that somebody watches the clock while the caller
// operates, if there is anybody; it reports whether that took time.
func (t *tickets) replaceWatcher() bool {
	if t.parked.Load() == 0 || t.watching.Load() > 0 {
		return false
	}
	t.wakeOne()
	return true
}

func (t *tickets) wakeOne() {
	select {
	case t.wake <- struct{}{}:
	default: // a wake-up is under way already
	}
}
