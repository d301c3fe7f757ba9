package engine

import (
	"math"
	"path/filepath"
	"testing"

	"commitlab/engine/mmap/mmaptest"
)

// Goal: a query appends to what the caller has, gives back what it passes over, and
// holds what it returns. Method: 40 keys of one hash; the mapping of a closed store
// goes with the last view.
func TestAppendQueryHoldsWhatItReturnsAndNothingElse(t *testing.T) {
	heap := mmaptest.NewHeap()
	s := openUnchecked(t, scratch(t), small(Options{Dispatch: On, CommitLogFileBytes: 1 << 20, Mapper: heap, Disk: heap}))
	keys := colliding(40)
	var want []int64
	for _, key := range keys {
		want = append(want, put(t, s, keyedMessage("t", "", key, "body of "+key)).PhysicalOffset)
	}
	dispatched(t, s)
	var views []View
	for _, key := range keys {
		var err error
		if views, err = s.AppendQuery(views, "t", key, 32, 0, math.MaxInt64); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := calls(heap, mmaptest.OpUnmap, s.dir.Index()); n != 1 {
		t.Errorf("%d index files were unmapped by Close, want the one that cursors have let go", n)
	}
	if len(views) != len(keys) {
		t.Fatalf("%d answers, want %d", len(views), len(keys))
	}
	before := calls(heap, mmaptest.OpUnmap, s.dir.CommitLog()) // a file that was prepared
	for i := range views {
		v := &views[i]
		if v.PhysicalOffset != want[i] || string(v.Body) != "body of "+keys[i] || len(v.Bytes()) != v.Size {
			t.Errorf("answer %d: record at %d with body %q in %d bytes", i, v.PhysicalOffset, v.Body, len(v.Bytes()))
		}
		if n := calls(heap, mmaptest.OpUnmap, s.dir.CommitLog()); n != before {
			t.Errorf("unmapped with %d views held", len(views)-i)
		}
		v.Release()
	}
	if n := calls(heap, mmaptest.OpUnmap, s.dir.CommitLog()); n != before+1 {
		t.Errorf("%d log files unmapped after the last view, want one: a view of what was passed over is held", n-before)
	}
}

// Goal: every index file is asked to lie in large pages, new or found, and nothing
// else is unless the options say so. It takes two calls, for the pages and against
// reading ahead; other advice is one.
func TestIndexLiesInLargePages(t *testing.T) {
	dir := scratch(t)
	for opened := range 2 {
		heap := mmaptest.NewHeap()
		s := openUnchecked(t, dir, small(Options{Dispatch: On, IndexSlots: 7, IndexItems: 11, Mapper: heap, Disk: heap}))
		for i := range 25 * (1 - opened) {
			put(t, s, keyedMessage("t", "", "k", body(i)))
		}
		dispatched(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if maps, advised := calls(heap, mmaptest.OpMap, s.dir.Index()), calls(heap, mmaptest.OpAdvise, s.dir.Index()); maps != 3 || advised != 2*maps {
			t.Errorf("store %d: %d index files mapped, %d calls of madvise, want 3 and 6", opened, maps, advised)
		}
		if n := calls(heap, mmaptest.OpAdvise, s.dir.CommitLog()); n > 0 {
			t.Errorf("store %d: %d calls of madvise for the log", opened, n)
		}
	}
}

// calls is how many calls of a kind there were for files in dir.
func calls(heap *mmaptest.Heap, op mmaptest.Op, dir string) (n int) {
	for _, e := range heap.Trace() {
		if e.Op == op && filepath.Dir(e.Path) == dir {
			n++
		}
	}
	return n
}
