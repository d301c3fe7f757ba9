package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Goal: a group's members return only when their record was written, in groups
// that do not overlap. Method: virtual time; a sync takes 1 ms, 50 writers
// append 20 records each.
func TestGroupReturnsAfterTheSyncOfItsRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []byte
		syncs, writing := 0, false
		w := newGroupWriter(func(records []byte) error {
			if writing {
				t.Error("two groups are written at the same time")
			}
			writing = true
			time.Sleep(time.Millisecond)
			log = append(log, records...)
			syncs++
			writing = false
			return nil
		})
		const writers, each = 50, 20
		var all sync.WaitGroup
		for i := range writers {
			all.Go(func() {
				for j := range each {
					record := fmt.Appendf(nil, "<%d.%d>", i, j)
					if err := w.append(record); err != nil {
						t.Errorf("append %s: %v", record, err)
					}
				}
			})
		}
		all.Wait()
		for i := range writers {
			for j := range each {
				if record := fmt.Appendf(nil, "<%d.%d>", i, j); bytes.Count(log, record) != 1 {
					t.Errorf("record %s is %d times in the log, want once", record, bytes.Count(log, record))
				}
			}
		}
		if syncs > 2*each+2 {
			t.Errorf("%d syncs for %d records of each of %d writers: groups do not form", syncs, each, writers)
		}
	})
}

func TestGroupIsDurableOnReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var durable []byte
		w := newGroupWriter(func(records []byte) error {
			time.Sleep(time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			durable = append(durable, records...)
			return nil
		})
		var all sync.WaitGroup
		for i := range 30 {
			all.Go(func() {
				for j := range 10 {
					record := fmt.Appendf(nil, "<%d.%d>", i, j)
					_ = w.append(record) // write never fails here
					mu.Lock()
					if !bytes.Contains(durable, record) {
						t.Errorf("append of %s returned before it was durable", record)
					}
					mu.Unlock()
				}
			})
		}
		all.Wait()
	})
}

func TestGroupTellsEveryMemberOfAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("disk is gone")
		calls := 0
		w := newGroupWriter(func([]byte) error {
			time.Sleep(time.Millisecond)
			if calls++; calls == 1 {
				return nil
			}
			return broken
		})
		var all sync.WaitGroup
		var mu sync.Mutex
		failed := 0
		for range 10 {
			all.Go(func() {
				for range 2 {
					if err := w.append([]byte("x")); errors.Is(err, broken) {
						mu.Lock()
						failed++
						mu.Unlock()
					}
				}
			})
		}
		all.Wait()
		// The first group held at least its leader.
		if failed < 10 || failed > 19 {
			t.Errorf("%d of 20 appends failed; want all but those of the first group", failed)
		}
	})
}

func TestGroupReusesItsBuffers(t *testing.T) {
	w := newGroupWriter(func([]byte) error { return nil })
	record := make([]byte, 1024)
	for range 10 {
		_ = w.append(record)
	}
	// The channel that wakes a group is the one thing made anew.
	if allocs := testing.AllocsPerRun(100, func() { _ = w.append(record) }); allocs > 1 {
		t.Errorf("%v allocations per group, want 1", allocs)
	}
}
