package commitlog

import (
	"sync/atomic"
	"time"

	"commitlab/engine/segment"
)

// A clock gives the store time in epoch milliseconds. The coarse clock is a
// word that the pulse refreshes, so that an append reads no system clock: a
// read costs 60 ns on some virtual machines, most of an append.
type clock struct {
	exact bool // immutable
	wall  atomic.Int64
}

func newClock(exact bool) *clock {
	c := &clock{exact: exact}
	c.set(time.Now())
	return c
}

func (c *clock) set(now time.Time) { c.wall.Store(now.UnixMilli()) }

func (c *clock) nowMs() int64 {
	if c.exact {
		return time.Now().UnixMilli()
	}
	return c.wall.Load()
}

// pulseInterval is how often the pulse beats, hence the step of the coarse
// clock.
const pulseInterval = time.Millisecond

// The pulse does what appends would otherwise have to do on their way. It
// refreshes the coarse clock. It wakes those who follow the writer, because to
// wake a thread costs the waker tens of microseconds on a virtual machine. And
// it watches the append lock: when one append has held it for longer than the
// limit, the page cache is busy and further appends are refused until it is
// free. It is a service.
type pulse struct {
	log   *Log
	limit time.Duration

	windowAt int64 // appended offset at which the window is woken next

	last  int64     // appended offset at the last beat
	since time.Time // monotonic; when the lock was first seen held at last
}

// Name implements service.Service.
func (p *pulse) Name() string { return "pulse" }

// Step is one beat. Durations come from the monotonic part of now, so a step of
// the wall clock makes nobody busy.
func (p *pulse) Step(now time.Time) (int, error) {
	p.log.clock.set(now)
	if at := p.log.Appended(); p.log.window != nil && at >= p.windowAt {
		p.windowAt = at + segment.WindowStepBytes
		p.log.loops.window.Wake()
	}
	if beat := p.log.opt.Beat; beat != nil {
		beat()
	}
	if p.log.lock.tryLock() {
		p.log.lock.unlock()
		p.since = time.Time{}
		p.log.busy.Store(false)
		return 0, nil
	}
	if at := p.log.Appended(); p.since.IsZero() || at != p.last {
		p.last, p.since = at, now
	}
	p.log.busy.Store(now.Sub(p.since) > p.limit)
	return 0, nil
}
