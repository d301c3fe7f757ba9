package mmap_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"commitlab/engine/mmap"
)

// Whatever is behind the addresses, a prefetch neither faults nor changes it.
func TestPrefetchNeverTouches(t *testing.T) {
	const size = 4 * 4096
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	region, err := mmap.OS.Map(f, size, mmap.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer region.Unmap()
	mem := region.Bytes()
	copy(mem, "written before")
	fetch := func(b []byte) { mmap.Prefetch(b); mmap.PrefetchWrite(b) }
	for _, n := range []int{0, 1, 63, 64, 65, size} {
		fetch(mem[size-n:])
		fetch(mem[:n])
	}
	fetch(nil)
	if !bytes.HasPrefix(mem, []byte("written before\x00")) {
		t.Errorf("bytes changed: %q", mem[:16])
	}
	if err := f.Truncate(0); err != nil { // a store would now raise SIGBUS
		t.Fatal(err)
	}
	fetch(mem)
}
