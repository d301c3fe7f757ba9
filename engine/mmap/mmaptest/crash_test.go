package mmaptest_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"commitlab/engine/mmap"
	"commitlab/engine/mmap/mmaptest"
)

// crash clones dir to a new place and returns that.
func crash(t *testing.T, h *mmaptest.Heap, dir string, rng *rand.Rand) string {
	t.Helper()
	clone := filepath.Join(t.TempDir(), "clone")
	if err := h.CrashClone(dir, clone, rng); err != nil {
		t.Fatal(err)
	}
	return clone
}

func content(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

func TestCrashKeepsOnlyWhatWasSynced(t *testing.T) {
	h := mmaptest.NewHeap()
	r, f := newRegion(t, h)
	dir := filepath.Dir(f.Name())
	copy(r.Bytes(), "synced, then lost")
	if err := r.Sync(0, 6); err != nil {
		t.Fatal(err)
	}
	if _, err := r.WriteAt([]byte("written"), 5000); err != nil {
		t.Fatal(err)
	}
	if _, err := r.WriteAt([]byte("written"), 6000); err != nil {
		t.Fatal(err)
	}
	if err := r.SyncData(6000, 7); err != nil {
		t.Fatal(err)
	}
	want := make([]byte, fileBytes)
	copy(want, "synced")
	copy(want[6000:], "written")
	if got := content(t, filepath.Join(crash(t, h, dir, nil), "file")); !bytes.Equal(got, want) {
		t.Errorf("while mapped: %q, %q, %q", got[:17], got[5000:5007], got[6000:6007])
	}
	if err := r.Unmap(); err != nil {
		t.Fatal(err)
	}
	if got := content(t, filepath.Join(crash(t, h, dir, nil), "file")); !bytes.Equal(got, want) {
		t.Errorf("after unmap: %q, %q, %q", got[:17], got[5000:5007], got[6000:6007])
	}
}

func TestFailedSyncMakesNothingDurable(t *testing.T) {
	h := mmaptest.NewHeap()
	r, f := newRegion(t, h)
	copy(r.Bytes(), "lost")
	h.FailSync(syscall.EIO, 1)
	if err := r.SyncData(0, 4); err == nil {
		t.Fatal("no injected error")
	}
	got := content(t, filepath.Join(crash(t, h, filepath.Dir(f.Name()), nil), "file"))
	if !bytes.Equal(got, make([]byte, fileBytes)) {
		t.Errorf("the clone begins %q", got[:4])
	}
}

// A model of one file: what is stored, what is durable. A tidy power cut leaves the
// durable bytes exactly; an untidy one leaves each sector in one of the two states, and
// over many cuts both.
func TestCrashLeavesEachSectorOldOrNew(t *testing.T) {
	var old, new int
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		h := mmaptest.NewHeap()
		f := newFile(t, filepath.Join(dir, "file"), fileBytes)
		r := mapFile(t, h, f, fileBytes)
		live, durable := make([]byte, fileBytes), make([]byte, fileBytes)
		span := func() (off, end int64) {
			off = rapid.Int64Range(0, fileBytes-1).Draw(rt, "off")
			return off, rapid.Int64Range(off, min(off+3000, fileBytes)).Draw(rt, "end")
		}
		bytesOf := func(n int64) []byte {
			return bytes.Repeat([]byte{rapid.Byte().Draw(rt, "byte")}, int(n))
		}
		rt.Repeat(map[string]func(*rapid.T){
			"store": func(*rapid.T) {
				off, end := span()
				copy(live[off:], bytesOf(end-off))
				copy(r.Bytes()[off:end], live[off:end])
			},
			"write": func(rt *rapid.T) {
				off, end := span()
				copy(live[off:], bytesOf(end-off))
				if _, err := r.WriteAt(live[off:end], off); err != nil {
					rt.Fatal(err)
				}
			},
			"sync": func(rt *rapid.T) {
				off, end := span()
				if err := r.Sync(off, end-off); err != nil {
					rt.Fatal(err)
				}
				copy(durable[off:end], live[off:end])
			},
			"remap": func(rt *rapid.T) {
				if err := r.Unmap(); err != nil {
					rt.Fatal(err)
				}
				r = mapFile(t, h, f, fileBytes)
			},
		})
		if got := content(t, filepath.Join(crash(t, h, dir, nil), "file")); !bytes.Equal(got, durable) {
			rt.Fatal("the tidy clone is not the durable image")
		}
		seed := rapid.Uint64().Draw(rt, "seed")
		got := content(t, filepath.Join(crash(t, h, dir, rand.New(rand.NewPCG(seed, 0))), "file"))
		for start := 0; start < fileBytes; start += mmaptest.SectorBytes {
			end := min(start+mmaptest.SectorBytes, fileBytes)
			isOld, isNew := bytes.Equal(got[start:end], durable[start:end]), bytes.Equal(got[start:end], live[start:end])
			switch {
			case !isOld && !isNew:
				rt.Fatalf("sector at %d is neither old nor new", start)
			case isOld && !isNew:
				old++
			case isNew && !isOld:
				new++
			}
		}
		again := content(t, filepath.Join(crash(t, h, dir, rand.New(rand.NewPCG(seed, 0))), "file"))
		if !bytes.Equal(got, again) {
			rt.Fatal("the same seed gave another clone")
		}
	})
	if old == 0 || new == 0 {
		t.Errorf("%d sectors kept their old state and %d got the new one: want both", old, new)
	}
}

func TestCrashLeavesOtherFilesAlone(t *testing.T) {
	h := mmaptest.NewHeap()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "b", "plain"), []byte("as it is"), 0o644); err != nil {
		t.Fatal(err)
	}
	clone := crash(t, h, dir, nil)
	if got := content(t, filepath.Join(clone, "a", "b", "plain")); string(got) != "as it is" {
		t.Errorf("got %q", got)
	}
}

func TestLengthIsLostUntilTheFileIsSynced(t *testing.T) {
	for name, sync := range map[string]func(h *mmaptest.Heap, f *os.File, r mmap.Region) error{
		"file":     func(h *mmaptest.Heap, f *os.File, _ mmap.Region) error { return h.SyncFile(f) },
		"msync":    func(_ *mmaptest.Heap, _ *os.File, r mmap.Region) error { return r.Sync(0, 1) },
		"syncdata": func(_ *mmaptest.Heap, _ *os.File, r mmap.Region) error { return r.SyncData(0, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			h := mmaptest.NewHeap()
			dir := t.TempDir()
			f := newFile(t, filepath.Join(dir, "file"), 0)
			if err := h.Fallocate(f, 4096); err != nil {
				t.Fatal(err)
			}
			r := mapFile(t, h, f, 4096)
			if got := content(t, filepath.Join(crash(t, h, dir, nil), "file")); len(got) != 0 {
				t.Errorf("before: %d bytes, want none", len(got))
			}
			if err := sync(h, f, r); err != nil {
				t.Fatal(err)
			}
			if got := content(t, filepath.Join(crash(t, h, dir, nil), "file")); len(got) != 4096 {
				t.Errorf("after: %d bytes, want 4096", len(got))
			}
		})
	}
}

// B-82: a new, removed or renamed file is back in its old state after power loss
// because the directory was not synced.
func TestB82_NameChangesAreLostUntilTheDirectoryIsSynced(t *testing.T) {
	h := mmaptest.NewHeap()
	h.LoseNames = true
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"removed", "renamed"} {
		r := mapFile(t, h, newFile(t, in(name), 100), 100)
		copy(r.Bytes(), name)
		if err := r.Sync(0, 100); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.SyncDir(dir); err != nil {
		t.Fatal(err)
	}
	mapFile(t, h, newFile(t, in("new"), 100), 100)
	if err := h.Remove(in("removed")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(in("renamed"), in("target")); err != nil {
		t.Fatal(err)
	}

	clone := crash(t, h, dir, nil)
	for name, want := range map[string]bool{"new": false, "removed": true, "renamed": true, "target": false} {
		if got := exists(t, filepath.Join(clone, name)); got != want {
			t.Errorf("before SyncDir: %s exists = %v, want %v", name, got, want)
		}
	}
	if got := content(t, filepath.Join(clone, "removed")); string(got[:7]) != "removed" {
		t.Errorf("removed file came back as %q", got[:7])
	}
	for seed := range uint64(20) { // a rename is never lost half
		clone := crash(t, h, dir, rand.New(rand.NewPCG(seed, 0)))
		if exists(t, filepath.Join(clone, "renamed")) == exists(t, filepath.Join(clone, "target")) {
			t.Errorf("seed %d: the renamed file has both names or none", seed)
		}
	}

	if err := h.SyncDir(dir); err != nil {
		t.Fatal(err)
	}
	clone = crash(t, h, dir, nil)
	for name, want := range map[string]bool{"new": true, "removed": false, "renamed": false, "target": true} {
		if got := exists(t, filepath.Join(clone, name)); got != want {
			t.Errorf("after SyncDir: %s exists = %v, want %v", name, got, want)
		}
	}
}

// The number of an unlinked file's inode may be given to the next file, which must not
// inherit its durable bytes.
func TestANewFileInheritsNothingFromARemovedOne(t *testing.T) {
	h := mmaptest.NewHeap()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for round := range 10 {
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(100); err != nil {
			t.Fatal(err)
		}
		r := mapFile(t, h, f, 100)
		if got := content(t, filepath.Join(crash(t, h, dir, nil), "file")); !bytes.Equal(got, make([]byte, 100)) {
			t.Fatalf("round %d: the clone of a new file begins % x", round, got[:4])
		}
		r.Bytes()[0] = byte(round + 1)
		if err := r.Sync(0, 100); err != nil {
			t.Fatal(err)
		}
		if err := r.Unmap(); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Close(), os.Remove(path)); err != nil {
			t.Fatal(err)
		}
	}
}
