package fsutil

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Fallocate gives f real blocks for the bytes [0,size) and a length of at least
// size, so that a full disk is an error here and not a fault in a mapping later.
// Bytes that were not in the file before read as zeros; others stay.
//
// Errors wrap syscall.ENOSPC when the disk is full; some of the blocks may then be
// allocated already, and removing the file frees them. If the file system cannot do
// it (EOPNOTSUPP, ENOSYS, EINVAL) the error wraps errors.ErrUnsupported as well and
// the caller may turn to ZeroFill.
func Fallocate(f *os.File, size int64) error {
	if size <= 0 {
		return fmt.Errorf("fsutil: allocate %s: size %d is not positive", f.Name(), size)
	}
	if err := withDescriptor(f, func(fd int) error { return fallocate(fd, size) }); err != nil {
		return fmt.Errorf("fsutil: allocate %d bytes of %s: %w", size, f.Name(), asUnsupported(err))
	}
	return nil
}

// zeroBlock is what ZeroFill writes at a time, in bytes.
const zeroBlock = 1 << 20

// ZeroFill writes zeros over the bytes [0,size) of f, so that it has blocks that
// were written once: a later durable write then needs no change of the file's
// extents, and any file system can do it. It syncs after every chunk bytes, to
// bound the dirty memory and the stall at the end, and always at the end; a chunk
// of 0 syncs at the end only. When it returns nil, size and zeros are durable
// (the name is not, see SyncDir). On a full disk the error wraps syscall.ENOSPC.
func ZeroFill(f *os.File, size, chunk int64) error {
	if size <= 0 || chunk < 0 {
		return fmt.Errorf("fsutil: zero-fill %s: bad size %d or chunk %d", f.Name(), size, chunk)
	}
	zeros := make([]byte, min(size, zeroBlock))
	var written, synced int64
	for written < size {
		n, err := f.WriteAt(zeros[:min(size-written, zeroBlock)], written)
		written += int64(n)
		if err != nil {
			return fmt.Errorf("fsutil: zero-fill %s at %d of %d bytes: %w", f.Name(), written, size, err)
		}
		if done := written == size; done || chunk > 0 && written-synced >= chunk {
			if err := f.Sync(); err != nil {
				return fmt.Errorf("fsutil: zero-fill %s: sync at %d of %d bytes: %w", f.Name(), written, size, err)
			}
			synced = written
		}
	}
	return nil
}

// PunchHole frees the blocks that lie wholly within the n bytes at off; the range
// reads as zeros, also through a mapping, and the length of f stays. Errors are
// those of Fallocate.
func PunchHole(f *os.File, off, n int64) error {
	if off < 0 || n <= 0 {
		return fmt.Errorf("fsutil: punch hole in %s: bad range: %d bytes at %d", f.Name(), n, off)
	}
	if err := withDescriptor(f, func(fd int) error { return punchHole(fd, off, n) }); err != nil {
		return fmt.Errorf("fsutil: punch hole of %d bytes at %d in %s: %w", n, off, f.Name(), asUnsupported(err))
	}
	return nil
}

// Evict asks the system to let the pages of the n bytes at off out of the page
// cache (POSIX_FADV_DONTNEED). Dirty pages and pages that some process has mapped
// stay, without an error; so do the first and the last if they are shared with bytes
// beyond the range.
func Evict(f *os.File, off, n int64) error {
	if err := withDescriptor(f, func(fd int) error { return evict(fd, off, n) }); err != nil {
		return fmt.Errorf("fsutil: evict %d bytes at %d of %s: %w", n, off, f.Name(), err)
	}
	return nil
}

// asUnsupported adds errors.ErrUnsupported to the three errnos by which file systems
// decline a fallocate whose arguments are right.
func asUnsupported(err error) error {
	if errors.Is(err, errors.ErrUnsupported) || !errors.Is(err, syscall.EINVAL) {
		return err // EOPNOTSUPP and ENOSYS answer to errors.ErrUnsupported by themselves
	}
	return fmt.Errorf("%w: %w", err, errors.ErrUnsupported)
}

// withDescriptor runs call with the descriptor of f, which cannot be closed
// meanwhile, and repeats it when a signal interrupts it.
func withDescriptor(f *os.File, call func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var callErr error
	err = conn.Control(func(fd uintptr) {
		for {
			if callErr = call(int(fd)); callErr != syscall.EINTR {
				return
			}
		}
	})
	return errors.Join(err, callErr)
}
