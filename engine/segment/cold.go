package segment

import (
	"fmt"

	"commitlab/engine/fsutil"
	"commitlab/engine/mmap"
)

// Prefetch makes the pages of [pos, pos+n) present, with one system call that
// waits for the disk. The caller holds a View on the file. An error says that
// the pages are to be faulted in: the system does not know the call
// (errors.ErrUnsupported) or could not back a page.
func (f *File) Prefetch(pos, n int64) error {
	return f.region.Populate(pos, n, mmap.PopulateRead)
}

// Copy returns a View on a copy of [pos, pos+n), read with pread: it holds no
// reference on the file and outlives it. It fails as View does, and where the
// disk does not give all bytes.
func (f *File) Copy(pos, n int64) (View, error) {
	var v View
	if err := f.Extend(&v, pos, n); err != nil {
		return View{}, err
	}
	return v, nil
}

// Extend makes a View from Copy that begins at pos n bytes long. Only the bytes
// it lacks are read.
func (f *File) Extend(v *View, pos, n int64) error {
	if err := f.readable(pos, n); err != nil {
		return err
	}
	have := min(int64(len(v.bytes)), n)
	b := make([]byte, n)
	copy(b, v.bytes[:have])
	if _, err := f.ReadAt(b[have:], pos+have); err != nil { // io.EOF: the file was cut from outside
		return fmt.Errorf("segment: read [%d, +%d) of %s: %w", pos, n, f.path, err)
	}
	v.bytes = b
	return nil
}

// Evict makes the file durable and asks the system to let its page cache go.
// Locked pages are unlocked. What is in use at the moment stays; CacheStat tells.
// It is for measurements.
func (f *File) Evict() error {
	if !f.life.hold() {
		return ErrClosed
	}
	defer f.life.release()
	if err := f.SyncAll(); err != nil { // dirty pages would stay
		return err
	}
	// The mapping's own use of the pages first: what is mapped would stay, too.
	if err := f.region.Unlock(0, f.size); err != nil {
		return fmt.Errorf("unlock pages of %s: %w", f.path, err)
	}
	if err := f.region.Advise(0, f.size, mmap.DontNeed); err != nil {
		return fmt.Errorf("unmap pages of %s: %w", f.path, err)
	}
	if err := fsutil.Evict(f.f, 0, f.size); err != nil {
		return fmt.Errorf("evict %s: %w", f.path, err)
	}
	return nil
}

// CacheStat counts the pages of the file in the page cache.
func (f *File) CacheStat() (mmap.CacheStat, error) {
	if !f.life.hold() {
		return mmap.CacheStat{}, ErrClosed
	}
	defer f.life.release()
	if err := f.use(); err != nil {
		return mmap.CacheStat{}, err
	}
	return f.region.CacheStat(0, f.size)
}
