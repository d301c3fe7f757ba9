package segment

import (
	"testing"
	"time"

	"commitlab/engine/mmap/mmaptest"
)

// newWindow is a window of two steps over one file of eight.
func newWindow(t *testing.T) (*Window, *File, *mmaptest.Heap) {
	t.Helper()
	o, heap := newOptions()
	o.FileBytes, o.WindowBytes = 8*WindowStepBytes, 2*WindowStepBytes
	q := newQueue(t, o, 0, 1)
	return NewWindow(q), q.Last(), heap
}

// drain steps until there is nothing to do and returns the bytes populated.
func (w *Window) drain(t *testing.T, now time.Time) (total int) {
	t.Helper()
	for {
		n, err := w.Step(now)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return total
		}
		if total += n; n > WindowStepBytes {
			t.Fatalf("one step populated %d bytes", n)
		}
	}
}

func TestWindowStaysAheadOfTheWriter(t *testing.T) {
	w, f, _ := newWindow(t)
	if n := w.drain(t, start); n != 2*WindowStepBytes {
		t.Errorf("first window: %d bytes", n)
	}
	f.Publish(WindowStepBytes / 2)
	if n := w.drain(t, start); n != 0 {
		t.Errorf("moved by less than a step: %d bytes", n)
	}
	f.Publish(WindowStepBytes / 2)
	if n := w.drain(t, start); n != WindowStepBytes {
		t.Errorf("moved by a step: %d bytes", n)
	}
	f.Publish(4 * WindowStepBytes) // the writer overtakes by two
	if n := w.drain(t, start); n != 2*WindowStepBytes || w.Overtaken() != 2*WindowStepBytes {
		t.Errorf("overtaken: %d bytes, %d counted", n, w.Overtaken())
	}
	f.Publish(WindowStepBytes)
	if n := w.drain(t, start); n != WindowStepBytes || w.ahead != f.Size() {
		t.Errorf("at the end of the file: %d bytes, to %d of %d", n, w.ahead, f.Size())
	}
	f.Publish(2 * WindowStepBytes)
	if n := w.drain(t, start); n != 0 {
		t.Errorf("full file: %d bytes", n)
	}
}

// Pages that were written back fault again: after a while the window is made
// anew.
func TestWindowIsRefreshed(t *testing.T) {
	w, _, _ := newWindow(t)
	w.drain(t, start)
	if n := w.drain(t, start.Add(refreshAfter-1)); n != 0 {
		t.Errorf("too early: %d bytes", n)
	}
	if n := w.drain(t, start.Add(refreshAfter)); n != 2*WindowStepBytes {
		t.Errorf("refreshed %d bytes", n)
	}
}

// Where the system cannot populate, one try a file is enough.
func TestWindowGivesUpWherePopulateFails(t *testing.T) {
	w, f, heap := newWindow(t)
	heap.Fail(mmaptest.OpPopulate, errInjected, 1000)
	tries := count(heap, mmaptest.OpPopulate)
	for range 5 {
		w.drain(t, start)
		f.Publish(WindowStepBytes)
	}
	if n := count(heap, mmaptest.OpPopulate) - tries; n != 1 {
		t.Errorf("tried %d times, want once", n)
	}
}

func TestWindowOfAnEmptyQueueRests(t *testing.T) {
	o, _ := newOptions()
	w := NewWindow(newQueue(t, o, 0, 0))
	if n := w.drain(t, start); n != 0 {
		t.Errorf("%d bytes of nothing", n)
	}
}
