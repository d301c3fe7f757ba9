package index

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"commitlab/engine/message"
)

// One writer rolls over many files, while readers search, the service syncs and
// the cleaner deletes. Run with -race; the heap's memory is watched by it. What
// a reader must find was added before it asked, and is not deleted yet.
func TestReadersBesideTheWriter(t *testing.T) {
	const records, keep = 3000, 400
	b := newBed(t)
	s := b.open(Layout{Slots: 5, Items: 40})
	key := func(i int64) string { return fmt.Sprint("k", i%97) }

	var added, deleted atomic.Int64 // records
	var done atomic.Bool
	var all sync.WaitGroup
	background := func(step func() error) {
		all.Go(func() {
			for !done.Load() {
				if err := step(); err != nil {
					t.Error(err)
					return
				}
				runtime.Gosched()
			}
		})
	}
	for range 3 {
		i := int64(0)
		background(func() error {
			i += 13
			last := added.Load() - 1
			want := last - i%(keep/2)
			if want < 0 {
				return nil
			}
			found := false
			before := int64(records)
			c := s.Search(message.KeyHash("T", key(want)), want+1, want+1)
			for c.Next() {
				if c.Physical() >= before {
					return fmt.Errorf("candidate %d after %d", c.Physical(), before)
				}
				before = c.Physical()
				found = found || before == want
			}
			c.Release()
			if !found && want >= deleted.Load() {
				return fmt.Errorf("record %d is not found", want)
			}
			if c.Damaged() || c.Err() != nil {
				return fmt.Errorf("damaged %v, %v", c.Damaged(), c.Err())
			}
			s.Snapshot()
			return nil
		})
	}
	background(func() error { _, err := s.Step(time.Time{}); return err })
	background(func() error {
		if min := added.Load() - keep; min > 0 {
			deleted.Store(min)
			_, err := s.DeleteBefore(min, b.now, time.Hour)
			return err
		}
		return nil
	})
	for i := range int64(records) {
		add(t, s, i, i+1, key(i), "x")
		added.Store(i + 1)
	}
	done.Store(true)
	all.Wait()
	if snap := s.Snapshot(); snap.Rolls < records*2/40 || snap.Files > keep {
		t.Errorf("%d rolls, %d files left", snap.Rolls, snap.Files)
	}
}
