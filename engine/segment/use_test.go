package segment

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"commitlab/engine/mmap/mmaptest"
)

// newLateQueue makes n files, full of their numbers from 1 on, and opens them late.
func newLateQueue(t *testing.T, o *Options, n int) *Queue {
	t.Helper()
	q := newQueue(t, o, 0, n)
	for i, f := range q.Files() {
		appendBytes(t, f, int(o.FileBytes), byte(i+1))
	}
	q.Close()
	o.Late = true
	late, err := OpenQueue(q.Dir(), o, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(late.Close)
	return late
}

// wantView demands that a file gives a view of its bytes.
func wantView(t *testing.T, f *File, fill byte) {
	t.Helper()
	v, err := f.View(5, 100)
	if err != nil {
		t.Errorf("view of %s: %v", f.Path(), err)
		return
	}
	defer v.Release()
	if !bytes.Equal(v.Bytes(), bytes.Repeat([]byte{fill}, 100)) {
		t.Errorf("%s shows %v", f.Path(), v.Bytes())
	}
}

func TestALateQueueMapsWhatIsUsed(t *testing.T) {
	o, heap := newOptions()
	q := newLateQueue(t, o, 3)
	mapped := count(heap, mmaptest.OpMap)
	for i, f := range q.Files() {
		got := make([]byte, 50)
		if n, err := f.Peek(got, 7); n != 50 || err != nil || !bytes.Equal(got, bytes.Repeat([]byte{byte(i + 1)}, 50)) {
			t.Errorf("peek: %v, %d, %v", got, n, err)
		}
		if n, err := f.Peek(got, f.Size()-10); n != 10 || err == nil {
			t.Errorf("peek beyond the end: %d, %v", n, err)
		}
		if !f.Full() || f.Flushed() != f.Size() || f.Opened() {
			t.Errorf("%s: written to %d, flushed to %d, opened %v", f.Path(), f.Wrote(), f.Flushed(), f.Opened())
		}
		if n, err := f.Sync(SyncMsync); n != 0 || err != nil {
			t.Errorf("sync: %d, %v", n, err)
		}
	}
	wantView(t, q.Files()[1], 2)
	wantView(t, q.Files()[1], 2)
	if got := count(heap, mmaptest.OpMap) - mapped; got != 1 || !q.Files()[1].Opened() {
		t.Errorf("%d mappings for one file", got)
	}
	got := make([]byte, 1)
	if _, err := q.Files()[1].Peek(got, 9); err != nil || got[0] != 2 {
		t.Errorf("peek into an open file: %v, %v", got, err)
	}
	if err := q.Use(); err != nil || count(heap, mmaptest.OpMap)-mapped != 3 {
		t.Errorf("%d mappings for three files (%v)", count(heap, mmaptest.OpMap)-mapped, err)
	}
}

// What Unsync takes for not durable is synced, whoever has used the file.
func TestUnsyncedBytesOfALateQueueAreSynced(t *testing.T) {
	o, _ := newOptions()
	q := newLateQueue(t, o, 2)
	q.Unsync(testFileBytes + 100)
	if n, err := q.Files()[0].Sync(SyncFdatasync); n != 0 || err != nil || q.Files()[0].Opened() {
		t.Errorf("the first file: %d, %v", n, err)
	}
	if n, err := q.Files()[1].Sync(SyncFdatasync); n != testFileBytes-100 || err != nil {
		t.Errorf("the second file: %d, %v", n, err)
	}
}

func TestFirstUsesAtOnceMapOnce(t *testing.T) {
	o, heap := newOptions()
	q := newLateQueue(t, o, 4)
	mapped := count(heap, mmaptest.OpMap)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i, f := range q.Files() {
				wantView(t, f, byte(i+1))
			}
		})
	}
	group.Wait()
	if got := count(heap, mmaptest.OpMap) - mapped; got != 4 {
		t.Errorf("%d mappings of 4 files", got)
	}
}

func TestAFirstUseThatFailsCanBeRepeated(t *testing.T) {
	o, heap := newOptions()
	q := newLateQueue(t, o, 1)
	f := q.Last()
	heap.Fail(mmaptest.OpMap, errInjected, 2)
	if _, err := f.View(0, 1); !errors.Is(err, errInjected) || f.References() != 1 {
		t.Errorf("view: %v, %d references", err, f.References())
	}
	if err := q.Use(); !errors.Is(err, errInjected) {
		t.Errorf("use: %v", err)
	}
	wantView(t, f, 1)
	q.Close()
	if f.Use() != nil || f.Available() {
		t.Error("a file that was used is not closed as any other")
	}
}

// Goal: the file is the one that was there when its queue was opened, or an error.
func TestFirstUseOfAFileThatWasChangedIsAnError(t *testing.T) {
	o, _ := newOptions()
	q := newLateQueue(t, o, 2)
	if err := os.Truncate(q.Files()[0].Path(), 100); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(q.Files()[1].Path()); err != nil {
		t.Fatal(err)
	}
	for _, f := range q.Files() {
		if _, err := f.View(0, 1); err == nil || errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), f.Path()) {
			t.Errorf("view: %v", err)
		}
	}
}

// A file that nobody used has nothing but its name, whatever way files are taken down.
func TestAFileThatNobodyUsedGoesWithItsName(t *testing.T) {
	for _, way := range []Destruction{DestroyInline, DestroyBackground, DestroyStepwise, DestroyPunch} {
		t.Run(string(way), func(t *testing.T) {
			d := newDestroying(t, way, 0)
			d.FileBytes = testFileBytes
			q := newLateQueue(t, d.Options, 2)
			before := len(d.heap.Trace())
			f := q.Files()[0]
			if _, err := f.Destroy(start, Never); err != nil {
				t.Fatal(err)
			}
			d.run(t)
			gone, err := f.Destroy(start, 0)
			if !gone || err != nil || exists(f.Path()) || d.Reaper.FreedBytes() != f.Size() {
				t.Errorf("gone %v (%v), name there %v, %d bytes freed", gone, err, exists(f.Path()), d.Reaper.FreedBytes())
			}
			for _, e := range d.heap.Trace()[before:] {
				if e.Op != mmaptest.OpRemove && e.Op != mmaptest.OpSyncDir {
					t.Errorf("%s of a file that nobody used", e.Op)
				}
			}
			if err := f.Use(); !errors.Is(err, ErrClosed) {
				t.Errorf("use: %v", err)
			}
		})
	}
}

// Goal: a reader that found a file just before it was destroyed never gets the bytes of
// another one that has its name since. Method: the reader holds its reference, and
// opens the file only then.
func TestAFirstUseNeverOpensALaterFileOfTheName(t *testing.T) {
	o, heap := newOptions()
	q := newLateQueue(t, o, 1)
	f := q.Last()
	mapped := count(heap, mmaptest.OpMap)
	if !f.life.hold() {
		t.Fatal("closed")
	}
	if gone, err := f.Destroy(start, Never); gone || err != nil {
		t.Fatalf("destroyed under a reader: %v, %v", gone, err)
	}
	if err := os.WriteFile(f.Path(), make([]byte, testFileBytes), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := f.use(); !errors.Is(err, ErrClosed) {
		t.Errorf("first use: %v", err)
	}
	if _, err := f.Destroy(start, 0); err != nil || f.revoked.Load() {
		t.Errorf("by force: %v, revoked %v", err, f.revoked.Load())
	}
	f.life.release()
	if gone, err := f.Destroy(start, 0); !gone || err != nil || count(heap, mmaptest.OpMap) != mapped {
		t.Errorf("gone %v (%v), %d mappings", gone, err, count(heap, mmaptest.OpMap)-mapped)
	}
	if !exists(f.Path()) {
		t.Error("the later file is gone")
	}
}

// What is wrong with a directory is found when it is opened, early or late.
func TestALateQueueIsCheckedWhenItIsOpened(t *testing.T) {
	for name, change := range map[string]func(dir string) error{
		"gap":  func(dir string) error { return os.Remove(filepath.Join(dir, FileName(testFileBytes))) },
		"size": func(dir string) error { return os.Truncate(filepath.Join(dir, FileName(0)), 10) },
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := newOptions()
			q := newLateQueue(t, o, 3)
			if err := change(q.Dir()); err != nil {
				t.Fatal(err)
			}
			_, err := OpenQueue(q.Dir(), o, quiet())
			o.Late = false
			if _, early := OpenQueue(q.Dir(), o, quiet()); err == nil || early == nil || err.Error() != early.Error() {
				t.Errorf("late: %v, early: %v", err, early)
			}
		})
	}
	o, _ := newOptions()
	q := newLateQueue(t, o, 1)
	if err := os.WriteFile(filepath.Join(q.Dir(), FileName(testFileBytes)), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	again, err := OpenQueue(q.Dir(), o, quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got := entries(t, q.Dir()); !slices.Equal(got, []string{FileName(0), FileName(testFileBytes)}) {
		t.Errorf("opened: %v", got)
	}
	if err := again.Truncate(testFileBytes); err != nil {
		t.Fatal(err)
	}
	if got := entries(t, q.Dir()); !slices.Equal(got, []string{FileName(0)}) {
		t.Errorf("changed: %v", got)
	}
}

// Goal: to fetch the lines of a file is no use of it, whatever the place.
func TestFetchedLinesAreNoUse(t *testing.T) {
	o, heap := newOptions()
	q := newLateQueue(t, o, 1)
	mapped := count(heap, mmaptest.OpMap)
	f := q.Files()[0]
	for _, opened := range []bool{false, true} {
		for _, pos := range []int64{-1, 0, 100, o.FileBytes - 1, o.FileBytes} {
			for _, n := range []int64{-1, 0, 1, o.FileBytes, 1 << 62} {
				f.FetchLines(pos, n)
			}
		}
		if n := count(heap, mmaptest.OpMap) - mapped; f.Opened() != opened || opened != (n == 1) {
			t.Errorf("opened %v with %d mappings, want %v", f.Opened(), n, opened)
		}
		wantView(t, f, 1)
	}
}
