package mmap

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// newFile makes a file of size zero bytes in a directory of the test's own.
func newFile(t testing.TB, size int64) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	return f
}

func newRegion(t testing.TB, size int64) (Region, *os.File) {
	t.Helper()
	f := newFile(t, size)
	r, err := OS.Map(f, size, ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Unmap(); err != nil && !errors.Is(err, ErrUnmapped) {
			t.Error(err)
		}
	})
	return r, f
}

func newAnonymous(t testing.TB, size int64) Region {
	t.Helper()
	r, err := Anonymous(size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Unmap(); err != nil && !errors.Is(err, ErrUnmapped) {
			t.Error(err)
		}
	})
	return r
}

func TestSyncCleansTheTouchedPagesAndSyncDataTheFile(t *testing.T) {
	r, _ := newRegion(t, 8*pageSize)
	for page := range int64(8) {
		r.Bytes()[page*pageSize] = 1
	}
	before, err := r.CacheStat(0, 8*pageSize)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("kernel or file system has no cachestat: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if before.DirtyPages != 8 {
		t.Skipf("file system does not count dirty pages: %+v", before)
	}
	if err := r.Sync(pageSize+100, 1); err != nil {
		t.Fatal(err)
	}
	// A large folio is cleaned as a whole, so only the asked page is certain.
	after, err := r.CacheStat(pageSize, 1)
	if err != nil {
		t.Fatal(err)
	}
	if after.DirtyPages != 0 || after.WritebackPages != 0 {
		t.Errorf("page is not clean after Sync: %+v", after)
	}
	if err := r.SyncData(0, 1); err != nil {
		t.Fatal(err)
	}
	after, err = r.CacheStat(0, 8*pageSize)
	if err != nil {
		t.Fatal(err)
	}
	if after.DirtyPages != 0 {
		t.Errorf("SyncData left %d dirty pages in the file", after.DirtyPages)
	}
}

func TestReplaceWithZerosKeepsReadersSafeAndTheFileUntouched(t *testing.T) {
	r, f := newRegion(t, 3*pageSize+10)
	view := r.Bytes()
	for i := range view {
		view[i] = 7
	}
	stop, read := make(chan struct{}), make(chan int)
	go func() {
		sum := 0
		for {
			select {
			case <-stop:
				read <- sum
				return
			default:
				sum += int(view[len(view)-1])
			}
		}
	}()
	if err := r.ReplaceWithZeros(); err != nil {
		t.Fatal(err)
	}
	close(stop)
	<-read
	if !bytes.Equal(view, make([]byte, len(view))) {
		t.Error("bytes of the file are still in the mapping")
	}
	content, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(content, bytes.Repeat([]byte{7}, len(view))) {
		t.Error("the file changed")
	}
	// A sync of pages that belong to no file would succeed and mean nothing.
	for name, err := range map[string]error{
		"Sync": r.Sync(0, 1), "SyncData": r.SyncData(0, 1), "Populate": r.Populate(0, 1, PopulateRead), "Replace": r.ReplaceWithZeros(),
	} {
		if !errors.Is(err, ErrReplaced) {
			t.Errorf("%s after replacement: got %v, want ErrReplaced", name, err)
		}
	}
	if err := r.Unmap(); err != nil {
		t.Error(err)
	}
}

func TestReplaceWithZerosLetsTheBlocksGo(t *testing.T) {
	r, f := newRegion(t, 16*pageSize)
	for i := range r.Bytes() {
		r.Bytes()[i] = 1
	}
	if maps := mappingsOf(t, f.Name()); maps != 1 {
		t.Fatalf("file is mapped %d times, want once", maps)
	}
	if err := r.ReplaceWithZeros(); err != nil {
		t.Fatal(err)
	}
	if maps := mappingsOf(t, f.Name()); maps != 0 {
		t.Errorf("file is still mapped %d times", maps)
	}
}

func TestUnmapGivesTheMappingBack(t *testing.T) {
	r, f := newRegion(t, pageSize)
	if err := r.Unmap(); err != nil {
		t.Fatal(err)
	}
	if maps := mappingsOf(t, f.Name()); maps != 0 {
		t.Errorf("file is still mapped %d times", maps)
	}
}

// mappingsOf counts the mappings of a file in this process.
func mappingsOf(t *testing.T, path string) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skipf("no list of mappings: %v", err)
	}
	return strings.Count(string(maps), path)
}

func TestMappingOutlivesTheDescriptor(t *testing.T) {
	r, f := newRegion(t, pageSize)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	copy(r.Bytes(), "still here")
	if err := r.Sync(0, pageSize); err != nil {
		t.Errorf("msync needs no descriptor, got %v", err)
	}
	if err := r.SyncData(0, 1); !errors.Is(err, os.ErrClosed) {
		t.Errorf("fdatasync without descriptor: got %v, want os.ErrClosed", err)
	}
}

func TestReadAtOfATruncatedFileIsEOF(t *testing.T) {
	r, f := newRegion(t, 4*pageSize)
	if err := f.Truncate(pageSize); err != nil {
		t.Fatal(err)
	}
	n, err := r.ReadAt(make([]byte, 10), 2*pageSize)
	if n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("got %d bytes and %v, want io.EOF", n, err)
	}
}

func TestAnonymousHasNoFile(t *testing.T) {
	r := newAnonymous(t, 2*pageSize)
	copy(r.Bytes()[100:], "bytes")
	_, writeErr := r.WriteAt([]byte("x"), 0)
	_, readErr := r.ReadAt(make([]byte, 1), 0)
	_, statErr := r.CacheStat(0, 1)
	for name, err := range map[string]error{
		"Sync": r.Sync(0, 1), "SyncData": r.SyncData(0, 1), "WriteAt": writeErr, "ReadAt": readErr, "CacheStat": statErr,
	} {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: got %v, want ErrUnsupported", name, err)
		}
	}
	if err := r.ReplaceWithZeros(); err != nil {
		t.Fatal(err)
	}
	if r.Bytes()[100] != 0 {
		t.Error("replaced memory is not zero")
	}
}

// B-95: many mapped files hit the limit of mappings, and the start failed with nothing
// but 'out of memory'. Here the address space is what ends; the errno is the same.
func TestB95_OutOfMappingsNamesTheLimits(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("needs a length beyond the address space, which an int of 32 bits cannot have")
	}
	_, err := Anonymous(math.MaxInt64 / 2)
	if !errors.Is(err, unix.ENOMEM) || !strings.Contains(err.Error(), "vm.max_map_count") {
		t.Errorf("got %v, want ENOMEM and a hint at vm.max_map_count", err)
	}
}
