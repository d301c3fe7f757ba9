package fsutil

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// NextData returns the first offset from off on at which f may have bytes other
// than zero: holes, and blocks that were reserved but never written, are passed
// over where the file system tells. Without any it is size, which the caller
// knows. The file offset of f moves.
//
// Note: pages of such a place that are in memory, because somebody looked at them,
// count as bytes.
func NextData(f *os.File, off, size int64) (int64, error) {
	return seek(f, off, size, seekData, off)
}

// NextHole returns the first offset from off on, a place of NextData, at which f is
// known to have zeros again, and size if there is none. The file offset of f moves.
func NextHole(f *os.File, off, size int64) (int64, error) {
	return seek(f, off, size, seekHole, size)
}

// seek asks the file system, which may know no answer.
func seek(f *os.File, off, size int64, ask func(fd int, off int64) (int64, error), unknown int64) (int64, error) {
	if off >= size {
		return size, nil
	}
	next := off
	err := withDescriptor(f, func(fd int) (err error) {
		next, err = ask(fd, off)
		return err
	})
	switch {
	case errors.Is(err, syscall.ENXIO): // nothing but a hole up to the end
		return size, nil
	case errors.Is(err, syscall.EINVAL), errors.Is(err, errors.ErrUnsupported):
		return unknown, nil
	case err != nil:
		return 0, fmt.Errorf("fsutil: look for data in %s from %d: %w", f.Name(), off, err)
	}
	return min(next, size), nil
}
