package segment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"commitlab/engine/fsutil"
	"commitlab/engine/mmap"
)

// Create makes a new file at path that is ready for the appender: blocks, name
// and length durable, mapped, populated, warmed and locked as the options ask. The
// file appears at path in full length: RocketMQ before 5.1.4 does not open a
// directory with a file of another.
// On failure nothing is left behind. The path must not exist.
func Create(path string, base int64, o *Options) (*File, error) {
	return CreateWith(path, base, nil, o)
}

// CreateWith is Create for a file that begins with the bytes of head: whoever sees
// the file sees these.
func CreateWith(path string, base int64, head []byte, o *Options) (*File, error) {
	f, err := fsutil.CreateNew(path)
	if err != nil {
		return nil, fmt.Errorf("create log file: %w", err)
	}
	fail := func(err error) (*File, error) {
		if f.Named() {
			err = errors.Join(err, o.Disk.Remove(path))
		}
		return nil, err
	}
	if err := allocate(f.File, o); err != nil {
		return fail(errors.Join(fmt.Errorf("allocate %d bytes for %s: %w", o.FileBytes, path, err), f.Close()))
	}
	if _, err := f.WriteAt(head, 0); err != nil {
		return fail(errors.Join(fmt.Errorf("begin new file %s: %w", path, err), f.Close()))
	}
	if !o.SyncLater {
		if err := o.Disk.SyncFile(f.File); err != nil {
			return fail(errors.Join(fmt.Errorf("sync new file %s: %w", path, err), f.Close()))
		}
	}
	if err := f.Publish(); err != nil {
		return fail(errors.Join(err, f.Close()))
	}
	if !o.SyncLater {
		if err := o.Disk.SyncDir(filepath.Dir(path)); err != nil {
			return fail(errors.Join(fmt.Errorf("sync directory of new file %s: %w", path, err), f.Close()))
		}
	}
	file := newFile(path, base, o)
	if err := file.attach(f.File); err != nil {
		return fail(err)
	}
	file.fresh = true
	file.name.pending.Store(o.SyncLater)
	file.adviseWriting(o)
	if err := file.warm(o); err != nil {
		file.Shutdown()
		return fail(err)
	}
	return file, nil
}

// Next makes the file at path for a log that goes on there: a spare if there is
// one, else a new one, as Create.
func Next(path string, base int64, o *Options) (*File, error) {
	if o.Reaper == nil || o.Reaper.opt.Spares == nil {
		return Create(path, base, o)
	}
	taken, ok, err := o.Reaper.opt.Spares.take(path)
	if err == nil && ok {
		var file *File
		if file, err = again(taken, base, o); err == nil {
			return file, nil
		}
		err = errors.Join(err, o.Disk.Remove(path))
	}
	if err != nil {
		o.Optional.Record("use a spare file", err, "a new one is made")
	}
	return Create(path, base, o)
}

// again makes a file that was in use before ready for a second life. It takes what is
// left of it over, also on failure.
func again(s spare, base int64, o *Options) (file *File, err error) {
	if s.file != nil {
		file = newFile(s.path, base, o)
		file.adopt(s.file, s.region)
	} else if file, err = Open(s.path, base, o); err != nil {
		return nil, err
	}
	file.fresh, file.stale = true, true
	file.setPositions(0)
	file.adviseWriting(o)
	if err := file.warm(o); err != nil {
		file.Shutdown()
		return nil, err
	}
	return file, nil
}

// Open maps an existing file of o.FileBytes bytes, all positions at its end.
func Open(path string, base int64, o *Options) (*File, error) {
	f := known(path, base, o)
	if err := f.open(); err != nil {
		return nil, err
	}
	return f, nil
}

// allocate gives f its length and its blocks. The length is set first: a crash
// in between leaves an empty file or one of full size, never a third kind.
func allocate(f *os.File, o *Options) error {
	if err := f.Truncate(o.FileBytes); err != nil {
		return err
	}
	switch o.Allocate {
	case Sparse:
		return nil
	case Fallocate:
		err := o.Disk.Fallocate(f, o.FileBytes)
		if !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		o.Optional.Record("fallocate", err, "the file is filled with zeros")
	}
	return o.Disk.ZeroFill(f, o.FileBytes)
}

// warm makes, touches and locks the pages of a new file.
func (f *File) warm(o *Options) error {
	switch o.Populate {
	case PopulateFile:
		f.populate(0, f.size, o)
	case PopulateWindow:
		f.populate(0, min(o.WindowBytes, f.size), o)
	}
	if o.WarmUp == WarmUpTouch {
		if err := f.touchPages(); err != nil {
			return fmt.Errorf("warm up %s: %w", f.path, errors.Join(err, f.Backed(f.size)))
		}
	}
	if o.MemoryLock != LockNone {
		o.Optional.Record("mlock", f.region.Lock(0, f.size, o.MemoryLock == LockOnFault), "pages stay unlocked")
	}
	return nil
}

// populate makes the pages of [off, off+n) and reports whether it could.
func (f *File) populate(off, n int64, o *Options) bool {
	for end := off + n; off < end; off += WindowStepBytes {
		step := min(WindowStepBytes, end-off)
		if !o.Optional.Record("populate", f.region.Populate(off, step, mmap.PopulateWrite), "the writer makes pages as it goes") {
			return false
		}
	}
	return true
}

// touchPages stores a zero to every page. The file is new: it holds zeros.
func (f *File) touchPages() (err error) {
	defer mmap.Recover(&err, mmap.GuardFaults())
	for off := int64(0); off < f.size; off += pageBytes {
		f.data[off] = 0
	}
	return nil
}

// unlock lets the pages be paged out again, once the file is full.
func (f *File) unlock(o *Options) {
	if o.MemoryLock != LockNone && f.life.hold() { // else it is on its way out, and its locks with it
		defer f.life.release()
		o.Optional.Record("munlock", f.region.Unlock(0, f.size), "pages stay locked until the file is unmapped")
	}
}
