package consumequeue

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"commitlab/engine/mmap/mmaptest"
)

var noon = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimLeft(e.Name(), "0"))
	}
	return names
}

func TestDeleteTakesFilesBelowTheLogButNeverTheLast(t *testing.T) {
	for _, c := range []struct {
		minPhysical    int64
		deleted, files int
		min            int64
	}{
		{0, 0, 4, 0}, {400, 0, 4, 4}, {401, 1, 3, 5}, {500, 1, 3, 5}, {501, 1, 3, 6}, {1400, 2, 2, 14}, {1500, 3, 1, 15}, {9999, 3, 1, 17},
	} {
		o, _ := onHeap(5)
		q := openQueue(t, t.TempDir(), o)
		put(t, q, 0, 17)
		deleted, err := q.DeleteBefore(c.minPhysical, noon)
		if err != nil || deleted != c.deleted || q.Files() != c.files || len(names(t, q.Dir())) != c.files {
			t.Errorf("log starts at %d: %d deleted, %d left (%v); expected %d, %d", c.minPhysical, deleted, q.Files(), err, c.deleted, c.files)
		}
		wantRange(t, q, c.min, 17)
		put(t, q, 0, 20) // those below are gone for good
		q = reopen(t, q, o)
		corrected(t, q, c.minPhysical)
		wantRange(t, q, max(c.min, min(20, (c.minPhysical+99)/100)), 20)
	}
}

// The end of a file that starts late or was skipped over says nothing about the
// units before it.
func TestDeleteIsNotMisledByFillers(t *testing.T) {
	o, _ := onHeap(5)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 3)
	if err := q.Skip(6); err != nil {
		t.Fatal(err)
	}
	put(t, q, 6, 12)
	if n, err := q.DeleteBefore(200, noon); n != 0 || err != nil {
		t.Errorf("%d deleted (%v), though offset 2 is live", n, err)
	}
	if n, err := q.DeleteBefore(300, noon); n != 1 || err != nil {
		t.Errorf("%d deleted (%v)", n, err)
	}
	wantRange(t, q, 6, 12)
}

// Kafka once took the zeros behind the last entry of a pre-sized index for the
// newest one, at time 0, and deleted fresh data.
func TestB90_ZerosBehindTheLastUnitAreNoUnits(t *testing.T) {
	o, _ := onHeap(1000)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 50, 60) // pre-fill units in front, zeros behind
	if n, err := q.DeleteBefore(55*recordBytes, noon); n != 0 || err != nil {
		t.Errorf("%d deleted (%v)", n, err)
	}
	wantRange(t, q, 55, 60)
	if offset, u, ok := q.LastUnit(); !ok || offset != 59 || u != unit(59) {
		t.Errorf("last unit %d %+v %v", offset, u, ok)
	}
}

// A queue file that a reader held at cleaning time was never deleted afterwards,
// and kept the cleaner from those behind it.
func TestB19_HeldFileNeitherStaysNorBlocks(t *testing.T) {
	o, heap := onHeap(5)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 22)
	held, err := q.Units(1, 3)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := q.DeleteBefore(1600, noon); n != 3 || err != nil {
		t.Fatalf("%d deleted (%v)", n, err)
	}
	if got := names(t, q.Dir()); len(got) != 2 || got[0] != "300" {
		t.Errorf("left: %v", got)
	}
	if n, err := q.Reap(noon.Add(time.Hour), 2*time.Hour); n != 1 || err != nil {
		t.Errorf("%d held (%v)", n, err)
	}
	for i := range 3 {
		if held.At(i) != unit(1+int64(i)) {
			t.Errorf("held unit %d became %+v", i, held.At(i))
		}
	}
	held.Release()
	held.Release()
	if n, err := q.Reap(noon.Add(time.Hour), 2*time.Hour); n != 0 || err != nil || q.Files() != 2 {
		t.Errorf("%d held, %d files (%v)", n, q.Files(), err)
	}
	unmapped := 0
	for _, e := range heap.Trace() {
		if e.Op == mmaptest.OpUnmap {
			unmapped++
		}
	}
	if unmapped != 3 {
		t.Errorf("%d mappings removed", unmapped)
	}
	wantRange(t, q, 16, 22)
}

func TestForceFreesTheSpaceUnderAReader(t *testing.T) {
	o := onDisk(5)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 8)
	held, err := q.Units(1, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	if _, err := q.DeleteBefore(600, noon); err != nil {
		t.Fatal(err)
	}
	if held.Revoked() || held.At(0) != unit(1) {
		t.Errorf("before: revoked %v, %+v", held.Revoked(), held.At(0))
	}
	if n, err := q.Reap(noon.Add(time.Minute), time.Minute); n != 1 || err != nil {
		t.Errorf("%d held (%v)", n, err)
	}
	if !held.Revoked() || held.At(0).Valid() {
		t.Errorf("after: revoked %v, %+v", held.Revoked(), held.At(0))
	}
}

// The bound goes up before the data goes: whoever asks sees the offset as gone, and
// never a hole.
func TestB66_MinIsRaisedBeforeFilesGo(t *testing.T) {
	o, heap := onHeap(5)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 12)
	heap.Fail(mmaptest.OpRemove, os.ErrPermission, 1)
	if _, err := q.DeleteBefore(1000, noon); !errors.Is(err, os.ErrPermission) {
		t.Fatal(err)
	}
	wantRange(t, q, 10, 12)
}

// A name that cannot be removed keeps younger files from going: with a gap between
// files no store opens.
func TestDeleteKeepsTheOrderOfFiles(t *testing.T) {
	for _, op := range []mmaptest.Op{mmaptest.OpRemove, mmaptest.OpSyncDir} {
		o, heap := onHeap(5)
		q := openQueue(t, t.TempDir(), o)
		put(t, q, 0, 22)
		heap.Fail(op, os.ErrPermission, 2)
		for range 2 {
			if n, err := q.DeleteBefore(2200, noon); n != 0 || !errors.Is(err, os.ErrPermission) {
				t.Fatalf("%d deleted, %v", n, err)
			}
			if got := names(t, q.Dir()); len(got) < 4 || got[len(got)-4] != "100" {
				t.Errorf("left: %v", got)
			}
		}
		if n, err := q.DeleteBefore(2200, noon); n != 4 || err != nil {
			t.Fatalf("%d deleted, %v", n, err)
		}
		if got := names(t, q.Dir()); len(got) != 1 {
			t.Errorf("left: %v", got)
		}
		wantRange(t, q, 22, 22)
	}
}

// A deleted file that cannot be unmapped is deleted all the same: it counts, is not
// tried again, and keeps no other from going.
func TestDeleteOutlivesAFailedUnmap(t *testing.T) {
	o, heap := onHeap(5)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 22)
	heap.Fail(mmaptest.OpUnmap, os.ErrInvalid, 1)
	if n, err := q.DeleteBefore(700, noon); n != 1 || !errors.Is(err, os.ErrInvalid) {
		t.Errorf("%d deleted, %v; want 1 and what went wrong", n, err)
	}
	if n, err := q.DeleteBefore(700, noon); n != 0 || err != nil {
		t.Errorf("again: %d deleted, %v", n, err)
	}
	heap.Fail(mmaptest.OpUnmap, os.ErrInvalid, 1)
	if err := q.Destroy(noon); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("destroy: %v", err)
	}
	if got := names(t, q.Dir()); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

func TestDestroyRemovesTheDirectory(t *testing.T) {
	o, _ := onHeap(5)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 12)
	held, err := q.Units(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := q.Destroy(noon); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(q.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("directory: %v", err)
	}
	if held.At(0) != unit(0) {
		t.Errorf("held unit became %+v", held.At(0))
	}
	held.Release()
	if n, err := q.Reap(noon, 0); n != 0 || err != nil {
		t.Errorf("%d held (%v)", n, err)
	}
	if err := q.Put(12, unit(12)); !errors.Is(err, ErrClosed) {
		t.Errorf("put: %v", err)
	}
	if q.Min() != q.Max() {
		t.Errorf("[%d, %d)", q.Min(), q.Max())
	}
}
