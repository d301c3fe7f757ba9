package fsutil

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestPeekReadsAsReadAt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("0123456789"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		off  int64
		room int
		want string
		err  error
	}{
		{0, 4, "0123", nil}, {6, 4, "6789", nil}, {3, 0, "", nil}, {8, 4, "89", io.EOF}, {10, 1, "", io.EOF}, {99, 1, "", io.EOF},
	} {
		b := make([]byte, c.room)
		if n, err := Peek(path, b, c.off); string(b[:n]) != c.want || err != c.err {
			t.Errorf("%d bytes at %d: %q, %v; want %q, %v", c.room, c.off, b[:n], err, c.want, c.err)
		}
	}
	for name, want := range map[string]error{path + ".no": fs.ErrNotExist, filepath.Dir(path): nil} {
		_, err := Peek(name, make([]byte, 1), 0)
		var at *fs.PathError
		if !errors.As(err, &at) || at.Path != name || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
