package segment

import (
	"errors"
	"fmt"
	"path/filepath"
)

// FileName is the name of the file whose first byte has the given log offset:
// 20 decimal digits.
func FileName(base int64) string { return fmt.Sprintf("%020d", base) }

// SyncName makes the blocks, the length and the name of a file durable that was made
// with Options.SyncLater, unless a sync of its bytes has done so. The file behind it in
// a log must not be made before: a crash could leave a gap. A closed file needs no name.
func (f *File) SyncName() error {
	if err := f.syncName(); err != nil && !errors.Is(err, ErrClosed) {
		return fmt.Errorf("sync name of %s: %w", f.path, err)
	}
	return nil
}

func (f *File) syncName() error {
	if !f.unnamed.Load() {
		return nil
	}
	if !f.life.hold() {
		return ErrClosed
	}
	defer f.life.release()
	if err := errors.Join(f.disk.SyncFile(f.f), f.disk.SyncDir(filepath.Dir(f.path))); err != nil {
		return err
	}
	f.unnamed.Store(false)
	return nil
}
