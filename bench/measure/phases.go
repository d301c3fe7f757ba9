package measure

import (
	"context"
	"fmt"
	"math"
	"time"
)

// event is what ended a wait of the controlling goroutine.
type event int

const (
	reached   event = iota // the time came
	cancelled              // the context was
	broken                 // something failed
	allGone                // every worker has returned
)

// until waits for time t of the run, or for one of the other events whose channel
// is not nil.
func (r *run) until(t time.Duration, cancel, failed, gone <-chan struct{}) event {
	timer := time.NewTimer(t - r.clock.Now())
	defer timer.Stop()
	select {
	case <-timer.C:
		return reached
	case <-gone:
		return allGone
	case <-cancel:
		r.cancelled = true
		return cancelled
	case <-failed:
		return broken
	}
}

// warmUp waits for the window to open; false means that it never will.
func (r *run) warmUp(ctx context.Context) bool {
	cut := time.Duration(r.cut.Load())
	known := cut != math.MaxInt64
	if !known {
		cut = r.plan.Warmup
	}
	if r.until(cut, ctx.Done(), r.failed, nil) != reached {
		return false
	}
	if !known {
		const poll = 5 * time.Millisecond
		for r.warmedOps() < r.plan.WarmupOps {
			if r.until(r.clock.Now()+poll, ctx.Done(), r.failed, nil) != reached {
				return false
			}
		}
		cut = r.clock.Now()
		r.setWindow(cut, cut+r.plan.Duration)
	}
	r.opened = cut
	return true
}

// warmedOps is the number of operations that a closed loop has done so far.
func (r *run) warmedOps() uint64 {
	sum := uint64(0)
	for _, w := range r.crew {
		sum += w.warmed.Load()
	}
	return sum
}

// window waits for the end of the window, with a tick per interval.
func (r *run) window(ctx context.Context) {
	closeWindow := r.openWindow()
	defer closeWindow()
	r.lastTick = r.opened
	end := r.opened + r.plan.Duration
	next := r.opened + r.plan.Tick
	for {
		target := min(next, end)
		if r.until(target, ctx.Done(), r.failed, nil) != reached {
			r.halt()
			r.collect(r.clock.Now(), false)
			return
		}
		now := r.clock.Now()
		r.collect(now, false)
		if target == end {
			return
		}
		for next <= now {
			next += r.plan.Tick
		}
	}
}

// openWindow starts what covers exactly the window, and returns its end.
func (r *run) openWindow() (closeWindow func()) {
	r.discardHiccups()
	if r.events != nil {
		r.events.open(r.clock, r.plan)
	}
	if r.sorter != nil {
		r.helpers.Go(func() { r.sorter.run(r.clock.Now, r.stop) })
	}
	if r.plan.Window == nil {
		return func() {}
	}
	closed, err := r.plan.Window()
	if err != nil {
		r.fail(fmt.Errorf("open window: %w", err))
		return func() {}
	}
	return func() {
		if err := closed(); err != nil {
			r.fail(fmt.Errorf("close window: %w", err))
		}
	}
}

// drain waits for the workers, first for those that have a backlog of the window
// to work off, then for the operations under way, each no longer than its limit,
// and books what is left. A cancelled or failed run has no first part.
func (r *run) drain(ctx context.Context) {
	orderly := !r.cancelled && !isClosed(r.failed)
	if orderly {
		r.until(time.Duration(r.end.Load())+r.plan.Drain, ctx.Done(), r.failed, r.gone)
	}
	r.halt()
	r.until(r.clock.Now()+r.grace(), nil, nil, r.gone)
	r.abandoned.Store(true)
	for _, w := range r.crew {
		if due, ok := unfinished(w.rec.settled()); ok {
			r.hung++
			if int64(due) >= r.cut.Load() {
				r.left++
			}
		}
	}
	r.drained = r.clock.Now()
	r.helpers.Wait()
	if r.sorter != nil {
		r.sorter.finish(r.drained)
	}
	if r.events != nil {
		r.events.close()
	}
	if r.opened >= 0 {
		r.collect(r.drained, true)
	}
}

// grace is how long operations under way are awaited once no more are started.
func (r *run) grace() time.Duration { return max(r.plan.Drain, time.Second) }
