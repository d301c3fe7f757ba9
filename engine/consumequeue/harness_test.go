package consumequeue

import (
	"bytes"
	"io"
	"log/slog"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"commitlab/engine/mmap"
	"commitlab/engine/mmap/mmaptest"
	"commitlab/engine/segment"
	"commitlab/engine/stats"
)

func TestMain(m *testing.M) {
	// A Heap leaves its descriptors to the garbage collector.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("runtime.runFinalizers"))
}

// onHeap returns options for queues in memory that the race detector watches,
// with perFile units in each file.
func onHeap(perFile int64) (Options, *mmaptest.Heap) {
	heap := mmaptest.NewHeap()
	o := onDisk(perFile)
	o.Files.Mapper, o.Files.Disk = heap, heap
	return o, heap
}

// onDisk returns options for real mappings.
func onDisk(perFile int64) Options {
	return Options{
		Files: segment.Options{
			FileBytes: perFile * UnitBytes, Allocate: segment.Fallocate, Populate: segment.PopulateNone,
			WarmUp: segment.WarmUpNone, MemoryLock: segment.LockNone, Advise: segment.AdviseNormal,
			Mapper: mmap.OS, Disk: segment.OSDisk{}, Optional: stats.NewOptional(nil),
		},
		SyncPath: segment.SyncMsync, Clean: true,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

// A logBook is a logger's output that goroutines may write to.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBook) count(s string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Count(l.text.Bytes(), []byte(s))
}

func (o *Options) logTo(l *logBook) { o.Logger = slog.New(slog.NewTextHandler(l, nil)) }

// openQueue opens a queue that checks itself when the test ends.
func openQueue(t testing.TB, dir string, o Options) *Queue {
	t.Helper()
	q, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !q.closed {
			check(t, q)
			q.Close()
		}
	})
	return q
}

// reopen closes a queue and opens it with other options.
func reopen(t testing.TB, q *Queue, o Options) *Queue {
	t.Helper()
	check(t, q)
	q.Close()
	return openQueue(t, q.Dir(), o)
}

// check asserts what holds for every queue between two calls: Min ≤ Max, units of
// messages ascend in the log, MaxPhysical is the end of the last, and what Read,
// Units and LastUnit say agrees.
func check(t testing.TB, q *Queue) {
	t.Helper()
	lo, hi := q.Min(), q.Max()
	if lo < 0 || lo > hi {
		t.Fatalf("Min %d, Max %d", lo, hi)
	}
	var last Unit
	lastAt := int64(-1)
	for at := lo; at < hi; {
		units, err := q.Units(at, 7)
		if err != nil {
			t.Fatalf("units at %d of [%d, %d): %v", at, lo, hi, err)
		}
		if units.First() != at || units.Len() < 1 || units.Len() > 7 {
			t.Fatalf("units at %d: first %d, %d units", at, units.First(), units.Len())
		}
		for offset, u := range units.All() {
			read, ok := q.Read(offset)
			if ok == u.IsPrefill() || ok && read != u {
				t.Fatalf("offset %d: Units %+v, Read %+v, %v", offset, u, read, ok)
			}
			if u.IsPrefill() {
				continue
			}
			if !u.Valid() || u.PhysicalOffset < last.End() {
				t.Fatalf("offset %d: %+v behind %+v", offset, u, last)
			}
			last, lastAt = u, offset
		}
		at += int64(units.Len())
		units.Release()
	}
	if lastAt >= 0 {
		if offset, u, ok := q.LastUnit(); !ok || offset != lastAt || u != last {
			t.Fatalf("LastUnit %d %+v %v, expected %d %+v", offset, u, ok, lastAt, last)
		}
		if q.MaxPhysical() != last.End() {
			t.Fatalf("MaxPhysical %d, expected %d", q.MaxPhysical(), last.End())
		}
		if first, ok := q.Read(lo); !ok {
			t.Fatalf("at Min %d stands no message: %+v", lo, first)
		}
	}
	for _, outside := range []int64{lo - 1, hi, hi + 1, -1, 1 << 62} {
		if u, ok := q.Read(outside); ok {
			t.Fatalf("Read(%d) of [%d, %d): %+v", outside, lo, hi, u)
		}
		if _, err := q.Units(outside, 1); err != ErrNotFound {
			t.Fatalf("Units(%d) of [%d, %d): %v", outside, lo, hi, err)
		}
	}
}

// recordBytes is the size of each record that unit stands for.
const recordBytes = 100

// unit is the unit of queue offset n in a log that holds nothing but the queue.
func unit(n int64) Unit {
	return Unit{PhysicalOffset: n * recordBytes, Size: recordBytes, TagsCode: n*7919 - 3}
}

// put puts the units of [from, to).
func put(t testing.TB, q *Queue, from, to int64) {
	t.Helper()
	for n := from; n < to; n++ {
		if err := q.Put(n, unit(n)); err != nil {
			t.Fatalf("put %d: %v", n, err)
		}
	}
}

// corrected is CorrectMin of a queue whose files can be opened.
func corrected(t testing.TB, q *Queue, minPhysical int64) int64 {
	t.Helper()
	first, err := q.CorrectMin(minPhysical)
	if err != nil {
		t.Fatal(err)
	}
	return first
}

// searched is SearchByTime of a queue whose files can be opened.
func searched(t testing.TB, q *Queue, timeMs int64, bound Bound, storeTime func(Unit) (int64, bool)) int64 {
	t.Helper()
	offset, err := q.SearchByTime(timeMs, bound, storeTime)
	if err != nil {
		t.Fatal(err)
	}
	return offset
}

// wantRange asserts the watermarks, and that the messages between are those of
// unit.
func wantRange(t testing.TB, q *Queue, lo, hi int64) {
	t.Helper()
	if q.Min() != lo || q.Max() != hi {
		t.Fatalf("queue is [%d, %d), expected [%d, %d)", q.Min(), q.Max(), lo, hi)
	}
	for n := lo; n < hi; n++ {
		if u, ok := q.Read(n); !ok || u != unit(n) {
			t.Fatalf("offset %d: %+v, %v; expected %+v", n, u, ok, unit(n))
		}
	}
}
