package engine

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"commitlab/engine/message"
)

// Goal: no data race and no wrong byte with writers, readers, flushes, snapshots
// and Close side by side. Method: the heap mapper, whose memory the race
// detector watches; every reader checks what it reads. The audit checks the end.
func TestWritersReadersFlushAndCloseSideBySide(t *testing.T) {
	for _, path := range syncPaths {
		for _, o := range []Options{
			{SyncPath: path}, {SyncPath: path, AppendLock: LockSpin, Clock: ClockExact}, {SyncPath: path, Flush: FlushSync},
			{SyncPath: path, Flush: FlushSync, Preallocate: Off, WarmUp: "touch"},
		} {
			t.Run(o.Flush+" "+string(path)+" "+o.AppendLock+o.Preallocate, func(t *testing.T) {
				s := openStore(t, scratch(t), newSeam().options(o))
				const writers, each = 4, 60
				var last atomic.Int64 // offset of some record
				var writing, reading sync.WaitGroup
				stop := make(chan struct{})
				for w := range writers {
					writing.Go(func() {
						for i := range each {
							var p PutResult
							var err error
							if i%10 == 9 {
								var results []PutResult
								if results, err = s.PutBatch([]message.Message{*newMessage("b", int32(w), body(i)), *newMessage("b", int32(w), text(body(i), 500))}); err == nil {
									p = results[1]
								}
							} else {
								p, err = s.Put(newMessage("t", int32(w), text(body(i), 40*i)))
							}
							if err != nil {
								t.Errorf("put: %v", err)
								return
							}
							last.Store(p.PhysicalOffset)
						}
					})
				}
				for range 2 {
					reading.Go(func() {
						var marks [3]int64
						for {
							select {
							case <-stop:
								return
							default:
							}
							v, err := s.At(last.Load())
							if err == nil {
								if _, _, err = message.Check(v.Bytes(), message.CheckOptions{Position: true, PhysicalOffset: v.PhysicalOffset}); err != nil {
									t.Errorf("read: %v", err)
								}
								v.Release()
							} else if !errors.Is(err, ErrNotFound) {
								t.Errorf("read: %v", err)
							}
							snap := s.Snapshot().CommitLog
							if err := snap.CheckWatermarks(); err != nil {
								t.Error(err)
							}
							for i, now := range []int64{snap.FlushedOffset, snap.CommittedOffset, snap.AppendedOffset} {
								if now < marks[i] {
									t.Errorf("watermark %d went back from %d to %d", i, marks[i], now)
								}
								marks[i] = now
							}
							runtime.Gosched()
						}
					})
				}
				reading.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						if err := s.Flush(); err != nil {
							t.Errorf("flush: %v", err)
						}
						runtime.Gosched()
					}
				})
				writing.Wait()
				close(stop)
				reading.Wait()
				if got, want := s.Snapshot().CommitLog.Appends, int64(writers*(each+each/10)); got != want {
					t.Errorf("appends: got %d, want %d", got, want)
				}
			})
		}
	}
}
