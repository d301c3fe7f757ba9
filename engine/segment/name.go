package segment

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
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

// naming is what a file that was made with Options.SyncLater has left to do.
type naming struct {
	pending atomic.Bool // blocks, length and name are not durable yet

	mu   sync.Mutex            // held while they are made so
	lost atomic.Pointer[error] // stored under mu, before pending is cleared
}

// Named reports whether the blocks, the length and the name are durable.
func (f *File) Named() bool { return !f.name.pending.Load() }

// SyncName makes the blocks, the length and the name of a file durable that was made
// with Options.SyncLater, unless a sync of its bytes has done so. The file behind it in
// a log must not be made before: a crash could leave a gap. A file that was taken down
// needs no name. It may run beside a sync of the bytes.
func (f *File) SyncName() error {
	if err := f.syncName(); err != nil && !errors.Is(err, ErrClosed) {
		return fmt.Errorf("sync name of %s: %w", f.path, err)
	}
	return nil
}

func (f *File) syncName() error {
	if !f.name.pending.Load() {
		return nil
	}
	f.name.mu.Lock()
	defer f.name.mu.Unlock()
	if !f.name.pending.Load() {
		return nil
	}
	if !f.life.hold() {
		return ErrClosed
	}
	defer f.life.release()
	if err := f.use(); err != nil {
		return err
	}
	if err := f.disk.SyncFile(f.f); err != nil {
		f.name.lost.CompareAndSwap(nil, &err)
		return err
	}
	if err := f.disk.SyncDir(filepath.Dir(f.path)); err != nil {
		if !f.Available() { // and the directory with it, perhaps
			return ErrClosed
		}
		return err
	}
	f.name.pending.Store(false)
	return nil
}

// endSync is the end of a sync of bytes: it makes the name durable and returns nil if no
// sync for that has failed. Of bytes that were lost the kernel tells once, and perhaps
// that one.
func (f *File) endSync() error {
	if err := f.syncName(); err != nil {
		return err
	}
	if lost := f.name.lost.Load(); lost != nil {
		return fmt.Errorf("an earlier sync of the name failed: %w", *lost)
	}
	return nil
}
