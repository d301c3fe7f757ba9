package fsutil

import (
	"errors"
	"os"
	"testing"
)

func TestEvictLeavesTheBytesAlone(t *testing.T) {
	f := newFile(t, []byte("here before"))
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := Evict(f, 0, 11); errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("no fadvise: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(f.Name()); string(b) != "here before" || err != nil {
		t.Errorf("read %q, %v after Evict", b, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Evict(f, 0, 11); err == nil {
		t.Errorf("evict of a closed file: no error")
	}
}
