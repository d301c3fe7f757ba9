package fsutil

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Goal: List says what ReadDir and Lstat say, of as many entries as there are.
func TestListAgreesWithReadDir(t *testing.T) {
	dir := t.TempDir()
	for i := range 700 { // more than one call returns
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(strings.Repeat("long ", i%40), i)), make([]byte, i), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"directory", "主题-é", ".hidden"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"to a directory": "directory", "to nothing": "nowhere at all"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("%d entries, want %d", len(got), len(want))
	}
	for i, d := range want {
		info, err := d.Info()
		if err != nil {
			t.Fatal(err)
		}
		e := Entry{Name: d.Name(), Dir: d.IsDir()}
		if !e.Dir {
			e.Size = info.Size()
		}
		if got[i] != e {
			t.Errorf("entry %d: %+v, want %+v", i, got[i], e)
		}
	}
	if got, err := List(filepath.Join(dir, "directory")); len(got) != 0 || err != nil {
		t.Errorf("an empty directory: %v, %v", got, err)
	}
	missing := filepath.Join(dir, "missing")
	if _, err := List(missing); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("a missing directory: %v", err)
	}
	if _, err := List(filepath.Join(dir, "0")); err == nil {
		t.Error("a file was listed")
	}
}
