package consumequeue

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// These tests run everything that may run at once, on memory that the race
// detector watches.

// together runs each function in a goroutine of its own, again and again, until
// the first returns.
func together(t *testing.T, writer func(), others ...func()) {
	t.Helper()
	var done atomic.Bool
	var group sync.WaitGroup
	for _, f := range others {
		group.Go(func() {
			for !done.Load() {
				f()
			}
		})
	}
	writer()
	done.Store(true)
	group.Wait()
}

func TestReadersSeeWholeUnitsBesideEverythingElse(t *testing.T) {
	const n = 3000
	o, _ := onHeap(64)
	q := openQueue(t, t.TempDir(), o)
	read := func() {
		lo, hi := q.Min(), q.Max()
		if lo > hi {
			hi = q.Max() // Min may have followed meanwhile
		}
		if lo > hi {
			t.Errorf("Min %d, Max %d", lo, hi)
		}
		for _, at := range []int64{lo, (lo + hi) / 2, hi - 1} {
			if u, ok := q.Read(at); ok && u != unit(at) {
				t.Errorf("offset %d: %+v", at, u)
			} else if !ok && at >= q.Min() && at < hi {
				t.Errorf("offset %d of [%d, %d) is missing", at, lo, hi)
			}
		}
		if units, err := q.Units(lo, 50); err == nil {
			for offset, u := range units.All() {
				if u != unit(offset) {
					t.Errorf("offset %d: %+v", offset, u)
				}
			}
			units.Release()
		}
	}
	together(t,
		func() { put(t, q, 0, n) },
		read, read,
		func() {
			hi := q.Max()
			if physical := q.MaxPhysical(); physical < hi*recordBytes {
				t.Errorf("Max %d, but MaxPhysical %d", hi, physical)
			}
			if offset, u, ok := q.LastUnit(); ok && u != unit(offset) {
				t.Errorf("last unit %d: %+v", offset, u)
			}
			at, err := q.SearchByTime((q.Min()+hi)/2*recordBytes, Lower, func(u Unit) (int64, bool) { return u.PhysicalOffset, true })
			if at > q.Max() || err != nil {
				t.Errorf("search went to %d of %d (%v)", at, q.Max(), err)
			}
		},
		func() {
			if _, err := q.Sync(0); err != nil {
				t.Error(err)
			}
		},
		func() {
			if _, err := q.DeleteBefore((q.Max()-200)*recordBytes, noon); err != nil {
				t.Error(err)
			}
			if _, err := q.Reap(noon, time.Hour); err != nil {
				t.Error(err)
			}
		},
	)
	wantRange(t, q, q.Min(), n)
}

// Frequent deletion and creation of a topic kills the Java store: dispatch writes
// into a mapping that was just removed.
func TestB24_DeleteAndCreateBesideDispatchAndReaders(t *testing.T) {
	o, _ := onHeap(16)
	table := openTable(t, t.TempDir(), o)
	read := func() {
		if q := table.Get("T", 0); q != nil {
			lo := q.Min()
			if u, ok := q.Read(lo); ok && u != unit(lo) {
				t.Errorf("offset %d: %+v", lo, u)
			}
			if units, err := q.Units(lo, 16); err == nil {
				for offset, u := range units.All() {
					if u != unit(offset) && !u.IsPrefill() {
						t.Errorf("offset %d: %+v", offset, u)
					}
				}
				units.Release()
			}
		}
	}
	together(t,
		func() {
			for n := int64(0); n < 3000; n++ {
				for { // a queue is deleted between being found and being written
					q, err := table.GetOrCreate("T", 0)
					if err == nil {
						err = q.Put(n, unit(n))
					}
					if err == nil {
						break
					}
					if !errors.Is(err, ErrClosed) {
						t.Errorf("put %d: %v", n, err)
						return
					}
				}
			}
		},
		read, read,
		func() {
			if err := table.Delete("T", noon); err != nil {
				t.Error(err)
			}
			if _, err := table.Reap(noon, time.Hour); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Millisecond)
		},
		func() {
			if _, err := table.Sync(0); err != nil {
				t.Error(err)
			}
			for _, e := range table.All() {
				if _, err := e.DeleteBefore(e.MaxPhysical(), noon); err != nil && !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
			}
		},
	)
	if _, err := table.Reap(noon, 0); err != nil {
		t.Error(err)
	}
}

func TestExtReadersSeeWholeUnits(t *testing.T) {
	x := openExt(t, t.TempDir(), extOptions(512))
	var last atomic.Int64
	together(t,
		func() {
			for i := range 2000 {
				address, err := x.Put(ExtUnit{TagsCode: int64(i), StoreTimestampMs: int64(-i), Filter: []byte{byte(i), byte(i)}})
				if err != nil {
					t.Error(err)
				}
				last.Store(address)
			}
		},
		func() {
			u, ok := x.Get(last.Load(), nil)
			if ok && (u.StoreTimestampMs != -u.TagsCode || len(u.Filter) != 2 || u.Filter[0] != byte(u.TagsCode)) {
				t.Errorf("%+v", u)
			}
		},
		func() {
			if err := x.Sync(); err != nil {
				t.Error(err)
			}
			if _, err := x.DeleteBefore(last.Load()-2000, noon); err != nil {
				t.Error(err)
			}
		},
	)
}
