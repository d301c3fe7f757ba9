package segment

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// Never as the patience of Destroy leaves readers their pages for as long as they
// like.
const Never = time.Duration(math.MaxInt64)

// ending is the last part of a file's life, from the first Destroy or Shutdown on.
// Name, mapping and blocks each have an end of their own.
type ending struct {
	reaper *Reaper // immutable; nil: whoever gives up the last reference does its work

	doomed atomic.Bool // Destroy was called: the log begins behind this file

	mu          sync.Mutex
	destroyedAt time.Time // guarded by mu; zero before the first Destroy
	began       time.Time // guarded by mu; the same by the clock of the process
	reuse       bool      // guarded by mu; the file may become a spare
	spare       string    // guarded by mu; its path as one, if it did
	unlinked    bool      // guarded by mu; the name is gone from the log for good
	unused      bool      // guarded by mu; the last reference is gone
	gone        bool      // guarded by mu; unmapped and closed
	closeErr    error     // guarded by mu

	work sync.Mutex // orders system calls on mapping and descriptor
	// Guarded by work.
	freed    int64 // bytes at the end of the file that were freed ahead of the close
	rest     bool  // no more pieces: the close frees what is left
	unmapped bool
	closed   bool
}

// Destroy takes the file down: name unlinked, no new references, mapping removed
// and blocks freed when the last reference is gone, by the reaper as its option
// says. It reports whether the file is wholly gone; a name that could not be
// removed is tried again with the next call. Called again while readers still
// hold it, and at least force after the first call, it exchanges the pages under
// the readers for zeros, so that the disk space is free; their views are revoked
// and the address range goes with the last Release. Safe to call again after
// success, and from several goroutines.
func (f *File) Destroy(now time.Time, force time.Duration) (gone bool, err error) {
	e := &f.end
	e.doomed.Store(true)
	e.mu.Lock()
	first := e.destroyedAt.IsZero()
	if first {
		e.destroyedAt, e.began = now, time.Now()
	}
	overdue := !first && now.Sub(e.destroyedAt) >= force
	named := !e.unlinked
	e.mu.Unlock()

	if named {
		err = f.unname()
	}
	f.life.shutdown()
	if overdue {
		err = errors.Join(err, f.revoke())
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone {
		return e.unlinked, errors.Join(err, e.closeErr)
	}
	return false, err
}

// Doomed reports whether Destroy was called.
func (f *File) Doomed() bool { return f.end.doomed.Load() }

// Held reports whether readers hold a file that was shut down.
func (f *File) Held() bool {
	f.end.mu.Lock()
	defer f.end.mu.Unlock()
	return !f.end.unused
}

// Waiting reports whether a destroyed file that nobody uses any more is still to be
// taken down, by the reaper.
func (f *File) Waiting() bool {
	f.end.mu.Lock()
	defer f.end.mu.Unlock()
	return f.end.unused && !f.end.gone
}

// OfferReuse lets the Destroy that follows keep the file as a spare, if the reaper
// has spares and the log wrote all of its bytes itself.
func (f *File) OfferReuse() {
	f.end.mu.Lock()
	defer f.end.mu.Unlock()
	f.end.reuse = f.fresh
}

// unname takes the file out of the directory of the log, durably. After a failure
// it may be called again.
func (f *File) unname() error {
	f.end.mu.Lock()
	reuse := f.end.reuse && f.end.reaper != nil && f.end.reaper.opt.Spares != nil
	f.end.mu.Unlock()
	if !reuse {
		return f.unlink()
	}
	start := time.Now()
	r := f.end.reaper
	spare, ok, err := r.opt.Spares.promise(f.path)
	if !ok {
		r.opt.Optional.Record("recycle", err, "files are removed")
		return f.unlink()
	}
	f.end.mu.Lock()
	f.end.spare, f.end.unlinked = spare, err == nil
	f.end.reuse = false // if its directories could not be synced the next try does only that
	f.end.mu.Unlock()
	f.took(StepRecycle, start, f.size)
	return err
}

// unlink removes the name, durably.
func (f *File) unlink() error {
	start := time.Now()
	if err := f.disk.Remove(f.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", f.path, err)
	}
	if err := f.disk.SyncDir(filepath.Dir(f.path)); err != nil {
		return fmt.Errorf("sync directory of %s: %w", f.path, err)
	}
	f.took(StepUnlink, start, f.size)
	f.end.mu.Lock()
	defer f.end.mu.Unlock()
	f.end.unlinked = true
	return nil
}

// revoke takes the pages from under the readers, if there are any left.
func (f *File) revoke() error {
	if !f.Held() || f.revoked.Load() {
		return nil
	}
	f.end.work.Lock()
	// Either the last reader has just gone, or there is no mapping, and it will be
	// refused one.
	if f.end.unmapped || !f.opened.Load() {
		f.end.work.Unlock()
		return nil
	}
	start := time.Now()
	f.revoked.Store(true) // before the bytes change
	err := f.region.ReplaceWithZeros()
	if err != nil {
		f.revoked.Store(false)
	}
	f.end.work.Unlock()
	if err != nil {
		return fmt.Errorf("replace mapping of %s: %w", f.path, err)
	}
	f.took(StepReplace, start, f.size)
	f.end.reaper.give(f)
	return nil
}

// cleanup runs once, when the last reference is gone.
func (f *File) cleanup() {
	if f.stage != nil {
		f.stage.drop()
	}
	e := &f.end
	e.mu.Lock()
	e.unused = true
	destroyed, began := !e.destroyedAt.IsZero(), e.began
	e.mu.Unlock()
	if !destroyed { // the file stays on disk
		f.takeDown()
		return
	}
	f.took(StepWait, began, f.size)
	e.reaper.give(f)
}

// takeDown does all that is due at once and returns how many bytes of the disk
// that freed.
func (f *File) takeDown() (freed int64) {
	for {
		worked, n := f.takeDownStep(whole{})
		if !worked {
			return freed
		}
		freed += n
	}
}

// takeDownStep does one system call of those that are due, and reports whether
// there was one and how many bytes of the disk it freed.
func (f *File) takeDownStep(way freeing) (worked bool, freed int64) {
	e := &f.end
	e.work.Lock()
	defer e.work.Unlock()
	e.mu.Lock()
	unused, removed := e.unused, e.unlinked && e.spare == ""
	e.mu.Unlock()
	free := unused || f.revoked.Load() // nobody reaches the pages of the file
	if free && removed && f.opened.Load() && !e.closed && !e.rest {
		if n := way.piece(f, f.size-e.freed); n > 0 {
			e.freed += n
			return true, n
		}
		e.rest = true
	}
	return f.closeStep(unused, free)
}

// closeStep unmaps or closes, whichever is next.
func (f *File) closeStep(unused, free bool) (worked bool, freed int64) {
	e := &f.end
	start := time.Now()
	var err error
	switch {
	case unused && !f.opened.Load() && !e.closed: // there never was a mapping: the blocks went with the name
		e.unmapped, e.closed, freed = true, true, f.size
	case unused && !e.unmapped && e.spare != "" && !f.revoked.Load(): // mapping and descriptor go on
		e.unmapped, e.closed = true, true
		f.rest()
		f.keepSpare(spare{path: e.spare, file: f.f, region: f.region})
		f.took(StepClose, start, 0)
	case unused && !e.unmapped:
		e.unmapped = true
		if err = f.region.Unmap(); err != nil {
			err = fmt.Errorf("unmap %s: %w", f.path, err)
		}
		f.took(StepUnmap, start, f.size)
	case free && !e.closed:
		e.closed, freed = true, f.size-e.freed
		if err = f.f.Close(); err != nil {
			err = fmt.Errorf("close %s: %w", f.path, err)
		}
		if e.spare != "" { // guarded by mu, but settled before the file was given up
			freed = 0
			f.keepSpare(spare{path: e.spare})
		}
		f.took(StepClose, start, freed)
	default:
		return false, 0
	}
	e.mu.Lock()
	e.closeErr = errors.Join(e.closeErr, err)
	e.gone = e.unmapped && e.closed
	last := e.gone && !e.destroyedAt.IsZero()
	e.mu.Unlock()
	if last {
		f.took(StepTotal, e.began, f.size)
	}
	return true, freed
}

// keepSpare hands a spare over.
func (f *File) keepSpare(s spare) {
	r := f.end.reaper
	r.opt.Optional.Record("keep a spare file", r.opt.Spares.keep(s), "it is removed")
}

// took tells the observer of a step of a destruction.
func (f *File) took(step string, start time.Time, bytes int64) {
	if r := f.end.reaper; r != nil && r.opt.Observe != nil {
		r.opt.Observe(DestroyStep{Path: f.path, Name: step, Start: start, Duration: time.Since(start), Bytes: bytes})
	}
}
