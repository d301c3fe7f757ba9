package fsutil

import (
	"os"
	"path/filepath"
	"testing"
)

func TestNextDataFindsWhatWasWritten(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const size, at = 1 << 20, 300_000
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	if next, err := NextData(f, size, size); next != size || err != nil {
		t.Errorf("at the end: got %d, %v", next, err)
	}
	if _, err := f.WriteAt([]byte{1}, at); err != nil {
		t.Fatal(err)
	}
	next, err := NextData(f, 5, size)
	if err != nil || next < 5 || next > at {
		t.Errorf("got %d, %v; want at most %d, where a byte was written", next, err, at)
	}
	if next, err := NextData(f, at, size); next != at || err != nil {
		t.Errorf("at the byte: got %d, %v", next, err)
	}
	if next, err := NextData(f, at+1<<18, size); err != nil || next < at+1<<18 || next > size {
		t.Errorf("behind the byte: got %d, %v", next, err)
	}
	hole, err := NextHole(f, at, size)
	if err != nil || hole <= at || hole > size {
		t.Errorf("the byte ends at %d, %v", hole, err)
	}
	if next, err := NextData(f, hole, size); next != size || err != nil {
		t.Errorf("behind the hole at %d: got %d, %v", hole, next, err)
	}
	if hole, err := NextHole(f, size, size); hole != size || err != nil {
		t.Errorf("at the end: got a hole at %d, %v", hole, err)
	}
}
