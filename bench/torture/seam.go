package torture

import (
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"commitlab/engine/mmap"
	"commitlab/engine/mmap/mmaptest"
	"commitlab/engine/segment"
)

// A seam stands between a store and its disk and shows each call to a rule, which
// may refuse it, or never return.
type seam struct {
	disk   segment.Disk
	mapper mmap.Mapper
	lies   bool // syncs do nothing and report success: the fault that a check must find
	rule   atomic.Pointer[rule]
}

// A rule judges a call before it is made. It is called concurrently.
type rule func(op mmaptest.Op, path string) error

func (s *seam) judge(op mmaptest.Op, path string) error {
	if r := s.rule.Load(); r != nil {
		return (*r)(op, path)
	}
	return nil
}

func (s *seam) setRule(r rule) { s.rule.Store(&r) }

// Map implements mmap.Mapper.
func (s *seam) Map(f *os.File, length int64, p mmap.Prot) (mmap.Region, error) {
	if err := s.judge(mmaptest.OpMap, f.Name()); err != nil {
		return nil, err
	}
	r, err := s.mapper.Map(f, length, p)
	if err != nil {
		return nil, err
	}
	return &seamRegion{Region: r, seam: s, path: f.Name()}, nil
}

// Fallocate implements segment.Disk.
func (s *seam) Fallocate(f *os.File, size int64) error {
	if err := s.judge(mmaptest.OpAllocate, f.Name()); err != nil {
		return err
	}
	return s.disk.Fallocate(f, size)
}

// ZeroFill implements segment.Disk.
func (s *seam) ZeroFill(f *os.File, size int64) error {
	if err := s.judge(mmaptest.OpZeroFill, f.Name()); err != nil {
		return err
	}
	return s.disk.ZeroFill(f, size)
}

// SyncFile implements segment.Disk.
func (s *seam) SyncFile(f *os.File) error {
	if err := s.judge(mmaptest.OpSyncFile, f.Name()); err != nil {
		return err
	}
	return s.disk.SyncFile(f)
}

// SyncDir implements segment.Disk.
func (s *seam) SyncDir(dir string) error {
	if err := s.judge(mmaptest.OpSyncDir, dir); err != nil {
		return err
	}
	return s.disk.SyncDir(dir)
}

// PunchHole implements segment.Disk.
func (s *seam) PunchHole(f *os.File, off, n int64) error {
	if err := s.judge(mmaptest.OpPunchHole, f.Name()); err != nil {
		return err
	}
	return s.disk.PunchHole(f, off, n)
}

// NextData implements segment.Disk.
func (s *seam) NextData(f *os.File, off, size int64) (int64, error) {
	return s.disk.NextData(f, off, size)
}

// NextHole implements segment.Disk.
func (s *seam) NextHole(f *os.File, off, size int64) (int64, error) {
	return s.disk.NextHole(f, off, size)
}

// Truncate implements segment.Disk.
func (s *seam) Truncate(f *os.File, size int64) error {
	if err := s.judge(mmaptest.OpTruncate, f.Name()); err != nil {
		return err
	}
	return s.disk.Truncate(f, size)
}

// Rename implements segment.Disk.
func (s *seam) Rename(from, to string) error {
	if err := s.judge(mmaptest.OpRename, from); err != nil {
		return err
	}
	return s.disk.Rename(from, to)
}

// Remove implements segment.Disk.
func (s *seam) Remove(path string) error {
	if err := s.judge(mmaptest.OpRemove, path); err != nil {
		return err
	}
	return s.disk.Remove(path)
}

// seamRegion shows the calls that reach the disk.
type seamRegion struct {
	mmap.Region
	seam *seam
	path string
}

func (r *seamRegion) Sync(off, n int64) error {
	if err := r.seam.judge(mmaptest.OpSync, r.path); err != nil || r.seam.lies {
		return err
	}
	return r.Region.Sync(off, n)
}

func (r *seamRegion) SyncData(off, n int64) error {
	if err := r.seam.judge(mmaptest.OpSyncData, r.path); err != nil || r.seam.lies {
		return err
	}
	return r.Region.SyncData(off, n)
}

func (r *seamRegion) WriteAt(p []byte, off int64) (int, error) {
	if err := r.seam.judge(mmaptest.OpWrite, r.path); err != nil {
		return 0, err
	}
	return r.Region.WriteAt(p, off)
}

// powerOff lets the first calls-1 calls pass and then none: they do not return, as
// on a machine that is off. off is closed when that begins. Mappings are not
// counted, but not made either.
func powerOff(calls int) (r rule, off <-chan struct{}) {
	went := make(chan struct{})
	var once sync.Once
	var count atomic.Int64
	return func(op mmaptest.Op, _ string) error {
		n := count.Load()
		if op != mmaptest.OpMap {
			n = count.Add(1)
		}
		if n < int64(calls) {
			return nil
		}
		once.Do(func() { close(went) })
		select {}
	}, went
}

// nothingReturns is the rule of a machine that is off.
func nothingReturns(mmaptest.Op, string) error { select {} }

// diskFull refuses room for so many files, or writes of buffers where files get
// their blocks late. refused is told of each.
func diskFull(times int, sparse bool, refused func()) rule {
	var left atomic.Int64
	left.Store(int64(times))
	return func(op mmaptest.Op, path string) error {
		needsRoom := op == mmaptest.OpAllocate || op == mmaptest.OpZeroFill || sparse && op == mmaptest.OpWrite
		if !needsRoom || left.Add(-1) < 0 {
			return nil
		}
		refused()
		return &os.PathError{Op: string(op), Path: path, Err: syscall.ENOSPC}
	}
}

// syncFails refuses the calls-th sync of a commit log file, and every later one.
func syncFails(calls int, refused func()) rule {
	var count atomic.Int64
	return func(op mmaptest.Op, path string) error {
		if op != mmaptest.OpSync && op != mmaptest.OpSyncData || !strings.Contains(path, "commitlog") {
			return nil
		}
		if count.Add(1) < int64(calls) {
			return nil
		}
		refused()
		return &os.PathError{Op: string(op), Path: path, Err: syscall.EIO}
	}
}

var (
	_ mmap.Mapper  = (*seam)(nil)
	_ segment.Disk = (*seam)(nil)
)
