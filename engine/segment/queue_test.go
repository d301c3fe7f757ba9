package segment

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"commitlab/engine/mmap/mmaptest"
)

// newQueue is a queue of n new files from base on.
func newQueue(t *testing.T, o *Options, base int64, n int) *Queue {
	t.Helper()
	q, err := OpenQueue(filepath.Join(t.TempDir(), "log"), o, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	for i := range int64(n) {
		if _, err := q.Create(base + i*o.FileBytes); err != nil {
			t.Fatal(err)
		}
	}
	return q
}

func TestFindReturnsTheFileThatContainsTheOffset(t *testing.T) {
	o, _ := newOptions()
	const base = 5 * testFileBytes
	q := newQueue(t, o, base, 3)
	for offset, want := range map[int64]int{
		-1: -1, 0: -1, base - 1: -1, base: 0, base + testFileBytes - 1: 0, base + testFileBytes: 1,
		base + 3*testFileBytes - 1: 2, base + 3*testFileBytes: -1, 1<<63 - 1: -1,
	} {
		got := slices.Index(q.Files(), q.Find(offset))
		if got != want {
			t.Errorf("offset %d: file %d, want %d", offset, got, want)
		}
	}
	if q.MinOffset() != base || q.Last() != q.Files()[2] {
		t.Errorf("min %d, last %v", q.MinOffset(), q.Last().Path())
	}
	if _, err := q.Files()[0].Destroy(start, Never); err != nil {
		t.Fatal(err)
	}
	if q.MinOffset() != base+testFileBytes {
		t.Errorf("min with the first file gone: %d", q.MinOffset())
	}
	q.RemoveFirst(q.Files()[1]) // is not the first
	q.RemoveFirst(q.Files()[0])
	if len(q.Files()) != 2 || q.Find(base) != nil {
		t.Errorf("%d files after the first was removed", len(q.Files()))
	}
}

func TestEmptyQueueHasNoOffsets(t *testing.T) {
	o, _ := newOptions()
	q := newQueue(t, o, 0, 0)
	if q.Last() != nil || q.Find(0) != nil || q.MinOffset() != 0 {
		t.Errorf("last %v, find %v, min %d", q.Last(), q.Find(0), q.MinOffset())
	}
}

func TestTruncateKeepsTheFileThatEndsThere(t *testing.T) {
	for _, c := range []struct {
		end   int64
		files int
		wrote int64 // of the last one kept
	}{
		{0, 1, 0}, {1, 1, 1}, {testFileBytes - 1, 1, testFileBytes - 1}, {testFileBytes, 2, 0}, {testFileBytes + 5, 2, 5},
		{3*testFileBytes - 1, 3, testFileBytes - 1}, {3 * testFileBytes, 3, testFileBytes},
	} {
		o, _ := newOptions()
		q := newQueue(t, o, 0, 3)
		if err := q.Truncate(c.end); err != nil {
			t.Fatal(err)
		}
		last := q.Last()
		if len(q.Files()) != c.files || last.Wrote() != c.wrote || last.ReadPosition() != c.wrote || last.Flushed() != c.wrote {
			t.Errorf("truncated to %d: %d files, the last written to %d, want %d, %d", c.end, len(q.Files()), last.Wrote(), c.files, c.wrote)
		}
		for _, f := range q.Files()[:c.files-1] {
			if !f.Full() {
				t.Errorf("truncated to %d: %s is not full", c.end, f.Path())
			}
		}
		if got := entries(t, q.Dir()); len(got) != c.files {
			t.Errorf("truncated to %d: directory holds %v", c.end, got)
		}
	}
}

// A crash between two removals must not leave a gap, which no Open accepts.
func TestTruncateRemovesFromTheEnd(t *testing.T) {
	o, heap := newOptions()
	q := newQueue(t, o, 0, 5)
	heap.Fail(mmaptest.OpSyncDir, errInjected, 1)
	if err := q.Truncate(0); !errors.Is(err, errInjected) {
		t.Fatalf("got %v", err)
	}
	if got, want := entries(t, q.Dir()), []string{FileName(0), FileName(testFileBytes), FileName(2 * testFileBytes), FileName(3 * testFileBytes)}; !slices.Equal(got, want) {
		t.Errorf("after a failure at the first removal: %v, want %v", got, want)
	}
}

func TestOpenedQueueIsFullAndKeepsItsBytes(t *testing.T) {
	o, _ := newOptions()
	q := newQueue(t, o, 0, 2)
	appendBytes(t, q.Files()[0], 100, 5)
	q.Close()
	again, err := OpenQueue(q.Dir(), o, quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for _, f := range again.Files() {
		if !f.Full() || f.Flushed() != f.Size() {
			t.Errorf("%s: written to %d, flushed to %d", f.Path(), f.Wrote(), f.Flushed())
		}
	}
	v, err := again.Files()[0].View(99, 2)
	if err != nil || v.Bytes()[0] != 5 || v.Bytes()[1] != 0 {
		t.Errorf("view: %v, %v", v.Bytes(), err)
	}
	v.Release()
}

func TestQueueThatCannotBeMappedLeaksNothing(t *testing.T) {
	o, heap := newOptions()
	q := newQueue(t, o, 0, 3)
	q.Close()
	unmapped := count(heap, mmaptest.OpUnmap)
	o.Mapper = failingThird{heap}
	if _, err := OpenQueue(q.Dir(), o, quiet()); !errors.Is(err, errInjected) {
		t.Fatalf("got %v", err)
	}
	if got := count(heap, mmaptest.OpUnmap) - unmapped; got != 2 {
		t.Errorf("%d of the 2 mapped files were unmapped", got)
	}
	if got := entries(t, q.Dir()); len(got) != 3 {
		t.Errorf("directory holds %v", got)
	}
}

func TestAddOfAFileThatDoesNotFollowPanics(t *testing.T) {
	o, _ := newOptions()
	q := newQueue(t, o, 0, 1)
	f, err := Create(filepath.Join(q.Dir(), FileName(2*testFileBytes)), 2*testFileBytes, o)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Shutdown()
	defer os.Remove(f.Path())
	defer func() {
		if recover() == nil {
			t.Error("a gap in the queue went unnoticed")
		}
	}()
	q.Add(f)
}

// B-26: setting the end back dropped the files behind it from the list and left them
// on the disk, to be loaded by the next start.
func TestB26_TruncatedFilesAreGoneEverywhere(t *testing.T) {
	o, heap := newOptions()
	q := newQueue(t, o, 0, 4)
	for _, f := range q.Files() {
		f.setPositions(testFileBytes)
	}
	const end = testFileBytes + testFileBytes/2
	if err := q.Truncate(end); err != nil {
		t.Fatal(err)
	}
	want := []string{FileName(0), FileName(testFileBytes)}
	if got := entries(t, q.Dir()); !slices.Equal(got, want) || len(q.Files()) != 2 || count(heap, mmaptest.OpUnmap) != 2 {
		t.Errorf("directory %v, %d files listed, %d mappings removed", got, len(q.Files()), count(heap, mmaptest.OpUnmap))
	}
	if last := q.Last(); last.Base()+last.Wrote() != end {
		t.Errorf("the log ends at %d, want %d", last.Base()+last.Wrote(), end)
	}
	q.Close()
	again, err := OpenQueue(q.Dir(), o, quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if len(again.Files()) != 2 {
		t.Errorf("opened again: %d files", len(again.Files()))
	}
}
