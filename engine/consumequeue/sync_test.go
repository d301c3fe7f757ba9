package consumequeue

import (
	"errors"
	"path/filepath"
	"testing"

	"commitlab/engine/mmap/mmaptest"
	"commitlab/engine/segment"
)

// Put, then power cut: only what Sync covered is sure to be there.
func TestSyncMakesUnitsDurable(t *testing.T) {
	for _, path := range []segment.SyncPath{segment.SyncMsync, segment.SyncFdatasync} {
		o, heap := onHeap(4)
		o.SyncPath = path
		dir := t.TempDir()
		q := openQueue(t, dir, o)
		for _, n := range []int64{3, 4, 9, 16} { // within a file, at its end, over several
			put(t, q, q.Max(), n)
			if _, err := q.Sync(0); err != nil {
				t.Fatal(err)
			}
			put(t, q, n, n+1)
			after := filepath.Join(t.TempDir(), "after")
			if err := heap.CrashClone(dir, after, nil); err != nil {
				t.Fatal(err)
			}
			o.Clean = false
			wantRange(t, openQueue(t, after, o), 0, n)
		}
		if n, err := q.Sync(0); err != nil || n != UnitBytes {
			t.Errorf("sync of one unit: %d bytes, %v", n, err)
		}
		if n, err := q.Sync(0); err != nil || n != 0 {
			t.Errorf("sync of nothing: %d bytes, %v", n, err)
		}
	}
}

func TestSyncWaitsForPages(t *testing.T) {
	o, heap := onHeap(1000) // 4.9 pages
	q := openQueue(t, t.TempDir(), o)
	syncs := func() (n int) {
		for _, e := range heap.Trace() {
			if e.Op == mmaptest.OpSync {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		units int64
		pages int
		bytes int64
	}{
		{400, 2, 0}, {410, 2, 8200}, {410, 1, 0}, {600, 2, 0}, {600, 0, 3800},
		{999, 4, 0}, {1000, 4, 8000}, // a full file goes at once
	} {
		put(t, q, q.Max(), c.units)
		before := syncs()
		n, err := q.Sync(c.pages)
		if err != nil || n != c.bytes || (syncs() > before) != (n > 0) {
			t.Errorf("%d units, at least %d pages: %d bytes, %v; expected %d", c.units, c.pages, n, err, c.bytes)
		}
	}
}

// In the Java store the checkpoint takes the newest unit in memory for the newest
// on disk. Here the word that the queue is durable is Sync's, and after a failure
// it is never given again: the pages may be lost though a later call succeeds.
func TestB40_AfterAFailedSyncNothingCountsAsDurable(t *testing.T) {
	o, heap := onHeap(4)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 10)
	broken := errors.New("input/output error")
	heap.FailSync(broken, 1)
	if _, err := q.Sync(0); !errors.Is(err, broken) || !errors.Is(err, ErrSyncFailed) {
		t.Errorf("sync: %v", err)
	}
	for range 2 {
		if n, err := q.Sync(0); n != 0 || !errors.Is(err, ErrSyncFailed) {
			t.Errorf("sync after a failed one: %d bytes, %v", n, err)
		}
	}
	put(t, q, 10, 12) // dispatch goes on, reads too
	wantRange(t, q, 0, 12)
}
