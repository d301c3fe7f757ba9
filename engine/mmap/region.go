package mmap

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// region is a mapping of the operating system.
type region struct {
	// Immutable after Map.
	mem        []byte          // the mapping; starts on a page boundary
	file       *os.File        // nil for anonymous memory
	conn       syscall.RawConn // of file; keeps the descriptor alive during a call
	name       string          // for messages
	protection int             // PROT_*

	// mu is held for reading while a call uses the mapping, for writing while the
	// mapping changes: a call can then never reach pages that became someone else's.
	mu   sync.RWMutex
	gone error // nil, ErrReplaced or ErrUnmapped; guarded by mu
}

func (r *region) Bytes() []byte {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.gone == ErrUnmapped {
		return nil
	}
	return r.mem
}

func (r *region) Sync(off, n int64) error {
	if r.file == nil {
		return r.failed("sync", off, n, errors.ErrUnsupported)
	}
	return r.withRange("sync", off, n, func(mem []byte) error {
		return retry(func() error { return unix.Msync(mem, unix.MS_SYNC) })
	})
}

func (r *region) SyncData(off, n int64) error {
	if r.file == nil {
		return r.failed("sync data", off, n, errors.ErrUnsupported)
	}
	return r.withRange("sync data", off, n, func([]byte) error {
		return r.withDescriptor(fdatasync)
	})
}

func (r *region) WriteAt(p []byte, off int64) (written int, err error) {
	n := int64(len(p))
	if r.file == nil {
		return 0, r.failed("write", off, n, errors.ErrUnsupported)
	}
	err = r.withRange("write", off, n, func([]byte) (err error) {
		written, err = r.file.WriteAt(p, off)
		return err
	})
	return written, err
}

func (r *region) ReadAt(p []byte, off int64) (read int, err error) {
	n := int64(len(p))
	if r.file == nil {
		return 0, r.failed("read", off, n, errors.ErrUnsupported)
	}
	err = r.withRange("read", off, n, func([]byte) (err error) {
		read, err = r.file.ReadAt(p, off)
		return err
	})
	return read, err
}

func (r *region) Renamed(name string) { r.name = name }

func (r *region) ReplaceWithZeros() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	length := int64(len(r.mem))
	if r.gone != nil {
		return r.failed("replace", 0, length, r.gone)
	}
	flags := unix.MAP_FIXED | unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_NORESERVE
	_, err := unix.MmapPtr(-1, 0, unsafe.Pointer(unsafe.SliceData(r.mem)), uintptr(length), r.protection, flags)
	if err != nil {
		return r.failed("replace", 0, length, err)
	}
	r.gone = ErrReplaced
	return nil
}

func (r *region) Unmap() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	length := int64(len(r.mem))
	if r.gone == ErrUnmapped {
		return r.failed("unmap", 0, length, r.gone)
	}
	// Off the list first: the next mapping may get this address as soon as it is free.
	live.remove(r)
	if err := unix.Munmap(r.mem); err != nil {
		live.add(r)
		return r.failed("unmap", 0, length, err)
	}
	r.gone = ErrUnmapped
	return nil
}

// withRange runs call on the bytes of [off,off+n), widened to the left to a page
// boundary as the system wants it; it widens the right end itself. The mapping
// stays in place during call.
func (r *region) withRange(op string, off, n int64, call func(mem []byte) error) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.gone != nil {
		return r.failed(op, off, n, r.gone)
	}
	if length := int64(len(r.mem)); off < 0 || n < 0 || off > length || n > length-off {
		return r.failed(op, off, n, fmt.Errorf("%w of %d bytes", ErrRange, length))
	}
	if n == 0 {
		return nil
	}
	if err := call(r.mem[off&^(pageSize-1) : off+n]); err != nil {
		return r.failed(op, off, n, err)
	}
	return nil
}

// withDescriptor runs call with the file's descriptor, which cannot be closed meanwhile.
func (r *region) withDescriptor(call func(fd int) error) error {
	var callErr error
	err := r.conn.Control(func(fd uintptr) {
		callErr = retry(func() error { return call(int(fd)) })
	})
	if err != nil {
		return os.ErrClosed // Control has no other reason to fail
	}
	return callErr
}

func (r *region) failed(op string, off, n int64, err error) error {
	return fmt.Errorf("mmap: %s %d bytes at %d of %s: %w", op, n, off, r.name, err)
}

var pageSize = int64(os.Getpagesize())

// retry repeats a system call that a signal interrupted; the runtime preempts
// goroutines by signals, so this is not rare.
func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
