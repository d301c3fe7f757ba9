package torture

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"commitlab/engine/mmap"
	"commitlab/engine/mmap/mmaptest"
)

// Goal: what a killed process left in the page cache counts as lost when the power
// goes off in the next life, unless one of the two has synced it. Method: a process
// that records is played, then a power cut of a heap that has loaded its image.
func TestAnImageHasWhatWasSyncedAndNoMore(t *testing.T) {
	root := t.TempDir()
	i := image{Store: filepath.Join(root, "store"), Base: filepath.Join(root, "base"), Changes: filepath.Join(root, "synced")}
	const size = 4 * mmaptest.SectorBytes
	old, fresh, unnamed := "commitlog/old", "commitlog/fresh", "index/unnamed"
	for _, name := range []string{"commitlog", "index"} {
		if err := os.MkdirAll(filepath.Join(i.Store, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name string, content []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(i.Store, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(old, bytes.Repeat([]byte{'o'}, size))
	write("checkpoint", []byte("in the root"))
	if err := copyTree(i.Store, i.Base); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(i.Changes, 0o755); err != nil {
		t.Fatal(err)
	}

	r := &recorder{image: i}
	play := func(name string, act func(f *os.File, region mmap.Region) error) {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(i.Store, name), os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
		region, err := r.Map(f, size, mmap.ReadWrite)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(act(f, region), region.Unmap()); err != nil {
			t.Fatal(err)
		}
	}
	play(old, func(_ *os.File, region mmap.Region) error {
		copy(region.Bytes()[100:], "synced")
		copy(region.Bytes()[1000:], "cached")
		return region.SyncData(100, 6)
	})
	play(fresh, func(f *os.File, region mmap.Region) error {
		err := errors.Join(r.SyncFile(f), r.SyncDir(filepath.Dir(f.Name())))
		copy(region.Bytes()[1000:], "cached")
		return err
	})
	play(unnamed, func(f *os.File, region mmap.Region) error {
		copy(region.Bytes(), "synced")
		return region.Sync(0, 6)
	})

	cut := func(h *mmaptest.Heap, name string) []byte {
		t.Helper()
		clone := filepath.Join(t.TempDir(), "clone")
		if err := h.CrashClone(i.Store, clone, nil); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(filepath.Join(clone, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return content
	}
	h := mmaptest.NewHeap()
	h.LoseNames = true
	if err := i.load(h); err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte{'o'}, size)
	copy(want[100:], "synced")
	if got := cut(h, old); !bytes.Equal(got, want) {
		t.Errorf("%s is %q", old, got)
	}
	if got := cut(h, fresh); !bytes.Equal(got, make([]byte, size)) {
		t.Errorf("%s is %q", fresh, got)
	}
	if got := cut(h, unnamed); got != nil {
		t.Errorf("%s is there, though its directory was not synced: %q", unnamed, got)
	}
	if got := cut(h, "checkpoint"); string(got) != "in the root" {
		t.Errorf("checkpoint is %q", got)
	}

	// The next process finds it all, and syncs it.
	f, err := os.OpenFile(filepath.Join(i.Store, old), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	region, err := h.Map(f, size, mmap.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	copy(want[1000:], "cached")
	if !bytes.Equal(region.Bytes(), want) {
		t.Errorf("the page cache has %q", region.Bytes())
	}
	if err := errors.Join(region.Sync(0, size), h.SyncDir(filepath.Join(i.Store, "index"))); err != nil {
		t.Fatal(err)
	}
	if got := cut(h, old); !bytes.Equal(got, want) {
		t.Errorf("%s is %q after it was synced", old, got)
	}
	if got := cut(h, unnamed); !bytes.HasPrefix(got, []byte("synced\x00")) {
		t.Errorf("%s is %q after its directory was synced", unnamed, got)
	}
}

// Goal: when all of the store is durable the image says so without a copy.
func TestAnImageWithoutChangesIsTheStore(t *testing.T) {
	root := t.TempDir()
	i := image{Store: filepath.Join(root, "store"), Base: filepath.Join(root, "base"), Changes: filepath.Join(root, "synced")}
	path := filepath.Join(i.Store, "commitlog", "file")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("durable"), 0o644); err != nil {
		t.Fatal(err)
	}
	h := mmaptest.NewHeap()
	h.LoseNames = true
	clone := filepath.Join(root, "clone")
	if err := errors.Join(i.load(h), h.CrashClone(i.Store, clone, nil)); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(clone, "commitlog", "file")); err != nil || string(got) != "durable" {
		t.Errorf("got %q, %v", got, err)
	}
}
