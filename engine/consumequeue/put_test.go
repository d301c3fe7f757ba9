package consumequeue

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"commitlab/engine/mmap/mmaptest"
	"commitlab/engine/segment"
)

func TestPutGoesOnAcrossFiles(t *testing.T) {
	o, _ := onHeap(5)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 12)
	wantRange(t, q, 0, 12)
	if got := q.MaxPhysical(); got != 12*recordBytes {
		t.Errorf("MaxPhysical %d", got)
	}
	if q.Files() != 3 {
		t.Errorf("%d files", q.Files())
	}
	wantRange(t, reopen(t, q, o), 0, 12)
}

// What was dispatched before a restart is dispatched again after it.
func TestPutOfWhatStandsThereChangesNothing(t *testing.T) {
	o, heap := onHeap(5)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 12)
	before := len(heap.Trace())
	put(t, q, 0, 12)
	wantRange(t, q, 0, 12)
	if after := heap.Trace(); len(after) != before {
		t.Errorf("putting again did %v", after[before:])
	}
}

// In the Java store (its fault H12) a unit ahead of its place is appended all the
// same, and from then on positions and offsets of the queue disagree.
func TestPutRefusesAnotherPlaceThanItsOwn(t *testing.T) {
	o, _ := onHeap(5)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 7)
	var gap *GapError
	if err := q.Put(9, unit(9)); !errors.As(err, &gap) || gap.QueueOffset != 9 || gap.Max != 7 {
		t.Errorf("put 2 ahead: %v", err)
	}
	var conflict *ConflictError
	if err := q.Put(3, unit(9)); !errors.As(err, &conflict) || conflict.Have != unit(3) || conflict.Want != unit(9) {
		t.Errorf("put over another unit: %v", err)
	}
	wrongTags := unit(3)
	wrongTags.TagsCode++
	if err := q.Put(3, wrongTags); !errors.As(err, &conflict) {
		t.Errorf("put over other tags: %v", err)
	}
	for _, err := range []error{gap, conflict} {
		if text := err.Error(); !strings.Contains(text, q.Dir()) || !strings.Contains(text, " offset ") {
			t.Errorf("%q names neither queue nor offset", text)
		}
	}
	wantRange(t, q, 0, 7)
	put(t, q, 7, 8)
}

func TestPutRefusesWhatIsNoUnit(t *testing.T) {
	o, _ := onHeap(5)
	q := openQueue(t, t.TempDir(), o)
	for offset, u := range map[int64]Unit{
		0: {}, 1: prefill, 2: {PhysicalOffset: -1, Size: 1}, 3: {PhysicalOffset: math.MaxInt64, Size: 1},
		-1: unit(0), math.MaxInt64: unit(0), math.MaxInt64 / UnitBytes: unit(0),
	} {
		if err := q.Put(offset, u); !errors.Is(err, ErrUnit) {
			t.Errorf("put %+v at %d: %v", u, offset, err)
		}
	}
	wantRange(t, q, 0, 0)
}

func TestAnAddressInTheQueueStandsForTheTagsCode(t *testing.T) {
	o, _ := onHeap(5)
	q := openQueue(t, t.TempDir(), o)
	stored := unit(0)
	stored.TagsCode = extAddress(40)
	if err := q.Put(0, stored); err != nil {
		t.Fatal(err)
	}
	if err := q.Put(0, unit(0)); err != nil {
		t.Error(err)
	}
	other := unit(0)
	other.Size++
	if err := q.Put(0, other); err == nil {
		t.Error("another record was taken for the one that stands there")
	}
}

// A queue is made late when its older messages are gone from the log, or after
// its directory was lost.
func TestQueueThatStartsLateIsFilledInFront(t *testing.T) {
	for _, first := range []int64{1, 4, 5, 13, 15} {
		o, _ := onHeap(5)
		q := openQueue(t, t.TempDir(), o)
		put(t, q, first, first+8)
		wantRange(t, q, first, first+8)
		base := first / 5 * 5
		if name := filepath.Base(q.files.Files()[0].Path()); name != segment.FileName(base*UnitBytes) {
			t.Errorf("first unit %d: first file %s", first, name)
		}
		for n := base; n < first; n++ {
			if u, err := q.at(n); err != nil || !u.IsPrefill() {
				t.Errorf("first unit %d: at %d stands %+v (%v)", first, n, u, err)
			}
		}
		// The Java store (H29) starts at 0 again after a restart.
		wantRange(t, reopen(t, q, o), first, first+8)
	}
}

// A queue of pre-fill units only, as a crash before the first unit leaves it,
// poisons the Java store (H3): their size makes it believe that everything below
// 2 GiB is built, and it skips what comes.
func TestH03_PrefillUnitsNeverCountAsBuilt(t *testing.T) {
	o, _ := onHeap(5)
	q := openQueue(t, t.TempDir(), o)
	if err := q.Reset(8); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if q.Min() != 8 || q.Max() != 8 || q.MaxPhysical() != 0 {
			t.Fatalf("[%d, %d), MaxPhysical %d", q.Min(), q.Max(), q.MaxPhysical())
		}
		o.Clean = !o.Clean
		q = reopen(t, q, o)
	}
	put(t, q, 8, 20)
	wantRange(t, q, 8, 20)
}

// An empty queue takes any first offset, whatever an earlier start left there.
func TestQueueWithoutMessagesStartsWhereItsFirstMessageIs(t *testing.T) {
	o, _ := onHeap(5)
	q := openQueue(t, t.TempDir(), o)
	if err := q.Reset(3); err != nil {
		t.Fatal(err)
	}
	put(t, q, 9, 12)
	wantRange(t, q, 9, 12)
	wantRange(t, reopen(t, q, o), 9, 12)
}

func TestSkipFillsAGap(t *testing.T) {
	o, _ := onHeap(5)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 3)
	if err := q.Skip(7); err != nil {
		t.Fatal(err)
	}
	put(t, q, 7, 9)
	for range 2 {
		if q.Min() != 0 || q.Max() != 9 || q.MaxPhysical() != 900 {
			t.Fatalf("[%d, %d), MaxPhysical %d", q.Min(), q.Max(), q.MaxPhysical())
		}
		for n := int64(0); n < 9; n++ {
			if u, ok := q.Read(n); ok != (n < 3 || n >= 7) || ok && u != unit(n) {
				t.Errorf("offset %d: %+v, %v", n, u, ok)
			}
		}
		q = reopen(t, q, o)
	}
	for _, bad := range []int64{8, 15, math.MaxInt64} {
		if err := q.Skip(bad); !errors.Is(err, ErrUnit) {
			t.Errorf("skip to %d: %v", bad, err)
		}
	}
}

func TestSkipOfAQueueWithoutLiveUnitsMovesMin(t *testing.T) {
	o, _ := onHeap(5)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 3)
	corrected(t, q, 1000)
	if err := q.Skip(6); err != nil {
		t.Fatal(err)
	}
	wantRange(t, q, 6, 6)
}

func TestResetStartsOver(t *testing.T) {
	for _, to := range []int64{2, 3, 20, 101} {
		o, _ := onHeap(5)
		q := openQueue(t, t.TempDir(), o)
		put(t, q, 0, 12)
		held, err := q.Units(0, 5)
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Reset(to); err != nil {
			t.Fatal(err)
		}
		wantRange(t, q, to, to)
		if held.At(4) != unit(4) {
			t.Errorf("held unit became %+v", held.At(4))
		}
		put(t, q, to, to+6)
		wantRange(t, q, to, to+6)
		wantRange(t, reopen(t, q, o), to, to+6)
		held.Release()
	}
}

// A failed append raises nothing. In the Java store (H37) the maximum is raised
// first, so that the second attempt takes the unit for built, and it is lost.
// B-50: there the store also stays unwritable when space is free again.
func TestB50_H37_PutIsWholeAfterAnyFailure(t *testing.T) {
	full := errors.New("no space left")
	for _, op := range []mmaptest.Op{mmaptest.OpAllocate, mmaptest.OpSyncFile, mmaptest.OpSyncDir, mmaptest.OpMap} {
		t.Run(string(op), func(t *testing.T) {
			o, heap := onHeap(4)
			q := openQueue(t, t.TempDir(), o)
			put(t, q, 0, 4)
			heap.Fail(op, full, 2)
			for range 2 {
				if err := q.Put(4, unit(4)); !errors.Is(err, full) {
					t.Fatalf("put: %v", err)
				}
				wantRange(t, q, 0, 4)
				if q.MaxPhysical() != 400 {
					t.Fatalf("MaxPhysical %d", q.MaxPhysical())
				}
			}
			left, err := os.ReadDir(q.Dir())
			if err != nil || len(left) != 1 {
				t.Errorf("failures left %v (%v)", left, err)
			}
			put(t, q, 4, 9)
			wantRange(t, reopen(t, q, o), 0, 9)
		})
	}
}

func TestResetThatFailsHalfWayIsFinishedByPut(t *testing.T) {
	o, heap := onHeap(4)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 6)
	full := errors.New("no space left")
	heap.Fail(mmaptest.OpAllocate, full, 1)
	if err := q.Reset(10); !errors.Is(err, full) {
		t.Fatal(err)
	}
	wantRange(t, q, 10, 10)
	put(t, q, 10, 13)
	wantRange(t, reopen(t, q, o), 10, 13)
}

// A page that the disk cannot back is an error of the Put, with its cause, and not
// the end of the process.
func TestPutToAnUnbackedPageIsAnError(t *testing.T) {
	o := onDisk(4096) // 20 pages
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 10)
	path := q.files.Last().Path()
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	n := int64(10)
	for ; n < 4096/UnitBytes; n++ { // the page that is left
		put(t, q, n, n+1)
	}
	if err := q.Put(n, unit(n)); err == nil {
		t.Fatal("put into a page that does not exist")
	}
	wantRange(t, q, 0, n)
	if err := os.Truncate(path, 4096*UnitBytes); err != nil {
		t.Fatal(err)
	}
	put(t, q, n, n+10)
	wantRange(t, q, 0, n+10)
}

func TestClosedQueueTakesNothing(t *testing.T) {
	o, _ := onHeap(4)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 3)
	q.Close()
	for name, err := range map[string]error{"put": q.Put(3, unit(3)), "skip": q.Skip(4), "reset": q.Reset(9), "cut": q.CutAt(1)} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if u, ok := q.Read(0); ok {
		t.Errorf("read %+v", u)
	}
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"file size":         func(o *Options) { o.Files.FileBytes = 2001 },
		"no file size":      func(o *Options) { o.Files.FileBytes = 0 },
		"sync path":         func(o *Options) { o.SyncPath = segment.SyncPwrite },
		"transient buffers": func(o *Options) { o.Files.Transient = new(segment.Pool) },
	} {
		o := onDisk(5)
		change(&o)
		if _, err := Open(t.TempDir(), o); err == nil {
			t.Errorf("%s: opened", name)
		}
		if _, err := OpenTable(t.TempDir(), o); err == nil {
			t.Errorf("%s: table opened", name)
		}
	}
	if _, err := Open(filepath.Join(os.DevNull, "x"), onDisk(5)); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("queue below a file: %v", err)
	}
}
