package segment

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"commitlab/engine/mmap/mmaptest"
	"commitlab/engine/stats"
)

// Create, step by step: blocks, then length and name durable, then the mapping.
func TestCreateMakesAFileDurableBeforeItIsMapped(t *testing.T) {
	steps := []mmaptest.Op{mmaptest.OpAllocate, mmaptest.OpZeroFill, mmaptest.OpSyncFile, mmaptest.OpSyncDir, mmaptest.OpMap, mmaptest.OpPopulate, mmaptest.OpLock}
	for allocate, first := range map[Allocation]mmaptest.Op{Fallocate: mmaptest.OpAllocate, ZeroFill: mmaptest.OpZeroFill, Sparse: mmaptest.OpSyncFile} {
		o, heap := newOptions()
		o.Allocate, o.Populate, o.MemoryLock = allocate, PopulateFile, LockFile
		f := newFileAt(t, o, 0)
		want := steps[slices.Index(steps, first):]
		want = slices.DeleteFunc(slices.Clone(want), func(op mmaptest.Op) bool { return op == mmaptest.OpZeroFill && first != op })
		if got := ops(heap, steps...); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", allocate, got, want)
		}
		if f.Wrote() != 0 || f.ReadPosition() != 0 || f.Flushed() != 0 || f.Full() {
			t.Errorf("%s: positions of a new file: %d, %d, %d", allocate, f.Wrote(), f.ReadPosition(), f.Flushed())
		}
	}
}

// B-10: when mapping failed, each retry left another big file. Whatever step
// fails, nothing is left, and the next attempt works.
func TestB10_FailedCreationLeavesNoFile(t *testing.T) {
	for _, op := range []mmaptest.Op{mmaptest.OpAllocate, mmaptest.OpSyncFile, mmaptest.OpSyncDir, mmaptest.OpMap} {
		o, heap := newOptions()
		dir := t.TempDir()
		path := filepath.Join(dir, FileName(0))
		heap.Fail(op, errInjected, 20)
		for range 20 {
			if _, err := Create(path, 0, o); !errors.Is(err, errInjected) || !strings.Contains(err.Error(), path) {
				t.Fatalf("%s failed: got %v, want the error with %s", op, err, path)
			}
		}
		if left := entries(t, dir); len(left) != 0 {
			t.Errorf("%s failed: left %v", op, left)
		}
		f, err := Create(path, 0, o)
		if err != nil {
			t.Fatalf("after %s failed: %v", op, err)
		}
		f.Shutdown()
	}
}

// B-71: the start was refused because the file system could not allocate. The
// call is optional: zeros are written instead, with one notice.
func TestB71_MissingFallocateIsReplacedByZeros(t *testing.T) {
	for _, errno := range []error{syscall.EOPNOTSUPP, syscall.ENOSYS, syscall.EINVAL} {
		o, heap := newOptions()
		var notices bytes.Buffer
		o.Optional = stats.NewOptional(slog.New(slog.NewTextHandler(&notices, nil)))
		heap.Fail(mmaptest.OpAllocate, fmt.Errorf("%w: %w", errors.ErrUnsupported, errno), 3)
		for i := range 3 {
			newFileAt(t, o, int64(i)*o.FileBytes)
		}
		if n := count(heap, mmaptest.OpZeroFill); n != 3 {
			t.Errorf("%v: %d files filled with zeros, want 3", errno, n)
		}
		if got := o.Optional.Outcomes()["fallocate"]; !strings.Contains(got, errno.Error()) {
			t.Errorf("%v: outcome %q", errno, got)
		}
		if said := notices.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, "fallocate") || !strings.Contains(said, "filled with zeros") {
			t.Errorf("%v: three files give the notices\n%swant one that says what is done instead", errno, said)
		}
	}
	o, heap := newOptions()
	heap.Fail(mmaptest.OpAllocate, syscall.ENOSPC, 1)
	if _, err := Create(filepath.Join(t.TempDir(), FileName(0)), 0, o); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("full disk: got %v, want ENOSPC and no attempt to write zeros", err)
	}
}

// Locks, populates and advice that fail are recorded, not fatal.
func TestOptionalCallsMayFail(t *testing.T) {
	o, heap := newOptions()
	o.Populate, o.MemoryLock, o.Advise = PopulateFile, LockFile, AdviseHugePage
	for _, op := range []mmaptest.Op{mmaptest.OpPopulate, mmaptest.OpLock, mmaptest.OpAdvise} {
		heap.Fail(op, errInjected, 1)
	}
	f := newFileAt(t, o, 0)
	appendBytes(t, f, 100, 1)
	for _, call := range []string{"populate", "mlock", "madvise hugepage"} {
		if got := o.Optional.Outcomes()[call]; !strings.HasPrefix(got, "failed: ") {
			t.Errorf("%s: outcome %q", call, got)
		}
	}
}

// H10: bounds were compared in 32 bits, so that a size from a damaged record passed,
// and the file stayed referenced for ever. Sums that overflow are refused, and what was
// refused holds nothing.
func TestReserveAndViewKeepWithinTheirBounds(t *testing.T) {
	o, _ := newOptions()
	f := newFileAt(t, o, 0)
	appendBytes(t, f, 1000, 1)
	if b, err := f.Reserve(testFileBytes - 1000); err != nil || len(b) != cap(b) || len(b) != testFileBytes-1000 {
		t.Errorf("the rest of the file: %d bytes, capacity %d, %v", len(b), cap(b), err)
	}
	if _, err := f.Reserve(testFileBytes - 999); err == nil {
		t.Error("one byte beyond the file was reserved")
	}
	for _, r := range [][2]int64{{-1, 1}, {0, -1}, {0, 1001}, {1000, 1}, {1 << 62, 1 << 62}, {999, 1<<63 - 1}} {
		if v, err := f.View(r[0], r[1]); err == nil {
			v.Release()
			t.Errorf("view [%d, +%d) of 1000 readable bytes", r[0], r[1])
		}
	}
	v, err := f.View(0, 1000)
	if err != nil || len(v.Bytes()) != 1000 || cap(v.Bytes()) != 1000 {
		t.Errorf("view of all: %d bytes, capacity %d, %v", len(v.Bytes()), cap(v.Bytes()), err)
	}
	v.Clip(10)
	if len(v.Bytes()) != 10 {
		t.Errorf("clipped to %d bytes, want 10", len(v.Bytes()))
	}
	v.Release()
	if f.References() != 1 {
		t.Errorf("references: got %d, want the owner's", f.References())
	}
	f.Seal()
	if !f.Full() || f.ReadPosition() != testFileBytes {
		t.Errorf("sealed file ends at %d", f.ReadPosition())
	}
}

// Only what the call covered counts as flushed, and nothing after a failure.
func TestSyncMovesThePositionOnlyOnSuccess(t *testing.T) {
	for _, path := range []SyncPath{SyncMsync, SyncFdatasync} {
		o, heap := newOptions()
		f := newFileAt(t, o, 0)
		appendBytes(t, f, 1000, 1)
		heap.FailSync(syscall.EIO, 1)
		if n, err := f.Sync(path); n != 0 || !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), f.Path()) {
			t.Errorf("%s: failed sync: %d, %v", path, n, err)
		}
		if f.Flushed() != 0 {
			t.Errorf("%s: flushed %d after a failed sync", path, f.Flushed())
		}
		if n, err := f.Sync(path); n != 1000 || err != nil || f.Flushed() != 1000 {
			t.Errorf("%s: sync: %d, %v, flushed %d", path, n, err, f.Flushed())
		}
		before := len(heap.Trace())
		if n, err := f.Sync(path); n != 0 || err != nil || len(heap.Trace()) != before {
			t.Errorf("%s: nothing to sync: %d, %v, %d calls", path, n, err, len(heap.Trace())-before)
		}
	}
}

func TestSyncOfAFileCutFromOutsideFails(t *testing.T) {
	o, _ := newOptions()
	f := newFileAt(t, o, 0)
	appendBytes(t, f, 1000, 1)
	if err := os.Truncate(f.Path(), 500); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Sync(SyncMsync); err == nil || !strings.Contains(err.Error(), "cut from outside") || f.Flushed() != 0 {
		t.Errorf("got %v, flushed %d", err, f.Flushed())
	}
	if err := f.Backed(1); err == nil || !strings.Contains(err.Error(), "expected 16384") {
		t.Errorf("backed: got %v", err)
	}
}

// A fault may be on any page of a record, not only on its first.
func TestBackedLooksAtEveryPage(t *testing.T) {
	o, heap := newOptions()
	f := newFileAt(t, o, 0)
	appendBytes(t, f, 4000, 1)
	before := count(heap, mmaptest.OpWrite)
	if err := f.Backed(5000); err != nil { // pages 0, 1 and 2
		t.Fatal(err)
	}
	if n := count(heap, mmaptest.OpWrite) - before; n != 3 {
		t.Errorf("looked at %d pages, want 3", n)
	}
	if err := f.Backed(1 << 40); err != nil {
		t.Errorf("beyond the file: %v", err)
	}
}

// Erase makes the tail zero, durably, from any position; what is before stays.
func TestEraseMakesTheTailZero(t *testing.T) {
	for _, hole := range []bool{true, false} {
		for _, all := range []bool{true, false} {
			for _, pos := range []int64{0, 1, 100, pageBytes - 1, pageBytes, pageBytes + 1, testFileBytes - 1, testFileBytes} {
				o, heap := newOptions()
				dir := t.TempDir()
				f, err := Create(filepath.Join(dir, FileName(0)), 0, o)
				if err != nil {
					t.Fatal(err)
				}
				appendBytes(t, f, testFileBytes, 9)
				if _, err := f.Sync(SyncMsync); err != nil {
					t.Fatal(err)
				}
				if !hole {
					heap.Fail(mmaptest.OpPunchHole, errors.ErrUnsupported, 1)
				}
				if err := f.Erase(pos, all, o); err != nil {
					t.Fatal(err)
				}
				f.Shutdown()
				want := append(bytes.Repeat([]byte{9}, int(pos)), make([]byte, testFileBytes-pos)...)
				clone := filepath.Join(t.TempDir(), "clone")
				if err := heap.CrashClone(dir, clone, nil); err != nil {
					t.Fatal(err)
				}
				for _, dir := range []string{dir, clone} {
					if got, err := os.ReadFile(filepath.Join(dir, FileName(0))); err != nil || !bytes.Equal(got, want) {
						t.Errorf("erased from %d, hole %v, all %v: the file in %s is not as it must be (%v)", pos, hole, all, filepath.Base(dir), err)
					}
				}
			}
		}
	}
}
