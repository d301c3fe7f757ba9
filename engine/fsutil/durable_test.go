package fsutil

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestReplaceFileLeavesOnlyTheNewContent(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	leftOver := path + ".tmp" // of a crash, longer than what follows
	if err := os.WriteFile(leftOver, []byte("the rest of an older attempt"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"first", "second, longer", ""} {
		if err := ReplaceFile(path, []byte(want)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if names := names(t, dir); len(names) != 1 {
			t.Errorf("directory has %q, want only the file", names)
		}
	}
}

// A reader of the old file keeps the old content: the replacement is a new file, not
// one written in place.
func TestReplaceFileDoesNotWriteInPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := ReplaceFile(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	old, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := ReplaceFile(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 3)
	if _, err := old.ReadAt(got, 0); err != nil || string(got) != "old" {
		t.Errorf("open file shows %q, %v", got, err)
	}
}

func TestFailedReplaceFileLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "occupied")
	if err := os.MkdirAll(filepath.Join(path, "child"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := ReplaceFile(path, []byte("x")); err == nil {
		t.Error("a directory was replaced by a file")
	}
	if names := names(t, dir); len(names) != 1 || names[0] != "occupied" {
		t.Errorf("directory has %q, want only what was there", names)
	}
	if err := ReplaceFile(filepath.Join(dir, "missing", "file"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing directory: got %v, want fs.ErrNotExist", err)
	}
}

func TestRemove(t *testing.T) {
	f := newFile(t, []byte("x"))
	if err := Remove(f.Name()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.Name()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("file is still there: %v", err)
	}
	if err := Remove(f.Name()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("second time: got %v, want fs.ErrNotExist", err)
	}
}

func TestSyncDirOfAMissingDirectoryIsAnError(t *testing.T) {
	dir := t.TempDir()
	if err := SyncDir(dir); err != nil {
		t.Error(err)
	}
	if err := SyncDir(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
}
