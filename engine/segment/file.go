package segment

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"commitlab/engine/mmap"
)

// pageBytes is the page of all position arithmetic, whatever the platform's.
const pageBytes = 4096

// ErrClosed is returned for a file that gives no more references.
var ErrClosed = errors.New("segment: file is closed")

// A File is one mapped file of a Queue.
type File struct {
	path string   // immutable
	base int64    // immutable; offset of the first byte within the log
	size int64    // immutable
	opt  *Options // immutable

	// Immutable once opened is true; see use.
	opened atomic.Bool
	f      *os.File
	region mmap.Region
	data   []byte // region.Bytes()

	disk  Disk
	stage *stage // nil: appends store through the mapping
	fresh bool   // immutable; this process wrote all there is in it, since it was new
	stale bool   // immutable; what was not written shows bytes of a former life

	prefetch bool // immutable; see Options.Prefetch

	name    naming
	writing atomic.Bool // Options.Writing was given and not taken back

	life    lifetime
	revoked atomic.Bool

	wrote     atomic.Int64 // written by the appender only
	committed atomic.Int64 // with a stage: written by Commit only
	flushed   atomic.Int64 // written by Sync only

	end ending
}

// newFile is a file of which only the name is known. Nobody may use it before open or
// attach, or else use.
func newFile(path string, base int64, o *Options) *File {
	f := &File{path: path, base: base, size: o.FileBytes, opt: o, disk: o.Disk}
	f.end.reaper = o.Reaper
	f.life.init(f.cleanup)
	f.prefetch = o.Prefetch && o.Transient == nil
	if o.Transient != nil {
		f.stage = newStage(o.Transient)
	}
	return f
}

// Path is the name the file was opened under.
func (f *File) Path() string { return f.path }

// Base is the log offset of the first byte.
func (f *File) Base() int64 { return f.base }

// Size is the length of the file in bytes.
func (f *File) Size() int64 { return f.size }

// End is the log offset behind the last byte.
func (f *File) End() int64 { return f.base + f.size }

// Wrote is the position behind the last appended byte.
func (f *File) Wrote() int64 { return f.wrote.Load() }

// Flushed is the position up to which bytes are known to be durable.
func (f *File) Flushed() int64 { return f.flushed.Load() }

// ReadPosition is the position up to which bytes may be read.
func (f *File) ReadPosition() int64 {
	if f.stage == nil {
		return f.wrote.Load()
	}
	return f.committed.Load()
}

// Stale reports that the file was another one before, whose bytes show where
// nothing was written since.
func (f *File) Stale() bool { return f.stale }

// Full reports whether the file takes no more appends.
func (f *File) Full() bool { return f.wrote.Load() >= f.size }

// Available reports whether the file still gives references.
func (f *File) Available() bool { return f.life.available() }

// References is the number of references held, one of them the owner's.
func (f *File) References() int64 { return f.life.references() }

// Reserve returns the n bytes behind the wrote position, to be filled and then
// published. Only the appender calls it; the caller has seen that n bytes are
// left in the file. It waits when all transient buffers are full.
func (f *File) Reserve(n int64) ([]byte, error) {
	pos := f.wrote.Load()
	if pos+n > f.size {
		return nil, fmt.Errorf("segment: reserve %d bytes at %d of %s: file has %d", n, pos, f.path, f.size)
	}
	if f.stage != nil {
		return f.stage.reserve(pos, n)
	}
	if err := f.use(); err != nil {
		return nil, err
	}
	return f.data[pos : pos+n : pos+n], nil
}

// Publish makes the n bytes last reserved visible to readers (with transient
// buffers: to Commit). Only the appender calls it.
func (f *File) Publish(n int64) {
	end := f.wrote.Load() + n
	f.wrote.Store(end)
	if f.prefetch { // a guess: the next record is as long as this one
		mmap.PrefetchWrite(f.data[end:min(end+n, f.size)])
	}
	if f.stage != nil { // behind: committed must not pass wrote
		f.stage.publish(n)
	}
}

// Seal moves the wrote position to the end of the file. What was not stored
// stays as it is. Only the appender calls it.
func (f *File) Seal() {
	f.wrote.Store(f.size)
	if f.stage != nil { // behind, as in Publish
		f.stage.sealed.Store(true)
	}
}

// View returns [pos, pos+n) with a reference on the file. It fails when the
// range is not wholly readable, the file is closed, or this is its first use and it
// cannot be opened.
func (f *File) View(pos, n int64) (View, error) {
	if err := f.readable(pos, n); err != nil {
		return View{}, err
	}
	if !f.life.hold() {
		return View{}, ErrClosed
	}
	if err := f.use(); err != nil {
		f.life.release()
		return View{}, err
	}
	return View{file: f, bytes: f.data[pos : pos+n : pos+n]}, nil
}

// FetchLines has the processor fetch the cache lines of [pos, pos+n), as far as they
// lie in the file, for who is about to read them. It waits for nothing and needs no
// reference (see mmap.Prefetch), and of a file that nobody has used yet it fetches
// nothing.
func (f *File) FetchLines(pos, n int64) {
	if end := min(pos+n, f.size); 0 <= pos && pos < end && f.opened.Load() {
		mmap.Prefetch(f.data[pos:end])
	}
}

// readable returns an error unless [pos, pos+n) lies below the read position.
func (f *File) readable(pos, n int64) error {
	if end := f.ReadPosition(); pos < 0 || n < 0 || n > end || pos > end-n {
		return fmt.Errorf("segment: view [%d, +%d) of %s: readable bytes end at %d", pos, n, f.path, end)
	}
	return nil
}

// ReadAt copies from the file with pread, without touching the mapping. It
// reads what is in the page cache, so bytes beyond ReadPosition are undefined.
func (f *File) ReadAt(p []byte, pos int64) (int, error) {
	if !f.life.hold() {
		return 0, ErrClosed
	}
	defer f.life.release()
	if err := f.use(); err != nil {
		return 0, err
	}
	return f.region.ReadAt(p, pos)
}

// Write puts p into the file at pos with pwrite, whatever the positions say; View
// shows it when Write returns. For recovery, which runs alone: many pages are made in
// this way for what a few first stores through the mapping cost.
func (f *File) Write(p []byte, pos int64) error {
	if err := f.use(); err != nil {
		return err
	}
	if _, err := f.region.WriteAt(p, pos); err != nil {
		return fmt.Errorf("write [%d, +%d) of %s: %w", pos, len(p), f.path, err)
	}
	return nil
}

// Commit writes what is in transient buffers to the file and returns how many
// bytes that were. Without transient buffers there is nothing to do. One
// goroutine at a time.
func (f *File) Commit() (int64, error) {
	if f.stage == nil {
		return 0, nil
	}
	if !f.life.hold() {
		return 0, ErrClosed
	}
	defer f.life.release()
	before := f.committed.Load()
	if err := f.stage.commit(f); err != nil {
		return f.committed.Load() - before, err
	}
	return f.committed.Load() - before, nil
}

// uncut returns an error if somebody else made the file shorter. The mapping
// then has no pages behind the end, and a write there would make a hole.
func (f *File) uncut() error {
	info, err := f.f.Stat()
	if err != nil {
		return fmt.Errorf("stat %s: %w", f.path, err)
	}
	if info.Size() < f.size {
		return fmt.Errorf("%s was cut from outside: %d bytes, expected %d", f.path, info.Size(), f.size)
	}
	return nil
}

// Backed returns why a store to the n bytes behind the wrote position faulted:
// the file was made shorter by somebody else, or the disk has no block for one
// of the pages. It returns nil if the file takes a byte in each of them now.
// Only the appender calls it.
func (f *File) Backed(n int64) error {
	if err := f.uncut(); err != nil {
		return err
	}
	pos := f.wrote.Load()
	for at := pos; at < min(pos+n, f.size); at = (at/pageBytes + 1) * pageBytes {
		if _, err := f.region.WriteAt([]byte{0}, at); err != nil {
			return fmt.Errorf("write at %d of %s: %w", at, f.path, err)
		}
	}
	return nil
}

// Sync makes the bytes below the read position durable and returns how many
// were not before. A position moves only after the system call succeeded. One
// goroutine at a time.
func (f *File) Sync(path SyncPath) (int64, error) {
	from, to := f.flushed.Load(), f.ReadPosition()
	if from >= to {
		return 0, nil
	}
	if !f.life.hold() {
		return 0, ErrClosed
	}
	defer f.life.release()
	err := f.use()
	if err != nil {
		return 0, err
	}
	if path == SyncMsync {
		err = f.region.Sync(from, to-from)
	} else {
		err = f.region.SyncData(from, to-from)
	}
	if err == nil {
		err = f.uncut() // else the call had nothing to sync
	}
	if err == nil {
		err = f.endSync()
	}
	if err != nil {
		return 0, fmt.Errorf("sync (%s) bytes [%d, %d) of %s: %w", path, from, to, f.path, err)
	}
	f.flushed.Store(to)
	if to == f.size {
		f.rest()
	}
	return to - from, nil
}

// SyncAll makes the whole file durable, whatever the positions say: recovery
// does not know what a killed process had synced.
func (f *File) SyncAll() error {
	if err := f.use(); err != nil {
		return err
	}
	if err := f.region.SyncData(0, f.size); err != nil {
		return fmt.Errorf("sync %s: %w", f.path, err)
	}
	return f.endWholeSync()
}

// SyncTo is SyncAll for the bytes below a position alone, by msync: pages behind it
// that were only made are not written.
func (f *File) SyncTo(pos int64) error {
	if err := f.use(); err != nil {
		return err
	}
	if err := f.region.Sync(0, pos); err != nil {
		return fmt.Errorf("sync %s up to %d: %w", f.path, pos, err)
	}
	return f.endWholeSync()
}

// endWholeSync is endSync for a file that may have been taken down meanwhile.
func (f *File) endWholeSync() error {
	if err := f.endSync(); err != nil && !errors.Is(err, ErrClosed) {
		return fmt.Errorf("sync %s: %w", f.path, err)
	}
	return nil
}

// setPositions places all three positions, for load and recovery only.
func (f *File) setPositions(pos int64) {
	f.wrote.Store(pos)
	f.committed.Store(pos)
	f.flushed.Store(pos)
}

// Shutdown refuses new references; the mapping goes with the last Release and
// the name stays.
func (f *File) Shutdown() { f.life.shutdown() }
