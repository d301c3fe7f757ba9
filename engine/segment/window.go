package segment

import (
	"sync/atomic"
	"time"
)

// WindowStepBytes is how much the window grows with one system call, and after
// how many appended bytes it is woken. Steps begin at multiples of it, so that one call
// makes the whole of a large page, and never two.
const WindowStepBytes = 2 << 20

// refreshAfter is how old a populated window may get before it is made again:
// the kernel writes dirty pages back after some seconds and write-protects
// them, after which the first store to each would fault.
const refreshAfter = 4 * time.Second

// A Window keeps the pages just ahead of the writer populated, from another
// thread, again and again. It is a service; its Step is one system call.
//
//	        wrote            ahead         wrote+bytes
//	─────────┼─────────────────┼────────────────┼──────
//	 written │    populated    │   next steps   │
type Window struct {
	queue *Queue
	bytes int64

	file  *File     // the tail that ahead belongs to
	ahead int64     // position in file below which pages were made
	since time.Time // when the current window was begun

	populated atomic.Int64 // bytes asked of the kernel
	overtaken atomic.Int64 // bytes the writer reached before the window did
}

// NewWindow returns the window of queue's tail.
func NewWindow(queue *Queue) *Window { return &Window{queue: queue, bytes: queue.opt.WindowBytes} }

// Name implements service.Service.
func (w *Window) Name() string { return "window" }

// Populated is the number of bytes the window has populated so far.
func (w *Window) Populated() int64 { return w.populated.Load() }

// Overtaken is the number of bytes that the writer reached before the window.
func (w *Window) Overtaken() int64 { return w.overtaken.Load() }

// Step populates up to WindowStepBytes ahead of the writer and returns how
// many bytes that were.
func (w *Window) Step(now time.Time) (int, error) {
	tail := w.queue.Last()
	if tail == nil || !tail.life.hold() {
		return 0, nil
	}
	defer tail.life.release()
	wrote := tail.Wrote()
	if tail != w.file { // its first window was made when it was prepared
		tail.adviseWriting(w.queue.opt)
		w.file, w.ahead, w.since = tail, min(w.bytes, tail.Size()), time.Time{}
	}
	if wrote > w.ahead {
		w.overtaken.Add(wrote - w.ahead)
		w.ahead = wrote &^ (WindowStepBytes - 1)
	}
	if now.Sub(w.since) >= refreshAfter {
		// Made perhaps long ago. Asking again for pages that are there is cheap.
		w.ahead, w.since = wrote&^(WindowStepBytes-1), now
	}
	target := min((wrote+w.bytes)&^(WindowStepBytes-1), tail.Size())
	n := min(target-w.ahead, WindowStepBytes)
	if n <= 0 || (n < WindowStepBytes && target != tail.Size()) {
		return 0, nil
	}
	if !tail.populate(w.ahead, n, w.queue.opt) {
		w.ahead = tail.Size() // not available here: leave the pages to the writer
		w.since = now.Add(365 * 24 * time.Hour)
		return 0, nil
	}
	w.ahead += n
	w.populated.Add(n)
	return int(n), nil
}
