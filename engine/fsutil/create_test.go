package fsutil

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A file that is being made is not in its directory until it is published.
func TestNewFileAppearsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "00000000000000000000")
	f, err := CreateNew(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Named() {
		t.Skip("this file system has no unnamed files")
	}
	if f.Name() != path {
		t.Errorf("name is %s, want %s", f.Name(), path)
	}
	if _, err := f.WriteString("all of it"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before Publish: %v, want no such file", err)
	}
	if err := f.Publish(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "all of it" {
		t.Errorf("published file holds %q, %v", b, err)
	}
}

func TestNewFileReplacesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := CreateNew(path)
	if err == nil {
		defer f.Close()
		err = f.Publish()
	}
	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want an error that the file exists", err)
	}
	if b, _ := os.ReadFile(path); string(b) != "old" {
		t.Errorf("the old file holds %q", b)
	}
}

func TestNewFileNeedsItsDirectory(t *testing.T) {
	if _, err := CreateNew(filepath.Join(t.TempDir(), "none", "file")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want no such directory", err)
	}
}
