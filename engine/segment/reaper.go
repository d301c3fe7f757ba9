package segment

import (
	"sync"
	"sync/atomic"
	"time"

	"commitlab/engine/stats"
)

// ReaperOptions say how files are taken down. They are immutable after NewReaper.
type ReaperOptions struct {
	Destroy Destruction
	// BytesPerSecond limits how fast Step frees; 0 is no limit.
	BytesPerSecond int64
	// Observe, if not nil, is told of every step by the goroutine that took it. It
	// must not block.
	Observe func(DestroyStep)
	// Spares, if not nil, takes files that may be used again.
	Spares *Spares
	// Wake is called when there is work for Step.
	Wake func()
	// Optional records the calls that may fail without harm.
	Optional *stats.Optional
}

// A Reaper takes down the files that were destroyed, once nobody uses them: it
// unmaps and closes them, which frees their blocks, in pieces if asked to. It is a
// service; one Step is one system call. A file that readers hold is given to it
// by the last of them, so that no reader waits for the disk.
//
// Files are shared out between reaper and readers like this:
//
//	Destroy ─► unlink ─► held? ──no──────────────► queue ─► pieces ─► unmap ─► close
//	                      └─yes─► last Release ──────▲
//	                      └─forced: zeros ─► queue ─► pieces ─► close     last Release ─► queue ─► unmap
type Reaper struct {
	opt ReaperOptions
	way freeing // immutable

	mu        sync.Mutex
	queue     []*File   // guarded by mu; the first is being worked on
	notBefore time.Time // guarded by mu; the rate allows no call earlier
	stopped   bool      // guarded by mu

	bytes atomic.Int64 // freed so far
}

// NewReaper returns a reaper without work.
func NewReaper(o ReaperOptions) *Reaper { return &Reaper{opt: o, way: freeingOf(o.Destroy)} }

// Name implements service.Service.
func (r *Reaper) Name() string { return "reaper" }

// Backlog is the number of files that wait to be taken down. Those that readers
// hold do not count.
func (r *Reaper) Backlog() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue)
}

// FreedBytes is how much of the disk was given back so far.
func (r *Reaper) FreedBytes() int64 { return r.bytes.Load() }

// give hands over a file of which something is to be done now. With DestroyInline,
// after Stop, and without a reaper, the caller does it.
func (r *Reaper) give(f *File) {
	if r == nil {
		f.takeDown()
		return
	}
	r.mu.Lock()
	mine := r.stopped || r.opt.Destroy == DestroyInline
	if !mine {
		r.queue = append(r.queue, f)
	}
	r.mu.Unlock()
	if mine {
		r.bytes.Add(f.takeDown())
		return
	}
	r.opt.Wake()
}

// Step makes one system call for the oldest file, unless the rate asks for a
// pause: then it sees to it that it is woken at its end. It returns the number of
// calls.
func (r *Reaper) Step(now time.Time) (int, error) {
	r.mu.Lock()
	if len(r.queue) == 0 {
		r.mu.Unlock()
		return 0, nil
	}
	if pause := r.notBefore.Sub(now); pause > 0 {
		r.mu.Unlock()
		time.AfterFunc(pause, r.opt.Wake)
		return 0, nil
	}
	f := r.queue[0]
	r.mu.Unlock()

	worked, freed := f.takeDownStep(r.way)
	r.bytes.Add(freed)
	r.mu.Lock()
	defer r.mu.Unlock()
	if rate := r.opt.BytesPerSecond; rate > 0 && freed > 0 {
		r.notBefore = now.Add(time.Duration(float64(freed) / float64(rate) * float64(time.Second)))
	}
	if !worked {
		r.queue[0] = nil
		r.queue = r.queue[1:]
	}
	return 1, nil
}

// Drain takes down at once all that waits. The service must not run.
func (r *Reaper) Drain() {
	r.mu.Lock()
	left := r.queue
	r.queue = nil
	r.mu.Unlock()
	for _, f := range left {
		r.bytes.Add(f.takeDown())
	}
}

// Stop drains, and from now on whoever gives up the last reference takes the file
// down. The service must have ended.
func (r *Reaper) Stop() {
	r.mu.Lock()
	r.stopped = true
	r.mu.Unlock()
	r.Drain()
}
