package mmap

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Prot says what the bytes of a mapping may be used for.
type Prot int

const (
	// ReadOnly: a store through Bytes faults. The file may be open for reading only.
	ReadOnly Prot = iota
	// ReadWrite: the file must be open for reading and writing.
	ReadWrite
)

var (
	// ErrRange: the offsets do not lie within the mapping.
	ErrRange = errors.New("range outside of the mapping")
	// ErrUnmapped: the Region was unmapped before.
	ErrUnmapped = errors.New("already unmapped")
	// ErrReplaced: the pages of the file were replaced by zeros; there is no file below any more.
	ErrReplaced = errors.New("mapping was replaced by zeros")
)

// Mapper makes Regions of files. [OS] is the real one.
type Mapper interface {
	// Map maps the bytes [0,length) of f, shared with every other user of the
	// file. The file must already be that long: mapping beyond the end would turn
	// a mistake into a fault later. The Region borrows f for SyncData, WriteAt,
	// ReadAt and CacheStat, which fail with os.ErrClosed once f is closed, and never
	// closes it; the mapping itself outlives f.
	Map(f *os.File, length int64, p Prot) (Region, error)
}

// Region is one mapping from Map or Anonymous to Unmap.
//
// Offsets and lengths are in bytes and need no alignment; where the system works
// on pages, every page that holds a byte of the range is meant. A range of zero
// bytes does nothing. Errors name the operation, the file and the range, and wrap
// [ErrRange], [ErrUnmapped], [ErrReplaced] or the errno.
type Region interface {
	// Bytes is the whole mapping. The slice is valid until Unmap and faults
	// thereafter; nil if the Region is unmapped already.
	Bytes() []byte

	// Sync writes the pages that hold [off,off+n) to storage and waits for it
	// (msync, MS_SYNC). Only bytes of the exact range must be quiescent; what is
	// stored elsewhere in these pages meanwhile may or may not be included.
	//
	// After an error nothing is known about any byte of the file that was not
	// durable before: the system may have dropped the pages, and reports the loss
	// once. Calling again and getting nil does not make them durable.
	Sync(off, n int64) error

	// SyncData makes [off,off+n) durable with one fdatasync of the file, however
	// the bytes got there: stored through the mapping or written with WriteAt.
	// What was said about errors of Sync holds here too.
	SyncData(off, n int64) error

	// WriteAt writes p to the file at off with pwrite; Bytes shows it when WriteAt
	// returns. It takes no page fault and reports a full disk as an error.
	WriteAt(p []byte, off int64) (int, error)

	// ReadAt reads from the file at off with pread. An unreadable block is an
	// error here, where a load through Bytes would fault; a file that someone
	// truncated gives io.EOF.
	ReadAt(p []byte, off int64) (int, error)

	// Advise gives the system a hint about [off,off+n). See Advice.
	Advise(off, n int64, a Advice) error

	// Populate makes the pages of [off,off+n) present (MADV_POPULATE_READ, _WRITE),
	// so that the loads or stores that follow take no fault. Where the system does
	// not know the call, the error wraps errors.ErrUnsupported. EFAULT means that
	// storage cannot back some page, for example a hole on a full disk.
	Populate(off, n int64, m PopulateMode) error

	// Lock keeps the pages of [off,off+n) in memory: all of them now (mlock), or
	// each from its first use on (onFault, mlock2). Write-back still cleans locked
	// pages, and a store to a clean page still takes a minor fault. The error names
	// RLIMIT_MEMLOCK in bytes, the usual reason.
	Lock(off, n int64, onFault bool) error

	// Unlock takes Lock back. Unmap and ReplaceWithZeros do so too.
	Unlock(off, n int64) error

	// CacheStat counts the pages of [off,off+n) in the page cache by state
	// (cachestat, Linux 6.5); elsewhere the error wraps errors.ErrUnsupported.
	CacheStat(off, n int64) (CacheStat, error)

	// Renamed tells by what name messages are to call the file from now on. Nobody may
	// use the Region meanwhile.
	Renamed(name string)

	// ReplaceWithZeros puts private zero pages in the place of the file's pages.
	// Readers of Bytes stay safe and see zeros from some moment on; the mapping no
	// longer keeps the file's blocks alive. Locks on the pages are gone. On error
	// the mapping is as it was.
	ReplaceWithZeros() error

	// Unmap gives the address range back. No slice from Bytes may be used from
	// this call on. If it fails the Region is still mapped and Unmap may be called
	// again; after success every further call fails with ErrUnmapped.
	Unmap() error
}

// OS maps files with the system's mmap.
var OS Mapper = osMapper{}

type osMapper struct{}

func (osMapper) Map(f *os.File, length int64, p Prot) (Region, error) {
	if err := checkLength(length); err != nil {
		return nil, fmt.Errorf("mmap: map %s: %w", f.Name(), err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("mmap: map %s: %w", f.Name(), err)
	}
	if info.Size() < length {
		return nil, fmt.Errorf("mmap: map %s: %w: want %d bytes, the file has %d", f.Name(), ErrRange, length, info.Size())
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("mmap: map %s: %w", f.Name(), err)
	}
	r := &region{file: f, conn: conn, name: f.Name(), protection: protection(p)}
	var mapErr error
	err = conn.Control(func(fd uintptr) {
		r.mem, mapErr = unix.Mmap(int(fd), 0, int(length), r.protection, unix.MAP_SHARED)
	})
	if err := errors.Join(err, mapErr); err != nil {
		return nil, fmt.Errorf("mmap: map %d bytes of %s: %w%s", length, f.Name(), err, mapHint(err))
	}
	live.add(r)
	return r, nil
}

// Anonymous makes a Region of length bytes of private zeroed memory outside of the
// Go heap, for buffers that are to be locked or that the collector need not know.
// Sync, SyncData, WriteAt, ReadAt and CacheStat answer errors.ErrUnsupported.
// Advise with DontNeed empties whole pages to zeros.
func Anonymous(length int64) (Region, error) {
	if err := checkLength(length); err != nil {
		return nil, fmt.Errorf("mmap: anonymous memory: %w", err)
	}
	r := &region{name: "anonymous memory", protection: protection(ReadWrite)}
	var err error
	r.mem, err = unix.Mmap(-1, 0, int(length), r.protection, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("mmap: %d bytes of anonymous memory: %w%s", length, err, mapHint(err))
	}
	live.add(r)
	return r, nil
}

func checkLength(length int64) error {
	if length <= 0 || int64(int(length)) != length {
		return fmt.Errorf("%w: length %d", ErrRange, length)
	}
	return nil
}

func protection(p Prot) int {
	if p == ReadWrite {
		return unix.PROT_READ | unix.PROT_WRITE
	}
	return unix.PROT_READ
}

// mapHint explains the errno that hides three different limits.
func mapHint(err error) string {
	if errors.Is(err, unix.ENOMEM) {
		return " (address space, memory or vm.max_map_count is used up)"
	}
	return ""
}
