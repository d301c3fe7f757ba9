package fsutil

import (
	"errors"
	"fmt"
	"os"
)

// A NewFile is a file that gets its name when it is ready, so that nobody finds it
// half made: a process that dies before Publish leaves nothing behind.
//
// Where the file system has no unnamed files, or /proc is not there, it has its
// name from the start.
type NewFile struct {
	*os.File // Name is the path it will have
	named    bool
}

// CreateNew makes an empty file to be published at path, where nothing may exist.
func CreateNew(path string) (*NewFile, error) {
	f, err := createUnnamed(path)
	if err == nil {
		return &NewFile{File: f}, nil
	}
	if !errors.Is(err, errors.ErrUnsupported) {
		return nil, &os.PathError{Op: "create", Path: path, Err: err}
	}
	f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	return &NewFile{File: f, named: true}, nil
}

// Named reports whether the file has its name, which then outlives a Close.
func (f *NewFile) Named() bool { return f.named }

// Publish gives the file its name. The name is durable after SyncDir. It fails if
// the path exists.
func (f *NewFile) Publish() error {
	if f.named {
		return nil
	}
	if err := publish(f.File); err != nil {
		return fmt.Errorf("publish %s: %w", f.Name(), err)
	}
	f.named = true
	return nil
}
