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
func NextData(f *os.File, off, size int64) (int64, error) {
	if off >= size {
		return size, nil
	}
	next := off
	err := withDescriptor(f, func(fd int) (err error) {
		next, err = seekData(fd, off)
		return err
	})
	switch {
	case errors.Is(err, syscall.ENXIO): // nothing but a hole up to the end
		return size, nil
	case errors.Is(err, syscall.EINVAL), errors.Is(err, errors.ErrUnsupported):
		return off, nil
	case err != nil:
		return 0, fmt.Errorf("fsutil: look for data in %s from %d: %w", f.Name(), off, err)
	}
	return min(next, size), nil
}
