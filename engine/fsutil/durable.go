package fsutil

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// SyncDir makes the names in dir durable: those created, renamed or removed before.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("fsutil: sync directory: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("fsutil: sync directory %s: %w", dir, err)
	}
	return nil
}

// Remove removes the file and makes that durable: after a power cut it is not back.
// A missing file is an error that wraps fs.ErrNotExist.
func Remove(path string) error {
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("fsutil: %w", err)
	}
	return SyncDir(filepath.Dir(path))
}

// ReplaceFile makes data the content of the file at path, durably and at once: at
// any moment, also after a power cut, the name stands for the whole old or the whole
// new content. It is first written as path+".tmp" in the same directory, so calls for
// the same path must not overlap; a crash may leave that file behind and the next call
// overwrites it.
func ReplaceFile(path string, data []byte) error {
	temporary := path + ".tmp"
	if err := writeSynced(temporary, data); err != nil {
		return errors.Join(fmt.Errorf("fsutil: replace %s: %w", path, err), discard(temporary))
	}
	if err := os.Rename(temporary, path); err != nil {
		return errors.Join(fmt.Errorf("fsutil: replace %s: %w", path, err), discard(temporary))
	}
	return SyncDir(filepath.Dir(path))
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// discard removes what a failed ReplaceFile left, if anything.
func discard(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
