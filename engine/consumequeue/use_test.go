package consumequeue

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"commitlab/engine/mmap/mmaptest"
	"commitlab/engine/segment"
)

// Files are opened and mapped when they are first used. These tests are about what
// that use meets, and what it must not change.

// unused opens a queue over files made by hand and leaves them unopened.
func unused(t *testing.T, dir string, o Options) *Queue {
	t.Helper()
	q, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

func mappings(heap *mmaptest.Heap) (n int) {
	for _, e := range heap.Trace() {
		if e.Op == mmaptest.OpMap {
			n++
		}
	}
	return n
}

// Goal: everybody may be the first. Readers, the writer, who syncs and who cleans meet
// in files that nobody has used, and each file is mapped once.
func TestFirstUsesMayMeet(t *testing.T) {
	for round := range int64(20) {
		bothWays(t, func(t *testing.T, clean bool) {
			o, heap := onHeap(8)
			end := 17 + round%8
			o.Clean, o.Durable = clean, unit(end).End()
			q := unused(t, writeFiles(t, 8, 0, 3, unitsOf(0, end)), o)
			before := mappings(heap)
			begin := make(chan struct{})
			var group sync.WaitGroup
			for _, use := range []func(){
				func() { put(t, q, end, end+1) },
				func() {
					for n := range end {
						if u, ok := q.Read(n); n >= 4 && (!ok || u != unit(n)) {
							t.Errorf("offset %d: %+v, %v", n, u, ok)
						}
					}
				},
				func() {
					if units, err := q.Units(end-1, 1); err != nil || units.At(0) != unit(end-1) {
						t.Errorf("units: %v", err)
					} else {
						units.Release()
					}
				},
				func() {
					if at := searched(t, q, unit(9).PhysicalOffset, Lower, func(u Unit) (int64, bool) { return u.PhysicalOffset, true }); at != 9 {
						t.Errorf("search: %d", at)
					}
				},
				func() {
					if _, err := q.Sync(0); err != nil {
						t.Errorf("sync: %v", err)
					}
				},
				func() {
					if n, err := q.DeleteBefore(unit(4).PhysicalOffset, noon); n != 0 || err != nil {
						t.Errorf("%d deleted (%v)", n, err)
					}
				},
			} {
				group.Go(func() {
					<-begin
					use()
				})
			}
			close(begin)
			group.Wait()
			wantRange(t, q, 4, end+1)
			if got, want := mappings(heap)-before, q.Files(); got != want {
				t.Errorf("%d mappings of %d files", got, want)
			}
		})
	}
}

// Goal: a file that cannot be opened is an error and never the end of what stands in
// it. Method: the first mapping fails for each use in turn, and all is there after it.
func TestAFirstUseThatFailsLosesNothing(t *testing.T) {
	const end = 11
	full := errors.New("out of mappings")
	for name, use := range map[string]func(q *Queue) error{
		"units":   func(q *Queue) error { _, err := q.Units(1, 3); return err },
		"put":     func(q *Queue) error { return q.Put(end, unit(end)) },
		"confirm": func(q *Queue) error { return q.Put(3, unit(3)) },
		"skip":    func(q *Queue) error { return q.Skip(end + 1) },
		"min":     func(q *Queue) error { _, err := q.CorrectMin(unit(5).PhysicalOffset); return err },
		"delete":  func(q *Queue) error { _, err := q.DeleteBefore(unit(9).PhysicalOffset, noon); return err },
		"time": func(q *Queue) error {
			_, err := q.SearchByTime(5, Lower, func(u Unit) (int64, bool) { return u.TagsCode, true })
			return err
		},
		"addresses": func(q *Queue) error { _, _, _, err := q.AddressBounds(); return err },
		"truncate":  func(q *Queue) error { return q.TruncateTo(unit(9).End()) },
		"cut":       func(q *Queue) error { return q.CutAt(9) },
	} {
		t.Run(name, func(t *testing.T) {
			o, heap := onHeap(4)
			q := unused(t, writeFiles(t, 4, 0, 3, unitsOf(0, end)), o)
			heap.Fail(mmaptest.OpMap, full, 1)
			if err := use(q); !errors.Is(err, full) || errors.Is(err, ErrNotFound) {
				t.Errorf("got %v", err)
			}
			wantRange(t, q, 0, end)
			put(t, q, end, end+2)
			wantRange(t, q, 0, end+2)
		})
	}
	o, heap := onHeap(4)
	q := unused(t, writeFiles(t, 4, 0, 3, unitsOf(0, end)), o)
	heap.Fail(mmaptest.OpMap, full, 2)
	if _, ok := q.Read(5); ok {
		t.Error("read from a file that cannot be opened")
	}
	if got := q.Below(unit(5).End()); got != 0 {
		t.Errorf("below: %d, though that cannot be told", got)
	}
	wantRange(t, q, 0, end)
}

// A file that was there at the start and is not as it was at its first use.
func TestDamageIsFoundAtTheFirstUse(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"removed": os.Remove,
		"cut":     func(path string) error { return os.Truncate(path, 3*UnitBytes) },
	} {
		t.Run(name, func(t *testing.T) {
			o := onDisk(4)
			q := unused(t, writeFiles(t, 4, 0, 3, unitsOf(0, 11)), o)
			if err := damage(filepath.Join(q.Dir(), segment.FileName(4*UnitBytes))); err != nil {
				t.Fatal(err)
			}
			if _, err := q.Units(5, 1); err == nil || errors.Is(err, ErrNotFound) {
				t.Errorf("units: %v", err)
			}
			if _, err := q.CorrectMin(unit(6).PhysicalOffset); err == nil || q.Min() != 0 {
				t.Errorf("the minimum became %d (%v)", q.Min(), err)
			}
			if u, ok := q.Read(9); !ok || u != unit(9) {
				t.Errorf("a file beside: %+v, %v", u, ok)
			}
		})
	}
}

// Whatever stands at the ends is known without a file.
func TestEndsAreKnownWithoutAFile(t *testing.T) {
	bothWays(t, func(t *testing.T, clean bool) {
		for _, files := range []int64{1, 3} {
			for lead := range int64(3) {
				o, heap := onHeap(4)
				o.Clean = clean
				end := files*4 - 1
				units := append(make([]Unit, 0), unitsOf(0, end)...)
				for i := range lead {
					units[i] = prefill
				}
				q := unused(t, writeFiles(t, 4, 0, int(files), units), o)
				before := mappings(heap)
				at, u, ok := q.LastUnit()
				if q.Min() != lead || q.Max() != end || q.MaxPhysical() != unit(end-1).End() || !ok || at != end-1 || u != unit(end-1) {
					t.Errorf("[%d, %d) up to %d, last %d %+v %v", q.Min(), q.Max(), q.MaxPhysical(), at, u, ok)
				}
				if got := q.Below(unit(end).End()); got != end {
					t.Errorf("below: %d", got)
				}
				if mappings(heap) != before && (files == 1 || lead == 0) {
					t.Error("a file was mapped")
				}
			}
		}
	})
}

// What was read at the start is no answer any more once it was cut off.
func TestEndsFollowACut(t *testing.T) {
	o, _ := onHeap(4)
	q := unused(t, writeFiles(t, 4, 0, 2, unitsOf(0, 8)), o)
	if err := q.CutAt(4); err != nil {
		t.Fatal(err)
	}
	if at, u, ok := q.LastUnit(); !ok || at != 3 || u != unit(3) {
		t.Errorf("last unit %d %+v %v", at, u, ok)
	}
	if err := q.Reset(0); err != nil {
		t.Fatal(err)
	}
	late := Unit{PhysicalOffset: 5000, Size: 7}
	if err := q.Put(0, late); err != nil {
		t.Fatal(err)
	}
	if u, ok := q.Read(0); !ok || u != late {
		t.Errorf("offset 0: %+v, %v", u, ok)
	}
}

// Queues that nobody used are deleted without being mapped.
func TestDeletingWhatNobodyUsedMapsNothing(t *testing.T) {
	o, heap := onHeap(4)
	root := t.TempDir()
	table := openTable(t, root, o)
	put(t, create(t, table, "T", 0), 0, 11)
	put(t, create(t, table, "U", 0), 0, 11)
	table.Close()
	table = openTable(t, root, o)
	before := mappings(heap)
	if err := table.Delete("T", noon); err != nil {
		t.Fatal(err)
	}
	// All records are gone: the last file stays.
	if n, err := table.Get("U", 0).DeleteBefore(unit(11).End(), noon); n != 2 || err != nil {
		t.Errorf("%d deleted (%v)", n, err)
	}
	if held, err := table.Reap(noon.Add(time.Hour), 0); held != 0 || err != nil {
		t.Errorf("%d held (%v)", held, err)
	}
	if got := names(t, root); len(got) != 1 || mappings(heap) != before {
		t.Errorf("left: %v, %d mappings", got, mappings(heap)-before)
	}
}

// stale makes a directory of which a power cut has left a hole before the last unit.
func stale(t *testing.T, perFile int64) string {
	t.Helper()
	return writeFiles(t, perFile, 0, 1, append(unitsOf(0, 3), Unit{}, Unit{}, unit(5)))
}

// standsBehind reports what stands at an offset in the file itself.
func standsBehind(t *testing.T, dir string, offset int64) Unit {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, segment.FileName(0)))
	if err != nil {
		t.Fatal(err)
	}
	return DecodeUnit(b[offset*UnitBytes:])
}

// What an abnormal exit left behind the end is erased before anything is stored
// there, and before the store can be closed in order, but not by the start.
func TestWhatStandsBehindTheEndIsErasedInTime(t *testing.T) {
	for name, use := range map[string]func(q *Queue) error{
		"put":   func(q *Queue) error { return q.Put(3, unit(3)) },
		"sync":  func(q *Queue) error { _, err := q.Sync(0); return err },
		"cut":   func(q *Queue) error { return q.CutAt(2) },
		"reset": func(q *Queue) error { return q.Reset(0) },
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := onHeap(5000) // more than is read of a short queue
			o.Clean = false
			q := unused(t, stale(t, 5000), o)
			if _, err := q.Sync(4); err != nil || standsBehind(t, q.Dir(), 5) != unit(5) {
				t.Errorf("before: %+v (%v)", standsBehind(t, q.Dir(), 5), err)
			}
			if err := use(q); err != nil {
				t.Fatal(err)
			}
			q.Close()
			if got := standsBehind(t, q.Dir(), 5); got != (Unit{}) {
				t.Errorf("left: %+v", got)
			}
		})
	}
}

// An erase syncs the file. When that fails nobody knows what is durable of the units
// before it.
func TestAnEraseThatFailsIsAFailedSync(t *testing.T) {
	broken := errors.New("input/output error")
	for _, op := range []mmaptest.Op{mmaptest.OpSyncData, mmaptest.OpWrite} {
		for name, use := range map[string]func(q *Queue) error{
			"put":  func(q *Queue) error { return q.Put(3, unit(3)) },
			"sync": func(q *Queue) error { _, err := q.Sync(0); return err },
		} {
			t.Run(name+" "+string(op), func(t *testing.T) {
				o, heap := onHeap(5000)
				o.Clean = false
				q := unused(t, stale(t, 5000), o)
				heap.Fail(op, broken, 1)
				if err := use(q); !errors.Is(err, broken) {
					t.Errorf("got %v", err)
				}
				if _, err := q.Sync(0); !errors.Is(err, ErrSyncFailed) || !errors.Is(err, broken) {
					t.Errorf("sync: %v", err)
				}
				put(t, q, 3, 9)
				wantRange(t, q, 0, 9)
			})
		}
	}
	o, heap := onHeap(5000)
	o.Clean, o.Durable = false, unit(2).End()
	q := unused(t, stale(t, 5000), o)
	heap.Fail(mmaptest.OpMap, broken, 1)
	if _, err := q.Sync(0); !errors.Is(err, broken) || errors.Is(err, ErrSyncFailed) {
		t.Errorf("a file that cannot be opened now: %v", err)
	}
	if _, err := q.Sync(0); err != nil {
		t.Errorf("once it can: %v", err)
	}
}
