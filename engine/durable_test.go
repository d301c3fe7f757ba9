package engine

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"commitlab/engine/mmap/mmaptest"
	"commitlab/engine/segment"
	"commitlab/engine/storedir"
)

var syncPaths = []segment.SyncPath{segment.SyncMsync, segment.SyncFdatasync, segment.SyncPwrite}

func isSync(op mmaptest.Op) bool { return op == mmaptest.OpSync || op == mmaptest.OpSyncData }

// B-82: a new file vanished in a power cut, because its directory was not
// synced. Each file has its blocks, its length and its name on disk before the
// first message in it is acknowledged; so has the directory of the log.
func TestB82_NewFileIsDurableBeforeTheFirstAcknowledgement(t *testing.T) {
	for _, path := range syncPaths {
		for _, preallocate := range []string{On, Off} {
			t.Run(fmt.Sprintf("%s preallocate=%s", path, preallocate), func(t *testing.T) {
				m := newSeam()
				dir := filepath.Join(scratch(t), "store")
				s := openStore(t, dir, m.options(Options{Flush: FlushSync, SyncPath: path, Preallocate: preallocate, Allocate: segment.Fallocate}))
				const acknowledged = mmaptest.Op("acknowledged")
				for i := range 40 {
					p := put(t, s, newMessage("t", 0, text(body(i), 1000)))
					name := segment.FileName(p.PhysicalOffset / s.opt.CommitLogFileBytes * s.opt.CommitLogFileBytes)
					m.heap.Record(mmaptest.Event{Op: acknowledged, Path: filepath.Join(s.dir.CommitLog(), name)})
				}
				trace := m.heap.Trace()
				first := func(op mmaptest.Op, path string, from int) int {
					i := slices.IndexFunc(trace[from:], func(e mmaptest.Event) bool { return e.Op == op && e.Path == path })
					if i < 0 {
						t.Fatalf("%s of %s is missing in the trace", op, path)
					}
					return from + i
				}
				files := s.Snapshot().CommitLog.Rolls
				for i := range files {
					file := filepath.Join(s.dir.CommitLog(), segment.FileName(i*s.opt.CommitLogFileBytes))
					at := 0
					for _, step := range []struct {
						op   mmaptest.Op
						path string
					}{
						{mmaptest.OpAllocate, file}, {mmaptest.OpSyncFile, file}, {mmaptest.OpSyncDir, s.dir.CommitLog()},
						{mmaptest.OpMap, file}, {acknowledged, file},
					} {
						at = first(step.op, step.path, at) + 1
					}
					if ack := first(acknowledged, file, 0) + 1; ack != at {
						t.Errorf("%s: acknowledged at %d, before the steps that end at %d", file, ack, at)
					}
				}
				if at := first(mmaptest.OpSyncDir, dir, 0); at > first(acknowledged, filepath.Join(s.dir.CommitLog(), segment.FileName(0)), 0) {
					t.Errorf("the name of the log directory was made durable after the first acknowledgement")
				}
			})
		}
	}
}

// B-09: the clean stop skipped a sync that the checkpoint and the missing abort
// marker then vouched for. Order at Close: log, checkpoint, marker, lock.
func TestB09_CloseSyncsBeforeItVouches(t *testing.T) {
	for _, path := range syncPaths {
		t.Run(string(path), func(t *testing.T) {
			m := newSeam()
			dir := scratch(t)
			s := openUnchecked(t, dir, m.options(Options{SyncPath: path, FlushIntervalMs: 1 << 30, CommitIntervalMs: 1 << 30}))
			for i := range 10 {
				put(t, s, newMessage("t", 0, body(i)))
			}
			before := readCheckpoint(t, dir)
			var syncs atomic.Int64
			m.on(func(op mmaptest.Op, _ string) error {
				if !isSync(op) {
					return nil
				}
				syncs.Add(1)
				if here, err := s.dir.AbortMarker().Present(); err != nil || !here {
					t.Errorf("log synced with the abort marker gone (%v)", err)
				}
				if now := readCheckpoint(t, dir); now != before {
					t.Errorf("log synced after the checkpoint was saved: %+v", now)
				}
				if _, err := Open(dir, s.opt); err == nil {
					t.Error("log synced with the lock given back")
				}
				return nil
			})
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			m.on(nil)
			if syncs.Load() == 0 {
				t.Error("Close synced nothing")
			}
			if after := readCheckpoint(t, dir); after.CommitLogMs <= before.CommitLogMs {
				t.Errorf("checkpoint: got %+v, was %+v", after, before)
			}
			clone := filepath.Join(scratch(t), "clone")
			if err := m.heap.CrashClone(dir, clone, nil); err != nil {
				t.Fatal(err)
			}
			again := openStore(t, clone, small(Options{}))
			if n := len(scan(t, again)); n != 10 {
				t.Errorf("after a power cut behind Close: %d records, want 10", n)
			}
		})
	}
}

// B-60: a failed sync was logged and the sender told OK. Everybody whose record
// the sync was for gets the error, and the flushed position stays.
func TestB60_FailedSyncFailsItsWholeGroup(t *testing.T) {
	for _, path := range syncPaths {
		t.Run(string(path), func(t *testing.T) {
			m := newSeam()
			s := openUnchecked(t, scratch(t), m.options(Options{Flush: FlushSync, SyncPath: path}))
			put(t, s, newMessage("t", 0, "good"))
			flushed := s.log.Flushed()

			release := make(chan struct{})
			entered := make(chan struct{}, 100)
			m.on(func(op mmaptest.Op, _ string) error {
				if !isSync(op) {
					return nil
				}
				entered <- struct{}{}
				<-release
				return syscall.EIO
			})
			const writers = 8
			errs := make(chan error, writers)
			for i := range writers {
				go func() {
					_, err := s.Put(newMessage("t", 0, body(i)))
					errs <- err
				}()
			}
			<-entered
			close(release)
			for range writers {
				if err := <-errs; !errors.Is(err, ErrSyncFailed) {
					t.Errorf("put: got %v, want ErrSyncFailed", err)
				}
			}
			if got := s.log.Flushed(); got != flushed {
				t.Errorf("flushed: got %d, was %d before the failed sync", got, flushed)
			}
			if err := s.Close(); !errors.Is(err, ErrSyncFailed) {
				t.Errorf("close: got %v, want ErrSyncFailed", err)
			}
			if here, err := s.dir.AbortMarker().Present(); err != nil || !here {
				t.Errorf("abort marker is gone after a close that lost data (%v)", err)
			}
		})
	}
}

// B-88: the sync after a failed one said OK, though the system had dropped the
// pages. After a failure nothing is accepted and nothing is called durable.
func TestB88_NoSyncAfterAFailedOneIsBelieved(t *testing.T) {
	for _, flush := range []string{FlushAsync, FlushSync} {
		for _, path := range syncPaths {
			t.Run(flush+" "+string(path), func(t *testing.T) {
				m := newSeam()
				dir := scratch(t)
				s := openUnchecked(t, dir, m.options(Options{Flush: flush, SyncPath: path, FlushIntervalMs: 1 << 30}))
				var acknowledged []stored
				for i := range 5 {
					msg := newMessage("t", 0, body(i))
					acknowledged = append(acknowledged, asStored(msg, put(t, s, msg)))
				}
				if err := s.Flush(); err != nil {
					t.Fatal(err)
				}
				durableMs := s.log.DurableMs()
				m.heap.FailSync(syscall.EIO, 1)
				if flush == FlushAsync {
					put(t, s, newMessage("t", 0, "lost"))
					if err := s.Flush(); !errors.Is(err, ErrSyncFailed) || !errors.Is(err, syscall.EIO) {
						t.Fatalf("flush: got %v, want ErrSyncFailed with EIO", err)
					}
				} else if _, err := s.Put(newMessage("t", 0, "lost")); !errors.Is(err, ErrSyncFailed) {
					t.Fatalf("put: got %v, want ErrSyncFailed", err)
				}
				for i := range 10 {
					if _, err := s.Put(newMessage("t", 0, body(i))); !errors.Is(err, ErrSyncFailed) {
						t.Fatalf("put %d after the failure: got %v, want ErrSyncFailed", i, err)
					}
				}
				if err := s.Flush(); !errors.Is(err, ErrSyncFailed) {
					t.Errorf("flush after the failure: got %v", err)
				}
				if got := s.log.DurableMs(); got != durableMs {
					t.Errorf("durable time moved from %d to %d", durableMs, got)
				}
				for _, r := range acknowledged {
					if got := read(t, s, r.offset); got != r {
						t.Errorf("read after the failure: got %+v, want %+v", got, r)
					}
				}
				clone := filepath.Join(scratch(t), "clone")
				if err := m.heap.CrashClone(dir, clone, nil); err != nil {
					t.Fatal(err)
				}
				again := openStore(t, clone, small(Options{}))
				if got := scan(t, again); !slices.Equal(got, acknowledged) {
					t.Errorf("after a power cut: %d records, want the %d acknowledged", len(got), len(acknowledged))
				}
			})
		}
	}
}

// B-88 at the end of life: the failed sync is the one of Close itself, and a
// second one there would succeed.
func TestB88_FailedSyncInCloseIsNotRetried(t *testing.T) {
	for _, flush := range []string{FlushAsync, FlushSync} {
		t.Run(flush, func(t *testing.T) {
			m := newSeam()
			s := openUnchecked(t, scratch(t), m.options(Options{Flush: flush, FlushIntervalMs: 1 << 30}))
			put(t, s, unwaited("t", 0, "lost"))
			m.heap.FailSync(syscall.EIO, 1)
			if err := s.Close(); !errors.Is(err, ErrSyncFailed) {
				t.Errorf("close: got %v, want ErrSyncFailed", err)
			}
			if here, err := s.dir.AbortMarker().Present(); err != nil || !here {
				t.Errorf("abort marker is gone after a close that lost data (%v)", err)
			}
		})
	}
}

// B-61: the first message of a new file was reported as not synced, though it
// was, since the sync looked at one file only.
func TestB61_MessageThatRollsIsAcknowledged(t *testing.T) {
	for _, path := range syncPaths {
		s := openStore(t, scratch(t), newSeam().options(Options{Flush: FlushSync, SyncPath: path, CommitLogFileBytes: 4096, SyncFlushTimeoutMs: 60_000}))
		for i := range 150 {
			put(t, s, newMessage("t", 0, text(body(i), 2500))) // one to a file
			if s.log.Flushed() < s.log.Appended() {
				t.Fatalf("message %d: acknowledged at flushed %d, appended %d", i, s.log.Flushed(), s.log.Appended())
			}
		}
		if rolls := s.Snapshot().CommitLog.Rolls; rolls != 150 {
			t.Errorf("rolls: got %d, want one a message", rolls)
		}
	}
}

// B-62: a put that raced with the shutdown was acknowledged and lost.
func TestB62_PutThatRacesWithCloseIsRefusedOrKept(t *testing.T) {
	const rounds, writers = 200, 8
	for round := range rounds {
		o := newSeam().options(Options{SyncPath: syncPaths[round%3], AppendLock: []string{LockMutex, LockSpin}[round/3%2]})
		if round%2 == 0 {
			o.Flush = FlushSync
		}
		dir := scratch(t)
		s := openUnchecked(t, dir, o)
		var mu sync.Mutex
		acknowledged := make(map[int64]stored)
		var writing sync.WaitGroup
		ready := make(chan struct{}, writers)
		for w := range writers {
			writing.Go(func() {
				for i := 0; ; i++ {
					msg := newMessage("t", int32(w), body(i))
					p, err := s.Put(msg)
					if i == round%4 {
						ready <- struct{}{}
					}
					if err != nil {
						if !errors.Is(err, ErrClosing) {
							t.Errorf("late put: got %v, want ErrClosing", err)
						}
						return
					}
					mu.Lock()
					acknowledged[p.PhysicalOffset] = asStored(msg, p)
					mu.Unlock()
					runtime.Gosched() // a writer that spins for the lock is to get it
				}
			})
		}
		for range writers {
			<-ready
		}
		if err := s.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
		writing.Wait()
		clone := filepath.Join(scratch(t), "clone")
		if err := o.Disk.(*seam).heap.CrashClone(dir, clone, nil); err != nil {
			t.Fatal(err)
		}
		again := openUnchecked(t, clone, newSeam().options(Options{}))
		got := scan(t, again)
		if len(got) != len(acknowledged) {
			t.Fatalf("round %d: %d records after Close, %d acknowledged", round, len(got), len(acknowledged))
		}
		for _, r := range got {
			if acknowledged[r.offset] != r {
				t.Fatalf("round %d: got %+v, acknowledged %+v", round, r, acknowledged[r.offset])
			}
		}
		again.Close()
	}
}

// With flush sync, messages that do not ask to wait must become durable all the
// same, and must not fill the transient buffers for ever (B-41: a mode in which
// the marker of what is durable never moved).
func TestB41_UnwaitedMessagesBecomeDurableUnderSyncFlush(t *testing.T) {
	for _, path := range syncPaths {
		t.Run(string(path), func(t *testing.T) {
			s := openStore(t, scratch(t), small(Options{Flush: FlushSync, SyncPath: path, FlushThoroughIntervalMs: 20}))
			const n = 200 // more than all transient buffers hold
			for i := range n {
				put(t, s, unwaited("t", 0, text(body(i), 1000)))
			}
			for s.log.Flushed() < s.log.Appended() {
				time.Sleep(time.Millisecond)
			}
		})
	}
}

// The abort marker and the lock are there while the store is open, the marker
// alone after a crash.
func TestAbortMarkerIsThereWhileOpen(t *testing.T) {
	dir := scratch(t)
	s := openStore(t, dir, small(Options{}))
	if here, err := storedir.Layout(dir).AbortMarker().Present(); err != nil || !here {
		t.Errorf("open store without abort marker (%v)", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close: got %v, want the result of the first", err)
	}
	if here, err := storedir.Layout(dir).AbortMarker().Present(); err != nil || here {
		t.Errorf("closed store has an abort marker (%v)", err)
	}
}

// B-10: when mapping failed, each retry left another big file until the disk was
// full. Puts fail meanwhile, no file is left, and puts work once mapping does.
func TestB10_StoreThatCannotMapLeavesNoFilesAndHeals(t *testing.T) {
	for _, preallocate := range []string{On, Off} {
		m := newSeam()
		m.heap.FailMap(syscall.ENOMEM, 1<<30)
		s := openStore(t, scratch(t), m.options(Options{Preallocate: preallocate}))
		for i := range 20 {
			if _, err := s.Put(newMessage("t", 0, body(i))); !errors.Is(err, syscall.ENOMEM) {
				t.Fatalf("preallocate %s: put %d: got %v, want ENOMEM", preallocate, i, err)
			}
			if left := names(t, s.dir.CommitLog()); len(left) > 1 {
				t.Fatalf("preallocate %s: put %d left %v", preallocate, i, left)
			}
		}
		m.heap.FailMap(nil, 0)
		_, err := s.Put(newMessage("t", 0, "healed"))
		for deadline := time.Now().Add(20 * time.Second); err != nil && time.Now().Before(deadline); _, err = s.Put(newMessage("t", 0, "healed")) {
			time.Sleep(10 * time.Millisecond) // the pause after the last attempt
		}
		if err != nil {
			t.Errorf("preallocate %s: %v", preallocate, err)
		}
	}
}
