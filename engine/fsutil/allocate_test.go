package fsutil

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func newFile(t *testing.T, content []byte) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(content); err != nil {
		t.Fatal(err)
	}
	return f
}

// allocated is the space that the file's blocks take, in bytes.
func allocated(t *testing.T, f *os.File) int64 {
	t.Helper()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Blocks * 512
}

func content(t *testing.T, f *os.File) []byte {
	t.Helper()
	b, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFallocateMakesRealBlocksAndKeepsBytes(t *testing.T) {
	const size = 300_000
	f := newFile(t, []byte("kept"))
	err := Fallocate(f, size)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("file system has no fallocate: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, size)
	copy(want, "kept")
	if got := content(t, f); !bytes.Equal(got, want) {
		t.Errorf("file has %d bytes and begins %q", len(got), got[:4])
	}
	if got := allocated(t, f); got < size {
		t.Errorf("%d bytes allocated, want at least %d", got, size)
	}
}

func TestFallocateNeverShortens(t *testing.T) {
	f := newFile(t, make([]byte, 10_000))
	err := Fallocate(f, 10)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("file system has no fallocate: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := len(content(t, f)); got != 10_000 {
		t.Errorf("file has %d bytes, want 10000", got)
	}
}

func TestZeroFillMakesRealBlocksOverOldBytes(t *testing.T) {
	const size = 2*zeroBlock + 12_345
	for _, chunk := range []int64{0, 1, zeroBlock + 1, 10 * size} {
		f := newFile(t, bytes.Repeat([]byte{1}, 5000))
		if err := ZeroFill(f, size, chunk); err != nil {
			t.Fatal(err)
		}
		if got := content(t, f); !bytes.Equal(got, make([]byte, size)) {
			t.Errorf("chunk %d: file of %d bytes, want %d zeros", chunk, len(got), size)
		}
		if got := allocated(t, f); got < size {
			t.Errorf("chunk %d: %d bytes allocated, want at least %d", chunk, got, size)
		}
	}
}

func TestPunchHoleFreesBlocksAndKeepsTheRest(t *testing.T) {
	const size = 1 << 20
	f := newFile(t, bytes.Repeat([]byte{1}, size))
	if err := f.Sync(); err != nil { // blocks may not exist before
		t.Fatal(err)
	}
	before := allocated(t, f)
	err := PunchHole(f, 4000, size/2)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("file system has no holes: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte{1}, size)
	clear(want[4000 : 4000+size/2])
	if !bytes.Equal(content(t, f), want) {
		t.Error("not exactly the range reads as zeros")
	}
	if freed := before - allocated(t, f); freed < size/4 {
		t.Errorf("%d bytes freed of %d", freed, size/2)
	}
}

func TestBadSizesAreErrors(t *testing.T) {
	f := newFile(t, []byte("kept"))
	for name, err := range map[string]error{
		"allocate 0":      Fallocate(f, 0),
		"allocate -1":     Fallocate(f, -1),
		"zero-fill 0":     ZeroFill(f, 0, 1),
		"chunk -1":        ZeroFill(f, 1, -1),
		"hole of nothing": PunchHole(f, 0, 0),
		"hole at -1":      PunchHole(f, -1, 1),
	} {
		if err == nil || errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: got %v, want an error that is not ErrUnsupported", name, err)
		}
	}
	if got := content(t, f); string(got) != "kept" {
		t.Errorf("file became %q", got)
	}
}

func TestAllocationOfAClosedFileIsAnError(t *testing.T) {
	f := newFile(t, nil)
	f.Close()
	if err := Fallocate(f, 10); err == nil || errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}
