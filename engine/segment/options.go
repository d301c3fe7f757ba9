package segment

import (
	"os"

	"commitlab/engine/fsutil"
	"commitlab/engine/mmap"
	"commitlab/engine/stats"
)

// Allocation says where the disk blocks of a new file come from.
type Allocation string

const (
	// Sparse only sets the length. Blocks are found at write-back, so a full
	// disk shows up as a fault in a store through the mapping.
	Sparse Allocation = "sparse"
	// Fallocate reserves unwritten blocks; where the file system cannot, the
	// file is zero-filled instead.
	Fallocate Allocation = "fallocate"
	// ZeroFill writes zeros and syncs them, so that later syncs need no
	// conversion of unwritten extents.
	ZeroFill Allocation = "zerofill"
)

// Populate says which pages of a file are made before the writer needs them.
type Populate string

const (
	// PopulateNone leaves every first touch to the writer.
	PopulateNone Populate = "none"
	// PopulateFile makes all pages when the file is created.
	PopulateFile Populate = "file"
	// PopulateWindow keeps a bounded window ahead of the writer populated.
	PopulateWindow Populate = "window"
)

// WarmUp says whether the pages of a new file are touched by storing to them.
type WarmUp string

const (
	// WarmUpNone stores nothing.
	WarmUpNone WarmUp = "none"
	// WarmUpTouch stores one zero byte to each 4096-byte page.
	WarmUpTouch WarmUp = "touch"
)

// MemoryLock says which pages are kept from being paged out.
type MemoryLock string

const (
	// LockNone locks nothing.
	LockNone MemoryLock = "none"
	// LockFile locks new files: the one that is written and the one prepared after
	// it. A file that was there when the log was opened is not locked.
	LockFile MemoryLock = "file"
	// LockOnFault locks pages of those files as they are touched.
	LockOnFault MemoryLock = "onfault"
)

// Advice is what the kernel is told about the use of a mapping.
type Advice string

const (
	AdviseNormal     Advice = "normal"
	AdviseSequential Advice = "sequential"
	AdviseRandom     Advice = "random"
	AdviseWillNeed   Advice = "willneed"
	// AdviseHugePage asks for pages of 2 MiB, each made by itself. Making pages is then
	// several times cheaper, and so is finding the dirty ones: a sync takes write access
	// from every page of the mapping, and for each all processors of the process are
	// interrupted. But a sync writes whole pages, and it needs a file system that has them
	// (ext4 since Linux 6.16, xfs).
	AdviseHugePage Advice = "hugepage"
)

// SyncPath is the system call that makes stored bytes durable.
type SyncPath string

const (
	// SyncMsync syncs the mapped range.
	SyncMsync SyncPath = "msync"
	// SyncFdatasync syncs the file after stores through the mapping.
	SyncFdatasync SyncPath = "fdatasync"
	// SyncPwrite collects records in transient buffers, writes them with one
	// pwrite and syncs the file.
	SyncPwrite SyncPath = "pwrite"
)

// ColdRead says how bytes are read that are likely not in memory.
type ColdRead string

const (
	// ColdPopulate has the system make the pages before they are touched
	// (MADV_POPULATE_READ). The wait for the disk is then a system call, during
	// which the Go scheduler gives the processor to other goroutines.
	ColdPopulate ColdRead = "populate"
	// ColdFault touches the pages. The wait for the disk is a page fault, of
	// which the Go scheduler knows nothing: one of GOMAXPROCS processors waits too.
	ColdFault ColdRead = "fault"
	// ColdPread copies with pread into memory of the heap and leaves the mapping
	// alone. It is a system call as well.
	ColdPread ColdRead = "pread"
)

// Disk is what a file asks of the file system beside mapping. Tests replace it
// to record the order of calls or to make one fail.
type Disk interface {
	// Fallocate reserves size bytes; an error that wraps errors.ErrUnsupported
	// says that this file system or kernel cannot.
	Fallocate(f *os.File, size int64) error
	// ZeroFill writes size zero bytes and syncs them.
	ZeroFill(f *os.File, size int64) error
	// SyncFile makes the file and its length durable.
	SyncFile(f *os.File) error
	// SyncDir makes the names in dir durable.
	SyncDir(dir string) error
	// PunchHole frees the blocks of [off, off+n), which then read as zeros; an
	// error that wraps errors.ErrUnsupported says that they could not be freed.
	PunchHole(f *os.File, off, n int64) error
	// NextData returns the first offset from off on at which the file may have bytes
	// other than zero, size if there is none, and NextHole where that ends, as far as
	// the file system tells; it is known to the caller how long the file is.
	NextData(f *os.File, off, size int64) (int64, error)
	NextHole(f *os.File, off, size int64) (int64, error)
	// Truncate makes the file shorter and frees what is cut off.
	Truncate(f *os.File, size int64) error
	// Rename gives the file at from the name to, which must be free, in a directory
	// of the same file system.
	Rename(from, to string) error
	// Remove unlinks path.
	Remove(path string) error
}

// OSDisk is the Disk of the operating system.
type OSDisk struct{}

// zeroFillStep bounds the dirty pages that filling a file leaves at a time.
const zeroFillStep = 8 << 20

func (OSDisk) Fallocate(f *os.File, size int64) error   { return fsutil.Fallocate(f, size) }
func (OSDisk) ZeroFill(f *os.File, size int64) error    { return fsutil.ZeroFill(f, size, zeroFillStep) }
func (OSDisk) SyncFile(f *os.File) error                { return f.Sync() }
func (OSDisk) SyncDir(dir string) error                 { return fsutil.SyncDir(dir) }
func (OSDisk) PunchHole(f *os.File, off, n int64) error { return fsutil.PunchHole(f, off, n) }
func (OSDisk) NextData(f *os.File, off, size int64) (int64, error) {
	return fsutil.NextData(f, off, size)
}
func (OSDisk) NextHole(f *os.File, off, size int64) (int64, error) {
	return fsutil.NextHole(f, off, size)
}
func (OSDisk) Truncate(f *os.File, size int64) error { return f.Truncate(size) }
func (OSDisk) Rename(from, to string) error          { return os.Rename(from, to) }
func (OSDisk) Remove(path string) error              { return os.Remove(path) }

// Options describe the files of one Queue. They are immutable after OpenQueue.
type Options struct {
	FileBytes   int64 // size of every file
	Allocate    Allocation
	Populate    Populate
	WindowBytes int64 // populated ahead of the writer with PopulateWindow
	WarmUp      WarmUp
	MemoryLock  MemoryLock
	Advise      Advice
	// Writing is given in place of Advise while a file is written to; when it is full
	// and durable, the kernel's default takes its place. Empty: Advise all the time.
	Writing Advice
	// SyncLater has the blocks, the length and the name of a new file become durable with
	// its first sync, in place of before it is used. For files that can be made again
	// from others: the writer does not wait for the disk.
	SyncLater bool
	// Unclean: the process before did not end in order, and may not have come to the first
	// sync of a file that it made.
	Unclean bool
	// Prefetch has the processor fetch the lines of the next record with every
	// Publish; see mmap.PrefetchWrite.
	Prefetch bool
	// Late leaves files that are there when their queue is opened unopened until
	// somebody uses them. Not with transient buffers, a Window or a Prealloc.
	Late bool
	// Transient, when not nil, supplies the buffers that appends go to before
	// they are committed to the file.
	Transient *Pool
	// Reaper, when not nil, takes destroyed files down. Without one whoever gives
	// up the last reference does.
	Reaper *Reaper

	Mapper mmap.Mapper
	Disk   Disk
	// Optional records the calls that may fail without harm.
	Optional *stats.Optional
}
