// Package service gives every background job of the store the same shape: a
// named Step that does a bounded piece of work, and a Loop that owns the
// goroutine, the wait between steps, the wake-up and the shutdown.
//
//	          ┌────────────── Wake ──────────────┐
//	          ▼                                  │
//	wait (interval, or until woken) ─► Step(now) ┴─ worked > 0 ─► Step again
//	          │                             └────── worked = 0 ─► wait
//	        Stop ─► Step until worked = 0 (drain) ─► goroutine ends
//
// Tests call Step themselves with a time of their choice; a Loop is only the
// thin shell around it. Services know nothing of each other: they meet in
// watermarks and wakers.
package service

import (
	"context"
	"log/slog"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"
)

// A Service is one background job.
type Service interface {
	// Name labels the goroutine in profiles (svc=name) and errors.
	Name() string
	// Step does one bounded piece of work as of now and reports how much it
	// did, in units of its own; zero means that there was nothing to do. Step
	// is never called concurrently with itself.
	Step(now time.Time) (worked int, err error)
}

// Options say when a Loop calls Step.
type Options struct {
	// Interval is the longest wait between two steps.
	Interval time.Duration
	// Timed makes wake-ups not shorten the wait: Step runs once per Interval.
	Timed bool
	// Nice, if positive, runs the service on a thread of its own with so much
	// less priority (see nice(2)), for work that must not take a processor from
	// those who wait for it. Where threads have no priority nothing happens.
	Nice int
	// OnError is told what a Step returned. The loop then pauses, whoever wakes
	// it, so that a lasting fault is not tried at full speed. Nil drops nothing
	// silently: it panics on the first error, so a service that can fail must set
	// it.
	OnError func(name string, err error)
}

// A Loop runs one Service on one goroutine.
type Loop struct {
	svc   Service
	opt   Options
	waker *Waker

	stopOnce sync.Once
	stop     chan struct{}
	done     chan struct{}
}

// Start begins to run svc and returns at once.
func Start(svc Service, opt Options) *Loop {
	l := &Loop{svc: svc, opt: opt, waker: NewWaker(), stop: make(chan struct{}), done: make(chan struct{})}
	go pprof.Do(context.Background(), pprof.Labels("svc", svc.Name()), func(context.Context) { l.run() })
	return l
}

// Wake asks for a Step soon. Safe for concurrent use; never blocks.
func (l *Loop) Wake() { l.waker.Wake() }

// Stop drains the service, waits for its goroutine to end and returns. Further
// calls only wait.
func (l *Loop) Stop() {
	l.stopOnce.Do(func() { close(l.stop) })
	<-l.done
}

func (l *Loop) run() {
	defer close(l.done)
	if l.opt.Nice > 0 {
		// The thread ends with the goroutine, so its priority is never given
		// to another one.
		runtime.LockOSThread()
		lowerPriority(l.opt.Nice)
	}
	timer := time.NewTimer(l.opt.Interval)
	defer timer.Stop()
	for {
		wake := l.waker.C()
		if l.opt.Timed {
			wake = nil
		}
		select {
		case <-l.stop:
			l.drain()
			return
		case <-timer.C:
		case <-wake:
		}
		worked := l.step()
		for worked > 0 && !l.opt.Timed && !l.stopping() {
			worked = l.step()
		}
		if worked == failed {
			l.pause()
		}
		timer.Reset(l.opt.Interval)
	}
}

// errorPause is how long a loop leaves a service alone after an error.
const errorPause = 50 * time.Millisecond

func (l *Loop) pause() {
	select {
	case <-time.After(min(errorPause, l.opt.Interval)):
	case <-l.stop:
	}
}

func (l *Loop) stopping() bool {
	select {
	case <-l.stop:
		return true
	default:
		return false
	}
}

// failed is what step returns in place of the work done, after an error.
const failed = -1

// step runs one Step and returns the work done.
func (l *Loop) step() int {
	worked, err := l.svc.Step(time.Now())
	if err != nil {
		if l.opt.OnError == nil {
			panic("service " + l.svc.Name() + " failed without an OnError: " + err.Error())
		}
		l.opt.OnError(l.svc.Name(), err)
		return failed
	}
	return worked
}

// WarnOnce returns an OnError that logs a warning whenever a service fails in
// another way than the last time, so that a lasting fault is one line.
func WarnOnce(logger *slog.Logger) func(name string, err error) {
	var mu sync.Mutex
	last := make(map[string]string)
	return func(name string, err error) {
		mu.Lock()
		defer mu.Unlock()
		if text := err.Error(); last[name] != text {
			last[name] = text
			logger.Warn("background service failed; it goes on", "service", name, "err", err)
		}
	}
}

func (l *Loop) drain() {
	for l.step() > 0 {
	}
}
