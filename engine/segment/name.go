package segment

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
)

// FileName is the name of the file whose first byte has the given log offset:
// 20 decimal digits.
func FileName(base int64) string {
	digits := strconv.FormatInt(base, 10)
	return zeros[min(len(digits), fileNameDigits):] + digits
}

const (
	fileNameDigits = 20
	zeros          = "00000000000000000000"
)

// parseFileName is the inverse of FileName.
func parseFileName(name string) (base int64, ok bool) {
	if len(name) != fileNameDigits || name[0] < '0' { // no sign
		return 0, false
	}
	base, err := strconv.ParseInt(name, 10, 64)
	return base, err == nil
}

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
	if err := f.use(); err != nil {
		return err
	}
	if err := errors.Join(f.disk.SyncFile(f.f), f.disk.SyncDir(filepath.Dir(f.path))); err != nil {
		return err
	}
	f.unnamed.Store(false)
	return nil
}
