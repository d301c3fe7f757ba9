package engine

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"commitlab/engine/consumequeue"
)

// Goal: no data race and no wrong answer with writers, readers of every kind and
// Close side by side, while log, queues and index roll. Method: the heap mapper,
// whose memory the race detector watches; every reader checks what it reads.
func TestReadersBesideWritersDispatchAndClose(t *testing.T) {
	for _, o := range []Options{{DispatchAssistBytes: 1}, {Flush: FlushSync, DispatchAssistBytes: -1}, {SyncPath: "pwrite", AppendLock: LockSpin}} {
		o.Dispatch, o.DelayLevels = On, "0s 1h"
		o.ConsumeQueueFileBytes, o.IndexSlots, o.IndexItems = 7*consumequeue.UnitBytes, 5, 30
		o.FlushIntervalConsumeQueueMs = 3
		s := openUnchecked(t, scratch(t), newSeam().options(o))
		const writers, messages = 2, 250
		var writing, reading sync.WaitGroup
		for w := range writers {
			writing.Go(func() {
				for i := range messages {
					m := keyedMessage("t", fmt.Sprintf("U%d-%d", w, i), "hot", fmt.Sprintf("%d of %d", i, w))
					m.QueueID = int32(w)
					m.Properties = append(m.Properties, "WAIT\x01false\x02"...)
					if i%50 == 49 {
						m.Properties = append(m.Properties, "DELAY\x011\x02"...)
					}
					if _, err := s.Put(m); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		reader := func(read func(i int) error) {
			reading.Go(func() {
				for i := 0; ; i++ {
					if err := read(i); errors.Is(err, ErrClosing) {
						return
					} else if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		var result [2]GetResult
		for id := range 2 {
			at := int64(0)
			reader(func(int) error { // reads its queue to the end, again and again
				r := &result[id]
				if err := s.GetInto(r, "t", int32(id), at, 5, nil); err != nil {
					return err
				}
				for i := range r.Messages {
					if v := &r.Messages[i]; v.QueueOffset != at+int64(i) || v.QueueID != int32(id) {
						return fmt.Errorf("queue %d at %d: got %d of queue %d", id, at, v.QueueOffset, v.QueueID)
					}
				}
				if at = r.NextBegin; r.Status != Found {
					at = 0
				}
				r.Release()
				return nil
			})
		}
		var views []View
		reader(func(i int) (err error) {
			key := fmt.Sprintf("U%d-%d", i%writers, i%messages)
			if i%3 == 0 {
				key = "hot"
			}
			views, err = s.AppendQuery(views[:0], "t", key, 20, 0, math.MaxInt64)
			for i := range views {
				if v := &views[i]; !hasKey(&v.Record, key) || i > 0 && v.PhysicalOffset >= views[i-1].PhysicalOffset {
					err = errors.Join(err, fmt.Errorf("query %s: record at %d with %q", key, v.PhysicalOffset, v.Properties))
				}
			}
			for i := range views {
				views[i].Release()
			}
			return err
		})
		reader(func(i int) error {
			_, err := s.OffsetByTime("t", int32(i%2), time.Now().UnixMilli(), Bound(i%2))
			s.EarliestTime("t", 0)
			if snap := s.Snapshot(); snap.DispatchedOffset > snap.CommitLog.CommittedOffset {
				return fmt.Errorf("dispatched %d, committed %d", snap.DispatchedOffset, snap.CommitLog.CommittedOffset)
			}
			return err
		})
		writing.Wait()
		for id := range int32(2) { // the delayed ones arrive too
			if err := s.Wait(t.Context(), "t", id, messages-1); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		reading.Wait()
		again := openUnchecked(t, string(s.dir), s.opt)
		if first, next := again.QueueBounds("t", 0); first != 0 || next != messages {
			t.Errorf("queue is [%d, %d), want [0, %d)", first, next, messages)
		}
	}
}
