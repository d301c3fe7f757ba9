package consumequeue

import (
	"math"
	"os"
	"testing"
)

func TestUnitsEndWithTheFileAndTheQueue(t *testing.T) {
	o, _ := onHeap(5)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 13)
	for _, c := range []struct {
		from  int64
		limit int
		want  int
	}{
		{0, 1, 1}, {0, 5, 5}, {0, 99, 5}, {3, 2, 2}, {3, 3, 2}, {4, 9, 1}, {5, 99, 5}, {10, 99, 3}, {12, math.MaxInt, 1},
	} {
		units, err := q.Units(c.from, c.limit)
		if err != nil {
			t.Fatal(err)
		}
		if units.First() != c.from || units.Len() != c.want {
			t.Errorf("from %d, at most %d: first %d, %d units; expected %d", c.from, c.limit, units.First(), units.Len(), c.want)
		}
		for offset, u := range units.All() {
			if u != unit(offset) {
				t.Errorf("offset %d: %+v", offset, u)
			}
		}
		for range units.All() {
			break
		}
		units.Release()
		if units.Len() != 0 {
			t.Error("units are left after Release")
		}
	}
	for _, limit := range []int{0, -1} {
		if _, err := q.Units(0, limit); err != ErrNotFound {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	var none Units
	none.Release()
	if none.Len() != 0 || none.Revoked() {
		t.Error("the zero Units is not empty")
	}
}

// B-76: bytes that the disk cannot give are an error or nothing, and the process
// lives.
func TestB76_UnreadablePageIsAnError(t *testing.T) {
	o := onDisk(1024)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 1024)
	path := q.files.Last().Path()
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	if u, ok := q.Read(1000); ok {
		t.Errorf("read %+v", u)
	}
	if _, err := q.Units(1000, 5); err == nil {
		t.Error("units of a page that does not exist")
	}
	if u, ok := q.Read(10); !ok || u != unit(10) {
		t.Errorf("read beside the damage: %+v, %v", u, ok)
	}
	if err := q.Put(1000, unit(1000)); err == nil {
		t.Error("compared with a page that does not exist")
	}
	q.Close() // what is left cannot check itself
}

func TestReadingAllocatesNothing(t *testing.T) {
	o := onDisk(100)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 250)
	var sum int64
	for name, read := range map[string]func(){
		"Read":        func() { u, _ := q.Read(130); sum += u.PhysicalOffset },
		"Read beyond": func() { u, _ := q.Read(999); sum += u.PhysicalOffset },
		"Units": func() {
			units, _ := q.Units(130, 32)
			for i := range units.Len() {
				sum += units.At(i).PhysicalOffset
			}
			units.Release()
		},
		"LastUnit": func() { at, _, _ := q.LastUnit(); sum += at },
		"again":    func() { sum += int64(len(q.Dir())); _ = q.Put(130, unit(130)) },
	} {
		if n := testing.AllocsPerRun(100, read); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	if sum == 0 {
		t.Error("nothing was read")
	}
}
