package segment

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"commitlab/engine/mmap"
	"commitlab/engine/mmap/mmaptest"
)

// failingThird fails the third mapping.
type failingThird struct{ *mmaptest.Heap }

func (m failingThird) Map(f *os.File, length int64, p mmap.Prot) (mmap.Region, error) {
	if filepath.Base(f.Name()) == FileName(2*testFileBytes) {
		return nil, errInjected
	}
	return m.Heap.Map(f, length, p)
}

func TestPreparedFileIsTakenWithoutWaiting(t *testing.T) {
	o, _ := newOptions()
	woken := 0
	p := NewPrealloc(t.TempDir(), o, false, func() { woken++ })
	if n, err := p.Step(start); n != 0 || err != nil {
		t.Errorf("nothing asked for: %d, %v", n, err)
	}
	p.Request(0)
	if woken != 1 {
		t.Errorf("woken %d times, want once", woken)
	}
	for _, want := range []int{1, 0} { // one file ahead, not more
		if n, err := p.Step(start); n != want || err != nil {
			t.Fatalf("step: %d, %v, want %d", n, err, want)
		}
	}
	f, _, err := p.Take(0)
	if err != nil || f.Base() != 0 {
		t.Fatalf("take: %v, %v", f, err)
	}
	defer f.Shutdown()
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	if !exists(f.Path()) {
		t.Error("Stop removed a file that was taken")
	}
}

// H33: a file that could not be made left puts failing until a background thread made
// it, 5 s later at times. A file that is not ready is waited for; when it cannot be made
// everybody is told at once, the attempts keep their distance, and the next one that
// is due heals it.
func TestFailureIsToldAndRetriedLater(t *testing.T) {
	o, heap := newOptions()
	var p *Prealloc
	steps := make(chan struct{}, 16)
	p = NewPrealloc(t.TempDir(), o, false, func() { steps <- struct{}{} })
	var running sync.WaitGroup
	running.Go(func() {
		for range steps {
			p.Step(time.Now())
		}
	})
	heap.Fail(mmaptest.OpAllocate, errInjected, 1)
	if _, _, err := p.Take(0); !errors.Is(err, errInjected) {
		t.Errorf("first take: got %v, want the failure", err)
	}
	attempts := count(heap, mmaptest.OpAllocate)
	if _, _, err := p.Take(0); err != nil && !errors.Is(err, errInjected) {
		t.Errorf("second take: %v", err)
	} else if err != nil && count(heap, mmaptest.OpAllocate) != attempts {
		t.Error("second take was refused after another attempt")
	}
	var f *File
	var err error
	for f == nil { // the pause passes
		if f, _, err = p.Take(0); err != nil && !errors.Is(err, errInjected) {
			t.Fatal(err)
		}
	}
	f.Shutdown()
	close(steps)
	running.Wait()
}

func TestStopEndsTheWaitAndRemovesThePreparedFile(t *testing.T) {
	o, _ := newOptions()
	dir := t.TempDir()
	waiting := make(chan struct{}, 1)
	p := NewPrealloc(dir, o, false, func() { waiting <- struct{}{} })
	result := make(chan error)
	go func() {
		_, _, err := p.Take(0)
		result <- err
	}()
	<-waiting
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := <-result; !errors.Is(err, ErrPreallocStopped) {
		t.Errorf("take: got %v, want ErrPreallocStopped", err)
	}

	p = NewPrealloc(dir, o, false, func() {})
	p.Request(0)
	if _, err := p.Step(start); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if left := entries(t, dir); len(left) != 0 {
		t.Errorf("Stop left %v", left)
	}
	if n, err := p.Step(start); n != 0 || err != nil || len(entries(t, dir)) != 0 {
		t.Errorf("step after Stop: %d, %v, %v", n, err, entries(t, dir))
	}
}

// Stop may come while a file is being made: it is removed again.
func TestFileMadeDuringStopIsRemoved(t *testing.T) {
	o, heap := newOptions()
	dir := t.TempDir()
	var p *Prealloc
	o.Disk = stopping{heap, func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	}}
	p = NewPrealloc(dir, o, false, func() {})
	p.Request(0)
	if _, err := p.Step(start); err != nil {
		t.Fatal(err)
	}
	if left := entries(t, dir); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

// stopping calls stop before the first file is synced.
type stopping struct {
	*mmaptest.Heap
	stop func()
}

func (d stopping) SyncFile(f *os.File) error {
	d.stop()
	return d.Heap.SyncFile(f)
}

// B-58 in small: a file that was rolled is unlocked, by the next step.
func TestRolledFilesAreUnlocked(t *testing.T) {
	for _, inline := range []bool{false, true} {
		o, heap := newOptions()
		o.MemoryLock = LockFile
		p := NewPrealloc(t.TempDir(), o, inline, func() {})
		f := newFileAt(t, o, 0)
		p.Rolled(f)
		if !inline {
			if n, err := p.Step(start); n != 1 || err != nil {
				t.Errorf("step: %d, %v", n, err)
			}
		}
		if got := ops(heap, mmaptest.OpLock, mmaptest.OpUnlock); !slices.Equal(got, []mmaptest.Op{mmaptest.OpLock, mmaptest.OpUnlock}) {
			t.Errorf("inline %v: %v", inline, got)
		}
	}
}

func TestInlineTakeMakesTheFile(t *testing.T) {
	o, heap := newOptions()
	dir := t.TempDir()
	p := NewPrealloc(dir, o, true, func() { t.Error("woken, with nobody to wake") })
	p.Request(0)
	if len(entries(t, dir)) != 0 {
		t.Error("a file was made ahead")
	}
	heap.Fail(mmaptest.OpMap, errInjected, 1)
	if _, _, err := p.Take(0); !errors.Is(err, errInjected) || len(entries(t, dir)) != 0 {
		t.Errorf("got %v, left %v", err, entries(t, dir))
	}
	f, _, err := p.Take(0)
	if err != nil {
		t.Fatal(err)
	}
	f.Shutdown()
}
