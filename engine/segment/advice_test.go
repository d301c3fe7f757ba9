package segment

import (
	"testing"

	"commitlab/engine/mmap/mmaptest"
)

// What is said of a file that is written to is taken back when it is full and durable,
// once.
func TestAdviceForWritingEndsWithTheFile(t *testing.T) {
	o, heap := newOptions()
	o.Writing = AdviseHugePage
	f := newFileAt(t, o, 0)
	calls := func() int { return count(heap, mmaptest.OpAdvise) }
	if got := calls(); got != 2 {
		t.Errorf("new file: %d calls, want 2: large pages, no read-ahead", got)
	}
	f.adviseWriting(o)
	appendBytes(t, f, testFileBytes/2, 1)
	if _, err := f.Sync(SyncMsync); err != nil {
		t.Fatal(err)
	}
	if got := calls(); got != 2 {
		t.Errorf("half full: %d calls, want no more", got)
	}
	appendBytes(t, f, testFileBytes/2, 1)
	for range 2 {
		if _, err := f.Sync(SyncMsync); err != nil {
			t.Fatal(err)
		}
	}
	if got := calls(); got != 4 {
		t.Errorf("full: %d calls, want 2 more", got)
	}
	if got := o.Optional.Outcomes()["madvise hugepage"]; got != "ok" {
		t.Errorf("outcome %q", got)
	}
}

// A file that is only read keeps the advice for reading; the one that is gone on with
// after a restart gets that for writing.
func TestAdviceForWritingIsForTheTail(t *testing.T) {
	o, heap := newOptions()
	o.FileBytes, o.WindowBytes, o.Writing = 2*WindowStepBytes, WindowStepBytes, AdviseRandom
	f := newFileAt(t, o, 0)
	path := f.Path()
	f.Shutdown()
	before := count(heap, mmaptest.OpAdvise)
	f, err := Open(path, 0, o)
	if err != nil {
		t.Fatal(err)
	}
	if got := count(heap, mmaptest.OpAdvise) - before; got != 0 {
		t.Errorf("opened: %d calls, want none", got)
	}
	f.setPositions(0)
	q := newQueue(t, o, 0, 0)
	q.Add(f)
	w := NewWindow(q)
	for range 3 {
		if _, err := w.Step(start); err != nil {
			t.Fatal(err)
		}
	}
	if got := count(heap, mmaptest.OpAdvise) - before; got != 1 {
		t.Errorf("written to: %d calls, want 1", got)
	}
}
