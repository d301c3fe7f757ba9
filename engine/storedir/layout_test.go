package storedir

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMakeCreatesTheDirectoryWithItsParents(t *testing.T) {
	root := t.TempDir()
	for _, path := range []string{"a/b/c", "a/b/c", "a/b", "a/d/"} { // new, there already, a parent, beside
		l := Layout(filepath.Join(root, path))
		if err := l.Make(); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(string(l)); err != nil || !info.IsDir() {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Layout(filepath.Join(file, "store")).Make(); err == nil {
		t.Error("made a directory below a file")
	}
}
