package mmaptest_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"commitlab/engine/mmap"
	"commitlab/engine/mmap/mmaptest"
)

// The appender stores behind the position that it published while the flusher syncs up
// to it, often in the same page. That is no race, here as on the system; a Sync that
// touched a byte more would be reported by the race detector.
func TestSyncTouchesOnlyItsRange(t *testing.T) {
	r, f := newRegion(t, mmaptest.NewHeap())
	var appended atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range int64(fileBytes) {
			r.Bytes()[i] = byte(i)
			appended.Store(i + 1)
		}
	})
	for flushed := int64(0); flushed < fileBytes; {
		end := appended.Load()
		if err := r.Sync(flushed, end-flushed); err != nil {
			t.Fatal(err)
		}
		flushed = end
	}
	wg.Wait()
	got, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, r.Bytes()) {
		t.Error("the file has other bytes than were synced")
	}
}

func TestUseAfterUnmapShows(t *testing.T) {
	r, _ := newRegion(t, mmaptest.NewHeap())
	view := r.Bytes()
	copy(view, "record")
	if err := r.Unmap(); err != nil {
		t.Fatal(err)
	}
	if want := bytes.Repeat([]byte{0xDE}, fileBytes); !bytes.Equal(view, want) {
		t.Errorf("bytes after unmap are still %q", view[:6])
	}
}

func TestReadersOfAReplacedRegionAreSafe(t *testing.T) {
	r, f := newRegion(t, mmaptest.NewHeap())
	view := r.Bytes()
	copy(view, "record")
	if err := r.ReplaceWithZeros(); err != nil {
		t.Fatal(err)
	}
	if err := r.Unmap(); err != nil {
		t.Fatal(err)
	}
	if string(view[:6]) != "record" {
		t.Errorf("reader sees %q", view[:6])
	}
	got, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(got, []byte("record")) {
		t.Error("stores before the replacement are missing in the file")
	}
}

func TestInjectedFailuresLastAsLongAsAsked(t *testing.T) {
	h := mmaptest.NewHeap()
	f := newFile(t, filepath.Join(t.TempDir(), "file"), fileBytes)
	h.FailMap(syscall.ENOMEM, 1)
	if _, err := h.Map(f, fileBytes, mmap.ReadWrite); !errors.Is(err, syscall.ENOMEM) {
		t.Fatalf("got %v, want ENOMEM", err)
	}
	r := mapFile(t, h, f, fileBytes)
	h.FailSync(syscall.EIO, 2)
	for i, call := range []func(off, n int64) error{r.Sync, r.SyncData} {
		if err := call(0, 1); !errors.Is(err, syscall.EIO) {
			t.Errorf("sync %d: got %v, want EIO", i, err)
		}
	}
	if err := r.Sync(0, 1); err != nil {
		t.Errorf("third sync: %v", err)
	}
	h.Fail(mmaptest.OpLock, syscall.EPERM, 1)
	if err := r.Lock(0, 1, true); !errors.Is(err, syscall.EPERM) {
		t.Errorf("lock: got %v, want EPERM", err)
	}
	h.Fail(mmaptest.OpAllocate, errors.ErrUnsupported, 1)
	if err := h.Fallocate(f, fileBytes); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("allocate: got %v, want ErrUnsupported", err)
	}
}

func TestTraceHasTheCallsInOrder(t *testing.T) {
	h := mmaptest.NewHeap()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	f := newFile(t, path, 0)
	h.Record(mmaptest.Event{Op: "create", Path: path})
	h.FailSync(syscall.EIO, 1)
	if err := h.Fallocate(f, 4096); err != nil {
		t.Fatal(err)
	}
	if err := h.SyncFile(f); err != nil {
		t.Fatal(err)
	}
	if err := h.SyncDir(dir); err != nil {
		t.Fatal(err)
	}
	r := mapFile(t, h, f, 4096)
	if err := r.Sync(0, 10); err == nil {
		t.Fatal("no injected error")
	}
	if err := r.SyncData(10, 5); err != nil {
		t.Fatal(err)
	}
	if err := r.Sync(0, 5000); err == nil {
		t.Fatal("bad range was accepted")
	}
	if err := h.Remove(path); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range h.Trace() {
		got = append(got, e.String())
	}
	want := []string{
		"create " + path + " [0,0)",
		"allocate " + path + " [0,4096)",
		"syncfile " + path,
		"syncdir " + dir,
		"map " + path + " [0,4096)",
		"sync " + path + " [0,10)",
		"syncdata " + path + " [10,15)",
		"remove " + path,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
}

func TestPunchHoleShowsInMappings(t *testing.T) {
	h := mmaptest.NewHeap()
	r, f := newRegion(t, h)
	for i := range r.Bytes() {
		r.Bytes()[i] = 1
	}
	if err := h.PunchHole(f, 4096, fileBytes-4096); err != nil {
		t.Fatal(err)
	}
	want := append(bytes.Repeat([]byte{1}, 4096), make([]byte, fileBytes-4096)...)
	if !bytes.Equal(r.Bytes(), want) {
		t.Error("the mapping does not show the hole, or more than it")
	}
}

func TestZeroFillOfAMappedFileIsRefused(t *testing.T) {
	h := mmaptest.NewHeap()
	r, f := newRegion(t, h)
	if err := h.ZeroFill(f, fileBytes); err == nil {
		t.Error("no error")
	}
	if err := r.Unmap(); err != nil {
		t.Fatal(err)
	}
	if err := h.ZeroFill(f, fileBytes); err != nil {
		t.Error(err)
	}
}
