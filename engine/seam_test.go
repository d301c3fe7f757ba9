package engine

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"commitlab/engine/mmap"
	"commitlab/engine/mmap/mmaptest"
	"commitlab/engine/segment"
)

// A seam stands between a store and a Heap. It shows each call to before, which
// may watch, wait, or refuse the call with an error.
type seam struct {
	heap *mmaptest.Heap

	mu     sync.Mutex
	before func(op mmaptest.Op, path string) error // guarded by mu; nil lets all pass
}

func newSeam() *seam { return &seam{heap: mmaptest.NewHeap()} }

// on replaces what watches the calls.
func (s *seam) on(before func(op mmaptest.Op, path string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = before
}

func (s *seam) call(op mmaptest.Op, path string) error {
	s.mu.Lock()
	before := s.before
	s.mu.Unlock()
	if before == nil {
		return nil
	}
	return before(op, path)
}

var errPowerOff = errors.New("the power is off")

// powerOffAt lets the first n-1 calls pass and refuses all that follow. What it
// returns tells whether it has come to that.
func (s *seam) powerOffAt(n int) (off *atomic.Bool) {
	off = new(atomic.Bool)
	var calls atomic.Int64
	s.on(func(mmaptest.Op, string) error {
		if calls.Add(1) < int64(n) {
			return nil
		}
		off.Store(true)
		return errPowerOff
	})
	return off
}

// options are o on this seam.
func (s *seam) options(o Options) Options {
	o.Mapper, o.Disk = s, s
	return small(o)
}

func (s *seam) Map(f *os.File, length int64, p mmap.Prot) (mmap.Region, error) {
	if err := s.call(mmaptest.OpMap, f.Name()); err != nil {
		return nil, err
	}
	r, err := s.heap.Map(f, length, p)
	if err != nil {
		return nil, err
	}
	return &seamRegion{Region: r, seam: s, path: f.Name()}, nil
}

func (s *seam) Fallocate(f *os.File, size int64) error {
	if err := s.call(mmaptest.OpAllocate, f.Name()); err != nil {
		return err
	}
	return s.heap.Fallocate(f, size)
}

func (s *seam) ZeroFill(f *os.File, size int64) error {
	if err := s.call(mmaptest.OpZeroFill, f.Name()); err != nil {
		return err
	}
	return s.heap.ZeroFill(f, size)
}

func (s *seam) SyncFile(f *os.File) error {
	if err := s.call(mmaptest.OpSyncFile, f.Name()); err != nil {
		return err
	}
	return s.heap.SyncFile(f)
}

func (s *seam) SyncDir(dir string) error {
	if err := s.call(mmaptest.OpSyncDir, dir); err != nil {
		return err
	}
	return s.heap.SyncDir(dir)
}

func (s *seam) PunchHole(f *os.File, off, n int64) error {
	if err := s.call(mmaptest.OpPunchHole, f.Name()); err != nil {
		return err
	}
	return s.heap.PunchHole(f, off, n)
}

func (s *seam) NextData(f *os.File, off, size int64) (int64, error) {
	return s.heap.NextData(f, off, size)
}

func (s *seam) NextHole(f *os.File, off, size int64) (int64, error) {
	return s.heap.NextHole(f, off, size)
}

func (s *seam) Truncate(f *os.File, size int64) error {
	if err := s.call(mmaptest.OpTruncate, f.Name()); err != nil {
		return err
	}
	return s.heap.Truncate(f, size)
}

func (s *seam) Rename(from, to string) error {
	if err := s.call(mmaptest.OpRename, to); err != nil {
		return err
	}
	return s.heap.Rename(from, to)
}

func (s *seam) Remove(path string) error {
	if err := s.call(mmaptest.OpRemove, path); err != nil {
		return err
	}
	return s.heap.Remove(path)
}

type seamRegion struct {
	mmap.Region
	seam *seam
	path string
}

func (r *seamRegion) Sync(off, n int64) error {
	if err := r.seam.call(mmaptest.OpSync, r.path); err != nil {
		return err
	}
	return r.Region.Sync(off, n)
}

func (r *seamRegion) SyncData(off, n int64) error {
	if err := r.seam.call(mmaptest.OpSyncData, r.path); err != nil {
		return err
	}
	return r.Region.SyncData(off, n)
}

func (r *seamRegion) WriteAt(p []byte, off int64) (int, error) {
	if err := r.seam.call(mmaptest.OpWrite, r.path); err != nil {
		return 0, err
	}
	return r.Region.WriteAt(p, off)
}

var (
	_ mmap.Mapper  = (*seam)(nil)
	_ segment.Disk = (*seam)(nil)
)
