package consumequeue

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"commitlab/engine/mmap"
	"commitlab/engine/segment"
)

// writeFiles makes a queue directory by hand: units one behind the other from the
// given base, then zeros up to the end of the last file.
func writeFiles(t testing.TB, perFile, base int64, files int, units []Unit) string {
	t.Helper()
	dir := t.TempDir()
	all := make([]byte, int64(files)*perFile*UnitBytes)
	for i, u := range units {
		EncodeUnit(all[i*UnitBytes:], u)
	}
	for i := range int64(files) {
		size := perFile * UnitBytes
		name := segment.FileName(base*UnitBytes + i*size)
		if err := os.WriteFile(filepath.Join(dir, name), all[i*size:(i+1)*size], 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func unitsOf(from, to int64) []Unit {
	var units []Unit
	for n := from; n < to; n++ {
		units = append(units, unit(n))
	}
	return units
}

// bothWays runs a test on a store that was closed in order and on one that was not.
func bothWays(t *testing.T, test func(t *testing.T, clean bool)) {
	for _, clean := range []bool{true, false} {
		t.Run(fmt.Sprintf("clean=%v", clean), func(t *testing.T) { test(t, clean) })
	}
}

// The Java store dies at start on a negative position if the last queue file holds
// nothing, and (H4) gains a unit of zeros if the file before it is full.
func TestB15_H04_LastFileWithoutEntries(t *testing.T) {
	bothWays(t, func(t *testing.T, clean bool) {
		for empty := 1; empty <= 3; empty++ {
			o, _ := onHeap(4)
			o.Clean = clean
			q := openQueue(t, writeFiles(t, 4, 0, 1+empty, unitsOf(0, 4)), o)
			wantRange(t, q, 0, 4)
			if err := q.TruncateTo(300); err != nil {
				t.Fatal(err)
			}
			wantRange(t, q, 0, 3)
			put(t, q, 3, 10)
			wantRange(t, reopen(t, q, o), 0, 10)
		}
	})
}

func TestOpenFindsTheEndInEveryPlace(t *testing.T) {
	bothWays(t, func(t *testing.T, clean bool) {
		const perFile, base = 4, 8
		for n := int64(0); n <= 3*perFile; n++ {
			o, _ := onHeap(perFile)
			o.Clean = clean
			q := openQueue(t, writeFiles(t, perFile, base, 3, unitsOf(base, base+n)), o)
			wantRange(t, q, base, base+n)
			if want := max(n+base, 0) * recordBytes; n > 0 && q.MaxPhysical() != want {
				t.Errorf("%d units: MaxPhysical %d, expected %d", n, q.MaxPhysical(), want)
			}
			if n > 0 {
				put(t, q, base+n, base+n+5)
				wantRange(t, q, base, base+n+5)
			}
		}
	})
}

func TestAUnitThatMakesNoSenseEndsTheQueue(t *testing.T) {
	for name, bad := range map[string]Unit{
		"zero":                {},
		"negative offset":     {PhysicalOffset: -5, Size: 10},
		"negative size":       {PhysicalOffset: 10_000, Size: -10},
		"no size":             {PhysicalOffset: 10_000},
		"before its neighbor": {PhysicalOffset: 650, Size: 10},
	} {
		t.Run(name, func(t *testing.T) {
			var log logBook
			o, _ := onHeap(4)
			o.Clean = false
			o.logTo(&log)
			units := unitsOf(0, 16)
			units[7] = bad
			q := openQueue(t, writeFiles(t, 4, 0, 4, units), o)
			wantRange(t, q, 0, 7)
			if q.Files() != 2 {
				t.Errorf("%d files are left", q.Files())
			}
			if log.count("level=WARN") != 1 {
				t.Errorf("log: %s", log.text.String())
			}
			put(t, q, 7, 16)
			wantRange(t, reopen(t, q, o), 0, 16)
		})
	}
}

// After an unclean end stale units may stand behind a hole. When the hole is
// filled exactly up to them, they must not come to life.
func TestWhatStandsBehindTheEndIsErased(t *testing.T) {
	o, _ := onHeap(8)
	o.Clean = false
	units := unitsOf(0, 8)
	units[4] = Unit{}
	q := openQueue(t, writeFiles(t, 8, 0, 1, units), o)
	wantRange(t, q, 0, 4)
	put(t, q, 4, 5)
	if err := q.Put(5, unit(20)); err != nil { // the log went another way
		t.Fatal(err)
	}
	q = reopen(t, q, o)
	if q.Max() != 6 {
		t.Errorf("Max %d", q.Max())
	}
}

func TestOpenRefusesFilesItCannotPlace(t *testing.T) {
	for name, c := range map[string]struct {
		break_ func(dir string) error
		want   []string
	}{
		"gap": {
			func(dir string) error { return os.Remove(filepath.Join(dir, segment.FileName(80))) },
			[]string{segment.FileName(160), segment.FileName(80)},
		},
		"size": {
			func(dir string) error { return os.Truncate(filepath.Join(dir, segment.FileName(80)), 60) },
			[]string{segment.FileName(80), "60", "80"},
		},
		"start within a unit": {
			func(dir string) error {
				for i := range int64(3) {
					if err := os.Rename(filepath.Join(dir, segment.FileName(80*i)), filepath.Join(dir, segment.FileName(80*i+10))); err != nil {
						return err
					}
				}
				return nil
			},
			[]string{segment.FileName(10)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := writeFiles(t, 4, 0, 3, unitsOf(0, 12))
			if err := c.break_(dir); err != nil {
				t.Fatal(err)
			}
			o, _ := onHeap(4)
			_, err := Open(dir, o)
			if err == nil {
				t.Fatal("opened")
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not name %q", err, part)
				}
			}
		})
	}
}

// After two crashes of the Java store slots point at records of other slots, since
// units behind a cut stayed and were counted on.
func TestB34_UnitsBehindTheEndOfTheLogAreCut(t *testing.T) {
	bothWays(t, func(t *testing.T, clean bool) {
		o, _ := onHeap(6)
		dir := t.TempDir()
		q := openQueue(t, dir, o)
		put(t, q, 0, 50)
		end := int64(50)
		for round := range int64(2) {
			o.Clean = clean
			q = reopen(t, q, o)
			// The log lost its last 20 records; the one before is cut in two.
			end -= 20
			if err := q.TruncateTo(end*recordBytes + recordBytes/2); err != nil {
				t.Fatal(err)
			}
			wantRange(t, q, 0, end)
			for n := end; n < end+13; n++ {
				u := unit(n)
				u.TagsCode = round
				if err := q.Put(n, u); err != nil {
					t.Fatal(err)
				}
			}
			q = reopen(t, q, o)
			for n := end; n < end+13; n++ {
				if u, ok := q.Read(n); !ok || u.TagsCode != round || u.PhysicalOffset != n*recordBytes {
					t.Fatalf("round %d, offset %d: %+v", round, n, u)
				}
			}
			if err := q.CutAt(end); err != nil {
				t.Fatal(err)
			}
			put(t, q, end, end+13)
			end += 13
			wantRange(t, q, 0, end)
		}
	})
}

// H32: with one unit to a file the Java store loops for ever or deletes the wrong
// file. H4: an all-zero last file is accepted.
func TestTruncateToAnyPlace(t *testing.T) {
	for _, perFile := range []int64{1, 2, 5, 20} {
		for n := int64(0); n <= 13; n++ {
			o, _ := onHeap(perFile)
			q := openQueue(t, t.TempDir(), o)
			put(t, q, 0, 12)
			if err := q.TruncateTo(n * recordBytes); err != nil {
				t.Fatal(err)
			}
			kept := min(n, 12)
			wantRange(t, q, 0, kept)
			if q.MaxPhysical() != kept*recordBytes {
				t.Errorf("MaxPhysical %d, expected %d", q.MaxPhysical(), kept*recordBytes)
			}
			q = reopen(t, q, o)
			wantRange(t, q, 0, kept)
			put(t, q, kept, 15)
			wantRange(t, q, 0, 15)
		}
	}
}

// The numbering of a queue goes on where it was, though all its messages were cut.
func TestTruncateKeepsWhereALateQueueStarts(t *testing.T) {
	o, _ := onHeap(5)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 8, 20)
	if err := q.TruncateTo(0); err != nil {
		t.Fatal(err)
	}
	wantRange(t, q, 8, 8)
	wantRange(t, reopen(t, q, o), 8, 8)
}

func TestTruncateTakesTheFillersOfAGapWithTheUnitsBehind(t *testing.T) {
	o, _ := onHeap(5)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 3)
	if err := q.Skip(7); err != nil {
		t.Fatal(err)
	}
	put(t, q, 7, 9)
	if err := q.TruncateTo(650); err != nil {
		t.Fatal(err)
	}
	wantRange(t, q, 0, 3)
	put(t, q, 3, 9)
	wantRange(t, q, 0, 9)
}

func TestCutAtMakesRoomForWhatTheLogSays(t *testing.T) {
	o, _ := onHeap(4)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 10)
	if err := q.CutAt(5); err != nil {
		t.Fatal(err)
	}
	wantRange(t, q, 0, 5)
	if err := q.CutAt(7); err != nil {
		t.Fatal(err)
	}
	put(t, q, 5, 7)
	wantRange(t, reopen(t, q, o), 0, 7)
}

func TestCutBelowTheFirstFileIsRefused(t *testing.T) {
	o, _ := onHeap(4)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 10, 15)
	if err := q.CutAt(7); !errors.Is(err, ErrUnit) {
		t.Errorf("cut at 7 of a queue whose first file starts at 8: %v", err)
	}
	wantRange(t, q, 10, 15)
}

// What a cut dropped is not there after a power cut either.
func TestCutIsDurable(t *testing.T) {
	o, heap := onHeap(4)
	dir := t.TempDir()
	q := openQueue(t, dir, o)
	put(t, q, 0, 10)
	if _, err := q.Sync(0); err != nil {
		t.Fatal(err)
	}
	if err := q.TruncateTo(300); err != nil {
		t.Fatal(err)
	}
	after := filepath.Join(t.TempDir(), "after")
	if err := heap.CrashClone(dir, after, nil); err != nil {
		t.Fatal(err)
	}
	o.Clean = false
	wantRange(t, openQueue(t, after, o), 0, 3)
}

// A page that the disk cannot give is an error of who asks for it first, with the file.
func TestUnreadablePagesAreAnErrorOfTheirFirstUse(t *testing.T) {
	perFile := int64(1024)
	dir := writeFiles(t, perFile, 0, 1, unitsOf(0, perFile))
	o := onDisk(perFile)
	o.Files.Mapper = cutAfterMap{dir}
	q, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	var fault *mmap.FaultError
	if _, err := q.Units(perFile-2, 1); !errors.As(err, &fault) || !strings.HasPrefix(fault.File, dir) {
		t.Errorf("units: %v", err)
	}
	if _, ok := q.Read(perFile - 2); ok {
		t.Error("read a unit that is gone")
	}
}

// cutAfterMap shortens a file once it is mapped, as an accident would.
type cutAfterMap struct{ dir string }

func (cutAfterMap) Map(f *os.File, length int64, p mmap.Prot) (mmap.Region, error) {
	region, err := mmap.OS.Map(f, length, p)
	if err == nil {
		err = os.Truncate(f.Name(), 4096)
	}
	return region, err
}

// Power cuts at random moments, each leaving any of the sectors that were not
// synced. Whatever was synced is there; what is there besides agrees with the log
// once the log was dispatched again.
func TestPowerCut(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			o, heap := onHeap([]int64{5, 20, 40, 300}[rng.IntN(4)])
			heap.LoseNames = true
			o.Clean = false
			dir := filepath.Join(t.TempDir(), "0")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			first, next, synced := int64(rng.IntN(20)), int64(0), int64(0)
			next = first
			for round := range 4 {
				q := openQueue(t, dir, o)
				if err := heap.SyncDir(dir); err != nil { // a clone's names are durable
					t.Fatal(err)
				}
				if q.Max() < synced {
					t.Fatalf("round %d: %d units were synced, %d are left", round, synced, q.Max())
				}
				redispatch(t, q, first, next)
				check(t, q)
				for range rng.IntN(120) {
					put(t, q, next, next+1)
					next++
					if rng.IntN(25) == 0 {
						if _, err := q.Sync(0); err != nil {
							t.Fatal(err)
						}
						synced = next
					}
				}
				after := filepath.Join(t.TempDir(), "cut")
				if err := heap.CrashClone(dir, after, rng); err != nil {
					t.Fatal(err)
				}
				q.Close()
				dir = after
			}
			q := openQueue(t, dir, o)
			redispatch(t, q, first, next)
			wantRange(t, q, first, next)
		})
	}
}

// redispatch puts the log again, as recovery does: where the queue disagrees, the
// log is right.
func redispatch(t testing.TB, q *Queue, from, to int64) {
	t.Helper()
	for n := from; n < to; n++ {
		err := q.Put(n, unit(n))
		var conflict *ConflictError
		if errors.As(err, &conflict) {
			if err = q.CutAt(n); err == nil {
				err = q.Put(n, unit(n))
			}
		}
		if err != nil {
			t.Fatalf("dispatch %d again: %v", n, err)
		}
	}
}

// What a killed process left in the page cache counts as not synced: the next Sync
// covers it, and what was durable before is left alone.
func TestUncleanOpenLeavesToSyncWhatMayNotBeDurable(t *testing.T) {
	o, heap := onHeap(4)
	dir := t.TempDir()
	q := openQueue(t, dir, o)
	put(t, q, 0, 6)
	if _, err := q.Sync(0); err != nil {
		t.Fatal(err)
	}
	put(t, q, 6, 10)
	q.Close() // into the page cache, no further
	o.Clean, o.Durable = false, unit(5).End()
	q = openQueue(t, dir, o)
	if n, err := q.Sync(0); n != 4*UnitBytes || err != nil {
		t.Errorf("%d bytes were left to sync (%v), want those of 4 units", n, err)
	}
	after := filepath.Join(t.TempDir(), "after")
	if err := heap.CrashClone(dir, after, nil); err != nil {
		t.Fatal(err)
	}
	wantRange(t, openQueue(t, after, o), 0, 10)
}

// Goal: a queue is read only from where it may not be durable, and what it has
// below a log offset is told whatever lies behind. Method: a unit in a file that is
// trusted is damaged, which goes unnoticed; one behind is not.
func TestUncleanOpenTrustsWhatWasDurable(t *testing.T) {
	o := onDisk(4)
	o.Clean, o.Durable = false, unit(6).End()
	units := unitsOf(0, 11)
	units[2] = Unit{}
	dir := writeFiles(t, 4, 0, 3, units)
	q, err := Open(dir, o) // not for the checks of openQueue
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if q.Max() != 11 {
		t.Errorf("max %d, want 11", q.Max())
	}
	units = unitsOf(0, 11)
	units[9] = Unit{}
	dir = writeFiles(t, 4, 0, 3, units)
	if q := openQueue(t, dir, o); q.Max() != 9 {
		t.Errorf("max %d, want 9: what was behind offset 6 may be lost", q.Max())
	}
}

func TestBelowTellsTheUnitsBelowALogOffset(t *testing.T) {
	q := openQueue(t, writeFiles(t, 4, 4, 3, unitsOf(4, 14)), onDisk(4))
	for _, c := range []struct{ physical, want int64 }{
		{0, 4}, {unit(4).End() - 1, 4}, {unit(4).End(), 5}, {unit(7).End(), 8}, {unit(8).End() + 1, 9},
		{unit(12).End(), 13}, {unit(13).End(), 14}, {math.MaxInt64, 14},
	} {
		if got := q.Below(c.physical); got != c.want {
			t.Errorf("below %d: got %d, want %d", c.physical, got, c.want)
		}
	}
	gap := []Unit{unit(0), unit(1), prefill, prefill, prefill, prefill, unit(6), unit(7)}
	q = openQueue(t, writeFiles(t, 4, 0, 2, gap), onDisk(4))
	for _, c := range []struct{ physical, want int64 }{{unit(0).End(), 1}, {unit(1).End(), 2}, {unit(5).End(), 2}, {unit(6).End(), 7}, {unit(7).End(), 8}} {
		if got := q.Below(c.physical); got != c.want {
			t.Errorf("with a gap, below %d: got %d, want %d", c.physical, got, c.want)
		}
	}
	if q := openQueue(t, t.TempDir(), onDisk(4)); q.Below(math.MaxInt64) != 0 {
		t.Errorf("an empty queue has %d", q.Below(math.MaxInt64))
	}
}

func TestSumTellsALackingQueueFromAWholeTable(t *testing.T) {
	root := t.TempDir()
	table, err := OpenTable(root, onDisk(4))
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	fill := func(topic string, id int32, from, to int64) {
		t.Helper()
		q, err := table.GetOrCreate(topic, id)
		if err != nil {
			t.Fatal(err)
		}
		put(t, q, from, to)
	}
	limit := unit(5).End()
	empty := table.Sum(limit)
	fill("a", 0, 0, 6)
	fill("a", 1, 0, 3)
	fill("b", 0, 0, 1)
	sum := table.Sum(limit)
	if empty != 0 || sum == 0 {
		t.Errorf("sum of nothing %d, of three queues %d", empty, sum)
	}
	fill("a", 0, 6, 20)
	behind, err := table.GetOrCreate("c", 0)
	if err == nil {
		err = behind.Put(0, unit(30))
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := table.Sum(limit); got != sum {
		t.Errorf("sum changed from %d to %d by what was put behind", sum, got)
	}
	if err := table.Delete("b", time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := table.Sum(limit); got == sum {
		t.Error("sum is the same without a queue")
	}
	fill("b", 0, 0, 1)
	if got := table.Sum(limit); got != sum {
		t.Errorf("sum is %d with the queue built again, was %d", got, sum)
	}
	if err := errors.Join(table.Get("a", 1).CutAt(2), table.Get("a", 0).CutAt(5)); err != nil {
		t.Fatal(err)
	}
	if got := table.Sum(limit); got == sum {
		t.Error("sum is the same without a unit of each of two queues")
	}
}

// A topic that comes back after its deletion goes on with its offsets. Its first unit,
// behind a log offset, changed the sum below that.
func TestSumIsNotChangedByAQueueThatStartsLateBehind(t *testing.T) {
	table := openTable(t, t.TempDir(), onDisk(100))
	put(t, create(t, table, "a", 0), 0, 6)
	limit := unit(5).End()
	sum := table.Sum(limit)
	late := create(t, table, "late", 0)
	put(t, late, 50, 53)
	if got := table.Sum(limit); got != sum {
		t.Errorf("sum changed from %d to %d by what was put behind", sum, got)
	}
	for _, c := range []struct{ physical, want int64 }{{0, 0}, {unit(50).End() - 1, 0}, {unit(50).End(), 51}, {unit(52).End(), 53}} {
		if got := late.Below(c.physical); got != c.want {
			t.Errorf("below %d: got %d, want %d", c.physical, got, c.want)
		}
	}
}
