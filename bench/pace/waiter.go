package pace

import (
	"runtime"
	"time"
)

// Mode says how a Waiter passes the time.
type Mode int

const (
	// Hybrid uses a runtime timer while the due time is far, a system sleep while
	// it is near, and a spin for the last stretch. It holds a schedule to well
	// under a microsecond and costs up to one processor at high rates.
	Hybrid Mode = iota
	// Timer uses runtime timers alone: no spin, lateness up to about a
	// millisecond. For machines with no processor to spare, and the only mode
	// that works in virtual time.
	Timer
)

// Measured on an otherwise idle 2-core virtual machine (Linux 6, Go 1.26):
// time.Sleep(50 µs) is late by 1.02-1.08 ms, time.Sleep(1 ms) by 80-220 µs;
// nanosleep(2) is late by 35-120 µs, of which 50 µs are the kernel's default
// timer slack.
const (
	// timerMargin is how long before the due time a runtime timer is set.
	timerMargin = 1500 * time.Microsecond
	// napMargin is how long before the due time a system sleep ends on paper.
	napMargin = 120 * time.Microsecond
	// shortestNap is the shortest sleep worth a system call.
	shortestNap = 50 * time.Microsecond
)

// Waiter waits for due times on one clock. It belongs to one goroutine.
type Waiter struct {
	clock *Clock
	mode  Mode
	yield bool            // spin by yielding the processor
	stop  <-chan struct{} // closed to end long waits
	timer *time.Timer     // reused, so that a wait allocates nothing
}

// NewWaiter makes a waiter on clock. Closing stop ends its waits. neighbours is
// the number of goroutines that may spin at the same time, this one included:
// if they could take every processor, each spin yields to whoever is runnable.
func NewWaiter(clock *Clock, mode Mode, neighbours int, stop <-chan struct{}) *Waiter {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &Waiter{
		clock: clock,
		mode:  mode,
		yield: neighbours >= min(runtime.GOMAXPROCS(0), runtime.NumCPU()),
		stop:  stop,
		timer: timer,
	}
}

// Until waits for due and returns the first clock reading at or after it. When
// due has passed it returns at once. ok is false when stop was closed before the
// due time came; waits shorter than two milliseconds may run to their end all
// the same.
func (w *Waiter) Until(due time.Duration) (now time.Duration, ok bool) {
	for {
		now = w.clock.Now()
		wait := due - now
		switch {
		case wait <= 0:
			return now, true
		case w.mode == Timer:
			if !w.sleep(wait) {
				return w.clock.Now(), false
			}
		case wait > timerMargin+time.Millisecond/2:
			if !w.sleep(wait - timerMargin) {
				return w.clock.Now(), false
			}
		case wait > napMargin+shortestNap:
			nap(wait - napMargin)
		case w.yield:
			runtime.Gosched()
		}
	}
}

// Sleep is one sleep until due, without a spin: it returns late by whatever the
// machine made of it, with the clock read at once. ok is false when stop was
// closed meanwhile.
func (w *Waiter) Sleep(due time.Duration) (now time.Duration, ok bool) {
	wait := due - w.clock.Now()
	ok = true
	switch {
	case wait <= 0:
	case w.mode == Timer || wait > 10*timerMargin:
		ok = w.sleep(wait)
	default:
		nap(wait)
	}
	return w.clock.Now(), ok
}

// sleep waits on the runtime timer; false means that stop was closed.
func (w *Waiter) sleep(d time.Duration) bool {
	w.timer.Reset(d)
	select {
	case <-w.timer.C:
		return true
	case <-w.stop:
		w.timer.Stop()
		return false
	}
}
