package mmaptest_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"commitlab/engine/mmap"
	"commitlab/engine/mmap/mmaptest"
)

const fileBytes = 3*4096 + 100

// onBoth runs a test of behaviour that the heap must share with the system.
func onBoth(t *testing.T, test func(t *testing.T, m mmap.Mapper)) {
	t.Run("os", func(t *testing.T) { test(t, mmap.OS) })
	t.Run("heap", func(t *testing.T) { test(t, mmaptest.NewHeap()) })
}

// newFile makes a file of zeros with the name path.
func newFile(t *testing.T, path string, size int64) *os.File {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	return f
}

func mapFile(t *testing.T, m mmap.Mapper, f *os.File, size int64) mmap.Region {
	t.Helper()
	r, err := m.Map(f, size, mmap.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Unmap(); err != nil && !errors.Is(err, mmap.ErrUnmapped) {
			t.Error(err)
		}
	})
	return r
}

func newRegion(t *testing.T, m mmap.Mapper) (mmap.Region, *os.File) {
	t.Helper()
	f := newFile(t, filepath.Join(t.TempDir(), "file"), fileBytes)
	return mapFile(t, m, f, fileBytes), f
}

func TestMapNeedsTheWholeFile(t *testing.T) {
	onBoth(t, func(t *testing.T, m mmap.Mapper) {
		f := newFile(t, filepath.Join(t.TempDir(), "file"), 100)
		for _, length := range []int64{-1, 0, 101} {
			if _, err := m.Map(f, length, mmap.ReadWrite); !errors.Is(err, mmap.ErrRange) {
				t.Errorf("length %d of 100: got %v, want ErrRange", length, err)
			}
		}
		if r := mapFile(t, m, f, 100); len(r.Bytes()) != 100 {
			t.Errorf("mapped %d bytes, want 100", len(r.Bytes()))
		}
	})
}

func TestStoresAndWritesShowEachOther(t *testing.T) {
	onBoth(t, func(t *testing.T, m mmap.Mapper) {
		r, f := newRegion(t, m)
		copy(r.Bytes()[4000:], "stored through the mapping")
		got := make([]byte, 26)
		if n, err := r.ReadAt(got, 4000); n != 26 || err != nil || string(got) != "stored through the mapping" {
			t.Errorf("ReadAt: %q, %d, %v", got, n, err)
		}
		if n, err := r.WriteAt([]byte("written"), 8190); n != 7 || err != nil {
			t.Errorf("WriteAt: %d, %v", n, err)
		}
		if got := r.Bytes()[8190:8197]; string(got) != "written" {
			t.Errorf("mapping shows %q", got)
		}
		second := mapFile(t, m, f, fileBytes)
		second.Bytes()[9] = 9
		if r.Bytes()[9] != 9 {
			t.Error("two mappings of one file differ")
		}
	})
}

func TestBytesSurviveUnmap(t *testing.T) {
	onBoth(t, func(t *testing.T, m mmap.Mapper) {
		r, f := newRegion(t, m)
		copy(r.Bytes(), "not synced")
		if err := r.Unmap(); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != fileBytes || !bytes.HasPrefix(got, []byte("not synced")) {
			t.Errorf("file has %d bytes and begins %q", len(got), got[:10])
		}
		if again := mapFile(t, m, f, fileBytes); !bytes.Equal(again.Bytes(), got) {
			t.Error("a new mapping shows other bytes than the file has")
		}
	})
}

// calls are all calls of a Region that take a range.
func calls(r mmap.Region) map[string]func(off, n int64) error {
	return map[string]func(off, n int64) error{
		"Sync":     r.Sync,
		"SyncData": r.SyncData,
		"WriteAt": func(off, n int64) error {
			_, err := r.WriteAt(make([]byte, max(n, 0)), off)
			return err
		},
		"ReadAt": func(off, n int64) error {
			_, err := r.ReadAt(make([]byte, max(n, 0)), off)
			return err
		},
		"Advise":    func(off, n int64) error { return r.Advise(off, n, mmap.Normal) },
		"Populate":  func(off, n int64) error { return r.Populate(off, n, mmap.PopulateWrite) },
		"Lock":      func(off, n int64) error { return r.Lock(off, n, false) },
		"LockFault": func(off, n int64) error { return r.Lock(off, n, true) },
		"Unlock":    r.Unlock,
		"CacheStat": func(off, n int64) error { _, err := r.CacheStat(off, n); return err },
	}
}

func TestRangeOutsideOfTheMappingIsAnError(t *testing.T) {
	const huge = int64(^uint64(0) >> 1)
	onBoth(t, func(t *testing.T, m mmap.Mapper) {
		r, _ := newRegion(t, m)
		for name, call := range calls(r) {
			for _, bad := range [][2]int64{{-1, 1}, {fileBytes, 1}, {0, fileBytes + 1}, {fileBytes + 1, 0}} {
				if err := call(bad[0], bad[1]); !errors.Is(err, mmap.ErrRange) {
					t.Errorf("%s: %d bytes at %d: got %v, want ErrRange", name, bad[1], bad[0], err)
				}
			}
			if name == "WriteAt" || name == "ReadAt" {
				continue // no buffer can be that large
			}
			for _, bad := range [][2]int64{{0, -1}, {1, huge}, {huge, huge}} {
				if err := call(bad[0], bad[1]); !errors.Is(err, mmap.ErrRange) {
					t.Errorf("%s: %d bytes at %d: got %v, want ErrRange", name, bad[1], bad[0], err)
				}
			}
		}
	})
}

// Every range within the mapping is good, aligned or not, and an empty one too.
// Optional calls may not exist here, but may never find the range wrong.
func TestRangeNeedsNoAlignment(t *testing.T) {
	onBoth(t, func(t *testing.T, m mmap.Mapper) {
		r, _ := newRegion(t, m)
		optional := map[string]bool{"Populate": true, "Lock": true, "LockFault": true, "CacheStat": true}
		for name, call := range calls(r) {
			for _, good := range [][2]int64{{0, fileBytes}, {1, 1}, {4095, 2}, {fileBytes - 1, 1}, {fileBytes, 0}, {5, 0}} {
				err := call(good[0], good[1])
				if err != nil && (!optional[name] || errors.Is(err, mmap.ErrRange)) {
					t.Errorf("%s: %d bytes at %d: %v", name, good[1], good[0], err)
				}
			}
		}
	})
}

func TestUnmappedRegionRefusesEveryCall(t *testing.T) {
	onBoth(t, func(t *testing.T, m mmap.Mapper) {
		r, _ := newRegion(t, m)
		if err := r.Unmap(); err != nil {
			t.Fatal(err)
		}
		for name, call := range calls(r) {
			if err := call(0, 1); !errors.Is(err, mmap.ErrUnmapped) {
				t.Errorf("%s: got %v, want ErrUnmapped", name, err)
			}
		}
		if err := r.ReplaceWithZeros(); !errors.Is(err, mmap.ErrUnmapped) {
			t.Errorf("ReplaceWithZeros: got %v, want ErrUnmapped", err)
		}
		if err := r.Unmap(); !errors.Is(err, mmap.ErrUnmapped) {
			t.Errorf("second Unmap: got %v, want ErrUnmapped", err)
		}
		if r.Bytes() != nil {
			t.Error("Bytes of an unmapped region are not nil")
		}
	})
}

func TestReplacedRegionRefusesCallsOnTheFile(t *testing.T) {
	onBoth(t, func(t *testing.T, m mmap.Mapper) {
		r, _ := newRegion(t, m)
		r.Bytes()[0] = 1
		if err := r.ReplaceWithZeros(); err != nil {
			t.Fatal(err)
		}
		for name, call := range calls(r) {
			if err := call(0, 1); !errors.Is(err, mmap.ErrReplaced) {
				t.Errorf("%s: got %v, want ErrReplaced", name, err)
			}
		}
		if !bytes.Equal(r.Bytes(), make([]byte, fileBytes)) {
			t.Error("the mapping does not show zeros")
		}
		if err := r.Unmap(); err != nil {
			t.Errorf("Unmap after replacement: %v", err)
		}
	})
}

// Calls in progress and the end of a mapping may meet; the loser gets an error. For
// the race detector, and for what the system would do to a reused address.
func TestCallsMayRaceWithUnmap(t *testing.T) {
	onBoth(t, func(t *testing.T, m mmap.Mapper) {
		r, _ := newRegion(t, m)
		started, done := make(chan struct{}, 2), make(chan error, 2)
		for _, call := range []func() error{
			func() error { return r.Sync(0, fileBytes) },
			func() error { return r.Advise(0, fileBytes, mmap.WillNeed) },
		} {
			go func() {
				started <- struct{}{}
				for {
					if err := call(); err != nil {
						done <- err
						return
					}
				}
			}()
		}
		<-started
		<-started
		if err := r.Unmap(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := <-done; !errors.Is(err, mmap.ErrUnmapped) {
				t.Errorf("got %v, want ErrUnmapped", err)
			}
		}
	})
}
