package segment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"commitlab/engine/mmap"
)

// spareBytes bounds the disk space that waits to be used again, mostSpares the files. Two
// may wait whatever their size: deletion comes in batches.
const (
	spareBytes = 1 << 30
	mostSpares = 16
)

// Spares are files that their log has no use for any more and that will be its
// next ones: their blocks are there, written once, and need neither be freed nor
// found. They wait in a directory of their own, next to that of the log.
//
//	log directory ──Destroy: rename──► spares directory ──Create: rename──► log directory
//
// A spare keeps its mapping, so that its pages need not be found again, unless readers
// were left without pages. It keeps the bytes of its former life, too; only its first
// page is erased. They are records of smaller log offsets than the place where they
// then stand, so whoever compares the physical offset that a record states with its
// place never takes them for records. The directory exists while files may have such
// bytes: from Prepare until the log was closed in order, and has erased what is left
// of them, or was recovered.
//
// Safe for concurrent use.
type Spares struct {
	dir  string // immutable
	disk Disk   // immutable
	most int64  // immutable; files that may wait

	mu       sync.Mutex
	promised map[string]bool // guarded by mu; paths of renamed files that are still in use
	waiting  []spare         // guarded by mu; files that may be used
	prepared bool            // guarded by mu
	closed   bool            // guarded by mu

	idle, used atomic.Int64 // files that wait, and that were used again so far
}

// A spare is a file that nobody uses.
type spare struct {
	path   string
	file   *os.File    // nil: to be opened and mapped again
	region mmap.Region // of file
}

// discard removes the file.
func (s spare) discard(disk Disk) error {
	err := disk.Remove(s.path)
	if s.file != nil {
		err = errors.Join(err, s.region.Unmap(), s.file.Close())
	}
	return err
}

// NewSpares returns spares of fileBytes each that take no file before Prepare.
func NewSpares(dir string, disk Disk, fileBytes int64) *Spares {
	return &Spares{dir: dir, disk: disk, most: max(2, min(spareBytes/fileBytes, mostSpares)), promised: make(map[string]bool)}
}

// Prepare makes the directory, if need be. Whatever the log holds by then has to be
// known for durable: a recovery that finds the directory doubts every other record
// without a checksum over all of it.
func (s *Spares) Prepare() error {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return fmt.Errorf("directory of spare files: %w", err)
	}
	if err := s.sync(filepath.Dir(s.dir)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prepared = true
	return nil
}

// RemoveSpares removes the spare files in dir and, with all, the directory. Without
// the directory there is nothing to do.
func RemoveSpares(dir string, disk Disk, all bool) error {
	left, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range left {
		if base, bad := strconv.ParseInt(e.Name(), 10, 64); bad == nil && e.Name() == FileName(base) {
			err = errors.Join(err, disk.Remove(filepath.Join(dir, e.Name())))
		}
	}
	if err == nil && all {
		err = errors.Join(disk.Remove(dir), disk.SyncDir(filepath.Dir(dir)))
	}
	if err != nil {
		return fmt.Errorf("remove spare files: %w", err)
	}
	return nil
}

// promise moves the file at path to the spares, durably, and returns its new path.
// It is used once keep is called. ok is false before Prepare, and if there are enough
// spares already.
func (s *Spares) promise(path string) (spare string, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.prepared || s.closed || int64(len(s.promised)+len(s.waiting)) >= s.most {
		return "", false, nil
	}
	spare = filepath.Join(s.dir, filepath.Base(path))
	if err := s.disk.Rename(path, spare); err != nil {
		return "", false, fmt.Errorf("keep %s as a spare: %w", path, err)
	}
	s.promised[spare] = true
	return spare, true, s.sync(filepath.Dir(path)) // the other name need not last
}

// keep says that nobody uses a promised file any more, and takes what is left of it
// over. It erases its first page, so that nobody has to wait for that later.
func (s *Spares) keep(kept spare) error {
	err := s.eraseHead(kept)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.promised[kept.path] { // its name is gone already
		if kept.file == nil {
			return nil
		}
		return errors.Join(kept.region.Unmap(), kept.file.Close())
	}
	delete(s.promised, kept.path)
	if err != nil {
		return errors.Join(fmt.Errorf("erase the first page of %s: %w", kept.path, err), kept.discard(s.disk))
	}
	s.waiting = append(s.waiting, kept)
	s.idle.Add(1)
	return nil
}

// take renames a spare to path, durably, and reports whether there was one.
func (s *Spares) take(path string) (taken spare, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return spare{}, false, nil
	}
	taken = s.waiting[0]
	s.waiting = s.waiting[1:]
	s.idle.Add(-1)
	if err := s.disk.Rename(taken.path, path); err != nil {
		return spare{}, false, errors.Join(fmt.Errorf("use %s again: %w", taken.path, err), taken.discard(s.disk))
	}
	taken.path = path
	if err := s.sync(filepath.Dir(path)); err != nil {
		return spare{}, false, errors.Join(err, taken.discard(s.disk))
	}
	if taken.file != nil {
		taken.region.Renamed(path)
	}
	s.used.Add(1)
	return taken, true, nil
}

// eraseHead makes the first page zeros, durably: whoever looks only there sees a
// new file.
func (s *Spares) eraseHead(kept spare) error {
	zeros := make([]byte, pageBytes)
	if kept.file != nil {
		_, err := kept.region.WriteAt(zeros, 0)
		return errors.Join(err, kept.region.SyncData(0, pageBytes))
	}
	f, err := os.OpenFile(kept.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(zeros, 0)
	if err == nil {
		err = s.disk.SyncFile(f)
	}
	return errors.Join(err, f.Close())
}

func (s *Spares) sync(dir string) error {
	if err := s.disk.SyncDir(dir); err != nil {
		return fmt.Errorf("sync directory of a spare file: %w", err)
	}
	return nil
}

// Drop removes the spares that wait, to make room on the disk.
func (s *Spares) Drop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drop()
}

// drop is Drop for a caller that holds mu.
func (s *Spares) drop() error {
	var errs []error
	for _, kept := range s.waiting {
		errs = append(errs, kept.discard(s.disk))
	}
	s.waiting = nil
	s.idle.Store(0)
	return errors.Join(errs...)
}

// Waiting is the number of files that may be used.
func (s *Spares) Waiting() int { return int(s.idle.Load()) }

// Used is how many files were used again.
func (s *Spares) Used() int64 { return s.used.Load() }

// Close removes all spares, also those that readers still hold, who keep their
// pages. The directory stays; see RemoveSpares.
func (s *Spares) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	errs := []error{s.drop()}
	for path := range s.promised {
		errs = append(errs, s.disk.Remove(path))
	}
	clear(s.promised)
	return errors.Join(errs...)
}
