package index

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"commitlab/engine/message"
	"commitlab/engine/mmap"
	"commitlab/engine/mmap/mmaptest"
	"commitlab/engine/segment"
)

// Reported: after a kill the newest file was thrown away whole, so the old keys
// in it were gone for good. A kill leaves the bytes as they were stored.
func TestB07_H19_TheUnfinishedFileIsKeptAndToppedUp(t *testing.T) {
	b := newRealBed(t)
	l := Layout{Slots: 100, Items: 400}
	s := b.open(l)
	for i := range int64(300) {
		add(t, s, i*50, 1_000_000+i, fmt.Sprint("key", i))
	}
	abandon(s)
	s = b.openUnclean(l, 0)
	if end := s.EndPhysical(); end < 298*50 {
		t.Errorf("end is %d, want all but the last item or two kept", end)
	}
	for i := range int64(300) {
		if i*50 >= s.EndPhysical() {
			add(t, s, i*50, 1_000_000+i, fmt.Sprint("key", i))
		}
	}
	for i := range int64(300) {
		if got := find(t, s, fmt.Sprint("key", i), 0, forever); !slices.Equal(got, []int64{i * 50}) {
			t.Errorf("key%d: candidates %v", i, got)
		}
	}
}

// A process that was killed between two stores of a Put leaves an item that is
// counted and that no slot leads to, and an end that is older.
func TestKillInTheMiddleOfAPut(t *testing.T) {
	b := newBed(t)
	s := b.open(small)
	add(t, s, 0, 1_000_000, "a", "b")
	name := s.Files()[0].Name()
	hash := message.KeyHash("T", "c")
	closeSet(t, s)
	item := make([]byte, ItemBytes)
	encodeItem(item, Item{Hash: hash, Physical: 100})
	b.patch(name, small.itemAt(3), item)
	b.patch(name, countAt, word(4))
	s = b.openUnclean(small, 0)
	add(t, s, 100, 1_000_000, "c", "d")
	if n := s.Snapshot().Items; n != 4 {
		t.Errorf("%d items, want 4", n)
	}
	for _, key := range []string{"c", "d"} {
		if got := find(t, s, key, 0, forever); !slices.Equal(got, []int64{100}) {
			t.Errorf("%s: candidates %v, want 100", key, got)
		}
	}
}

// Reported: the half full file was not synced by an orderly stop, so a power cut
// right after it lost keys while the checkpoint said that all is well.
func TestB09_CloseMakesTheUnfinishedFileDurable(t *testing.T) {
	b := newBed(t)
	s := b.open(small)
	for i := range int64(10) {
		add(t, s, i, 1000, fmt.Sprint("k", i))
	}
	file := s.Files()[0].Path()
	closeSet(t, s)
	b.heap.Record(mmaptest.Event{Op: "closed"})
	var order []mmaptest.Op
	for _, e := range b.heap.Trace() {
		if e.Path == file && e.Op == mmaptest.OpSyncData || e.Op == "closed" {
			order = append(order, e.Op)
		}
	}
	if want := []mmaptest.Op{mmaptest.OpSyncData, "closed"}; !slices.Equal(order, want) {
		t.Errorf("calls %v, want %v", order, want)
	}
	b.powerCut(nil)
	s = b.open(small)
	for i := range int64(10) {
		if got := find(t, s, fmt.Sprint("k", i), 0, forever); !slices.Equal(got, []int64{i}) {
			t.Errorf("k%d: candidates %v", i, got)
		}
	}
}

// powerCut makes the bed what the disk has now; what was open is abandoned.
func (b *bed) powerCut(rng *rand.Rand) {
	b.t.Helper()
	after := b.t.TempDir() + "/after"
	if err := b.heap.CrashClone(b.dir, after, rng); err != nil {
		b.t.Fatal(err)
	}
	if err := os.MkdirAll(after, 0o755); err != nil {
		b.t.Fatal(err)
	}
	b.dir = after
}

// The kernel tells once that it lost what was written to a file, and the sync of a name
// may be the one it tells. Then no file counts as durable any more.
func TestAFailedSyncOfANameIsAFailedSync(t *testing.T) {
	b := newBed(t)
	o := b.options(Layout{Slots: 3, Items: 4})
	o.Files.SyncLater = true
	s := b.openWith(o)
	for i := range int64(3) { // a full file
		add(t, s, i, 1000+i, "k")
	}
	broken := errors.New("input/output error")
	b.heap.Fail(mmaptest.OpSyncFile, broken, 1)
	if err := s.Put(1, 3, 1003); !errors.Is(err, broken) {
		t.Fatalf("put that needs the next file: %v", err)
	}
	if n, err := s.Step(b.now); n != 0 || !errors.Is(err, broken) || s.DurableMs() != 0 {
		t.Errorf("step: %d files, %v, durable to %d; want the failure and nothing durable", n, err, s.DurableMs())
	}
	abandon(s)
}

// A full file becomes durable in the background, the oldest first, and only then
// does the timestamp for the checkpoint move.
func TestStepSyncsFullFilesInOrder(t *testing.T) {
	b := newBed(t)
	woken := 0
	o := b.options(Layout{Slots: 3, Items: 4})
	o.Wake = func() { woken++ }
	s := b.openWith(o)
	for i := range int64(8) {
		add(t, s, i, 1000+i, "k")
	}
	if woken != 2 {
		t.Errorf("woken %d times, want once per full file", woken)
	}
	for _, want := range []struct {
		worked    int
		durableMs int64
		unsynced  int
	}{{1, 1002, 1}, {1, 1005, 0}, {0, 1005, 0}} {
		worked, err := s.Step(b.now)
		if snap := s.Snapshot(); err != nil || worked != want.worked || snap.DurableMs != want.durableMs || snap.UnsyncedFiles != want.unsynced {
			t.Errorf("step: %d (%v), durable to %d, %d files unsynced; want %+v", worked, err, snap.DurableMs, snap.UnsyncedFiles, want)
		}
	}
	var synced []string
	for _, e := range b.heap.Trace() {
		if e.Op == mmaptest.OpSyncData {
			synced = append(synced, e.Path)
		}
	}
	if want := []string{s.Files()[0].Path(), s.Files()[1].Path()}; !slices.Equal(synced, want) {
		t.Errorf("synced %v, want %v", synced, want)
	}
}

// The system reports lost pages once: a sync that succeeds later proves nothing.
func TestAfterAFailedSyncNothingIsCalledDurable(t *testing.T) {
	b := newBed(t)
	s := b.open(Layout{Slots: 3, Items: 4})
	for i := range int64(8) {
		add(t, s, i, 1000+i, "k")
	}
	broken := errors.New("bad sector")
	b.heap.FailSync(broken, 1)
	for range 3 {
		if worked, err := s.Step(b.now); worked != 0 || !errors.Is(err, broken) {
			t.Errorf("step: %d, %v; want the failure", worked, err)
		}
	}
	if got := s.DurableMs(); got != 0 {
		t.Errorf("durable to %d, want 0", got)
	}
	if s.Snapshot().SyncFailed == "" {
		t.Error("the snapshot does not tell")
	}
	if err := s.Close(); !errors.Is(err, broken) {
		t.Errorf("close: %v, want the failure", err)
	}
}

// Reported: a file that a reader held at cleaning time was never deleted, and
// stopped the cleaning of younger ones.
func TestB19_AHeldFileDoesNotKeepYoungerOnesFromGoing(t *testing.T) {
	for _, forced := range []bool{false, true} {
		t.Run(fmt.Sprint("forced=", forced), func(t *testing.T) {
			b := newBed(t)
			s := b.open(Layout{Slots: 3, Items: 3})
			for i := range int64(10) {
				add(t, s, i*10, 1000, "k")
			}
			c := s.Search(message.KeyHash("T", "k"), 0, forever)
			for c.Next() && c.Physical() != 10 {
			}
			n, err := s.DeleteBefore(80, b.now, time.Minute)
			if n != 4 || err != nil {
				t.Errorf("%d files left the list (%v), want 4: the last records are at 10, 30, 50, 70", n, err)
			}
			if names := b.names(); len(names) != 1 {
				t.Errorf("names left: %v, want the newest file's", names)
			}
			if n := s.Snapshot().HeldFiles; n != 1 {
				t.Errorf("%d files are held, want the one under the cursor", n)
			}
			if got, want := find(t, s, "k", 0, forever), []int64{90, 80}; !slices.Equal(got, want) {
				t.Errorf("candidates %v, want %v", got, want)
			}
			if forced {
				b.now = b.now.Add(time.Hour)
				if _, err := s.DeleteBefore(80, b.now, time.Minute); err != nil {
					t.Error(err)
				}
			} else if !c.Next() || c.Physical() != 0 {
				t.Errorf("the cursor does not go on in the file that it holds: %d", c.Physical())
			}
			c.Next()
			c.Release()
			if _, err := s.DeleteBefore(80, b.now, time.Minute); err != nil {
				t.Error(err)
			}
			if n := s.Snapshot().HeldFiles; n != 0 {
				t.Errorf("%d files are still held", n)
			}
		})
	}
}

// Reported: zero padding behind the last entry was taken for an entry of time 0,
// so that fresh data was deleted.
func TestB90_OnlyTheLastRealItemCounts(t *testing.T) {
	b := newBed(t)
	s := b.open(small)
	add(t, s, 1000, 5_000_000, "k")
	closeSet(t, s)
	s = b.open(small)
	if n, err := s.DeleteBefore(1000, b.now, 0); n != 0 || err != nil {
		t.Errorf("%d files deleted (%v)", n, err)
	}
	if n, err := s.DeleteBefore(forever, b.now, 0); n != 0 || err != nil {
		t.Errorf("%d files deleted (%v), want the newest kept", n, err)
	}
	if s.EndMs() != 5_000_000 || s.EndPhysical() != 1000 || s.BeginPhysical() != 1000 {
		t.Errorf("set ends at %d, %d", s.EndPhysical(), s.EndMs())
	}
}

// A file whose last record is exactly the first one of the log stays.
func TestDeleteKeepsAFileWithTheFirstRecordOfTheLog(t *testing.T) {
	b := newBed(t)
	s := b.open(Layout{Slots: 3, Items: 3})
	for i := range int64(6) {
		add(t, s, i*10, 1000, "k")
	}
	for _, c := range []struct {
		min  int64
		want int
	}{{10, 0}, {11, 1}, {30, 0}, {1000, 1}} {
		if n, err := s.DeleteBefore(c.min, b.now, 0); n != c.want || err != nil {
			t.Errorf("below %d: %d files (%v), want %d", c.min, n, err, c.want)
		}
	}
}

// The log ends earlier than the index: after a power cut, or when its directory
// was emptied. What points beyond goes, in all files, and new records that take
// the same offsets are entered.
func TestTruncateTakesOutWhatPointsBeyondTheLog(t *testing.T) {
	l := Layout{Slots: 3, Items: 6}
	for limit := int64(0); limit <= 230; limit += 5 {
		b := newBed(t)
		s := b.open(l)
		for i := range int64(22) {
			add(t, s, i*10, 1_000_000+i*1000, "k", fmt.Sprint("k", i))
		}
		closeSet(t, s)
		s = b.open(l)
		if err := s.Truncate(limit); err != nil {
			t.Fatal(err)
		}
		audit(t, s)
		if end := s.EndPhysical(); end >= limit && end != -1 || end < limit-30 && end != 210 {
			t.Errorf("limit %d: end is %d", limit, end)
		}
		var want []int64
		for i := range int64(22) {
			if i*10 < limit {
				if i*10 >= s.EndPhysical() {
					add(t, s, i*10, 1_000_000+i*1000, "k", fmt.Sprint("k", i))
				}
				want = append(want, i*10)
			}
		}
		for at := limit; at < 250; at += 7 {
			add(t, s, at, 2_000_000, "k")
			want = append(want, at)
		}
		slices.Reverse(want)
		if got := find(t, s, "k", 0, forever); !slices.Equal(got, slices.Compact(want)) {
			t.Errorf("limit %d: candidates %v, want %v", limit, got, want)
		}
		closeSet(t, s)
	}
}

// Emptying the index is nothing to worry about: it is made again from the log.
func TestTruncateToNothing(t *testing.T) {
	b := newBed(t)
	s := b.open(small)
	add(t, s, 50, 1000, "k")
	if err := s.Truncate(0); err != nil {
		t.Fatal(err)
	}
	if s.EndPhysical() != -1 || s.BeginPhysical() != -1 || s.EndMs() != 0 || len(b.names()) != 0 {
		t.Errorf("%+v is left, files %v", s.Snapshot(), b.names())
	}
	add(t, s, 0, 1000, "k")
	if got := find(t, s, "k", 0, forever); !slices.Equal(got, []int64{0}) {
		t.Errorf("candidates %v, want 0", got)
	}
}

// A file that somebody cuts short under the mapping makes errors, not the end of
// the process.
func TestAFaultIsAnError(t *testing.T) {
	b := newRealBed(t)
	s := b.open(Layout{Slots: 5000, Items: 5000})
	add(t, s, 0, 1000, "k")
	if err := os.Truncate(s.Files()[0].Path(), 0); err != nil {
		t.Fatal(err)
	}
	var fault *mmap.FaultError
	c := s.Search(message.KeyHash("T", "k"), 0, forever)
	for c.Next() {
		t.Errorf("candidate %d", c.Physical())
	}
	if c.Next() || !errors.As(c.Err(), &fault) {
		t.Errorf("search: %v, want a fault", c.Err())
	}
	c.Release()
	if err := s.Add(record(1, 1000, "k")); !errors.As(err, &fault) {
		t.Errorf("add: %v, want a fault", err)
	}
	if err := s.Add(record(0, 1000, "k", "other")); !errors.As(err, &fault) {
		t.Errorf("add again: %v, want a fault", err)
	}
	abandon(s)
}

// A full-size file takes disk space for what is in it only where files are
// sparse, and memory only for the pages that are used.
func TestAFileOfTheOriginalsSizeIsCheapToMake(t *testing.T) {
	b := newRealBed(t)
	o := b.options(Layout{})
	o.Files.Allocate = segment.Sparse
	s := b.openWith(o)
	add(t, s, 0, 1000, "k")
	if got := find(t, s, "k", 0, forever); !slices.Equal(got, []int64{0}) {
		t.Errorf("candidates %v, want 0", got)
	}
	f, err := os.Open(s.Files()[0].Path())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	region, err := mmap.OS.Map(f, s.Layout().FileBytes(), mmap.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer region.Unmap()
	cached, err := region.CacheStat(0, s.Layout().FileBytes())
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("counting cached pages needs cachestat (Linux 6.5): ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	// Read-ahead takes more than the three pages that were touched.
	if limit := s.Layout().FileBytes() / int64(os.Getpagesize()) / 10; cached.CachedPages > limit {
		t.Errorf("%d pages in memory, want less than a tenth of the file, %d", cached.CachedPages, limit)
	}
	abandon(s)
}
