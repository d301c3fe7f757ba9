package consumequeue

import (
	"testing"

	"pgregory.net/rapid"
)

// A log for searches: the store time of each record, by physical offset.
type storeTimes map[int64]int64

func (s storeTimes) of(u Unit) (int64, bool) {
	ms, ok := s[u.PhysicalOffset]
	return ms, ok
}

// withTimes makes a queue of one message for each time; -1 is a record that
// cannot be read.
func withTimes(t testing.TB, perFile int64, times []int64) (*Queue, storeTimes) {
	o, _ := onHeap(perFile)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, int64(len(times)))
	log := storeTimes{}
	for n, ms := range times {
		if ms >= 0 {
			log[int64(n)*recordBytes] = ms
		}
	}
	return q, log
}

// The Java store misses with several messages to a millisecond, and where they
// are in different queue files.
func TestB63_SearchByTimeWithEqualTimesAcrossFiles(t *testing.T) {
	const t0, t1, t2, t3, t4 = 999, 1000, 2000, 3000, 3001
	for _, perFile := range []int64{1, 2, 3, 100} { // 2: the boundary is behind the second message
		q, log := withTimes(t, perFile, []int64{t1, t1, t1, t3, t3})
		for _, c := range []struct{ time, lower, upper int64 }{
			{t0, 0, 0}, {t1, 0, 2}, {t2, 3, 2}, {t3, 3, 4}, {t4, 5, 4},
		} {
			lower, upper := searched(t, q, c.time, Lower, log.of), searched(t, q, c.time, Upper, log.of)
			if lower != c.lower || upper != c.upper {
				t.Errorf("%d units to a file, time %d: lower %d, upper %d; expected %d, %d", perFile, c.time, lower, upper, c.lower, c.upper)
			}
		}
	}
}

func TestSearchByTimeStaysWithinTheQueue(t *testing.T) {
	q, log := withTimes(t, 3, nil)
	for _, bound := range []Bound{Lower, Upper} {
		if got := searched(t, q, 5, bound, log.of); got != 0 {
			t.Errorf("empty queue: %d", got)
		}
	}
	q, log = withTimes(t, 3, []int64{10, 20, 30, 40, 50})
	corrected(t, q, 2*recordBytes)
	for _, c := range []struct{ time, lower, upper int64 }{{5, 2, 2}, {20, 2, 2}, {35, 3, 2}, {99, 5, 4}} {
		lower, upper := searched(t, q, c.time, Lower, log.of), searched(t, q, c.time, Upper, log.of)
		if lower != c.lower || upper != c.upper {
			t.Errorf("time %d: lower %d, upper %d; expected %d, %d", c.time, lower, upper, c.lower, c.upper)
		}
	}
}

// Goal: for any times and any unreadable records, the answer is the one of a walk
// over all of them.
func TestSearchByTimeAgreesWithAWalk(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		times := rapid.SliceOfN(rapid.Int64Range(0, 12), 0, 30).Draw(rt, "times")
		for i := 1; i < len(times); i++ {
			times[i] = max(times[i], times[i-1])
		}
		for i := range times {
			if rapid.IntRange(0, 3).Draw(rt, "unreadable") == 0 {
				times[i] = -1
			}
		}
		q, log := withTimes(t, rapid.Int64Range(1, 9).Draw(rt, "perFile"), times)
		defer q.Close()
		at := rapid.Int64Range(-1, 13).Draw(rt, "at")
		lower, upper := int64(len(times)), int64(0)
		for n := len(times) - 1; n >= 0; n-- {
			if times[n] >= at && times[n] >= 0 {
				lower = int64(n)
			}
		}
		for n, ms := range times {
			if ms >= 0 && ms <= at {
				upper = int64(n)
			}
		}
		if got := searched(t, q, at, Lower, log.of); got != lower {
			rt.Errorf("lower of %d in %v: %d, expected %d", at, times, got, lower)
		}
		if got := searched(t, q, at, Upper, log.of); got != upper {
			rt.Errorf("upper of %d in %v: %d, expected %d", at, times, got, upper)
		}
	})
}

// When all records of a queue are gone the Java store (4.x) leaves its minimum
// where it was.
func TestB13_AllExpired(t *testing.T) {
	o, _ := onHeap(100)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 250)
	if got := corrected(t, q, 250*recordBytes); got != 250 {
		t.Errorf("CorrectMin %d", got)
	}
	wantRange(t, q, 250, 250)
	put(t, q, 250, 260)
	wantRange(t, q, 250, 260)
}

// A reader whose offset lies below a hole must find the way past it at once; the
// Java store goes on file by file, if at all.
func TestB17_ReaderFindsTheWayPastExpiredUnits(t *testing.T) {
	o, _ := onHeap(300)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 1000)
	corrected(t, q, 600*recordBytes)
	if _, err := q.Units(0, 32); err != ErrNotFound {
		t.Errorf("units at 0: %v", err)
	}
	calls := 0
	for next := q.Min(); next < q.Max(); calls++ {
		units, err := q.Units(next, 32)
		if err != nil {
			t.Fatal(err)
		}
		next += int64(units.Len())
		units.Release()
	}
	if calls != 10+4 { // the last 300 of file 2, the 100 of file 3
		t.Errorf("%d calls", calls)
	}
	wantRange(t, q, 600, 1000)
}

func TestMinIsTheFirstUnitTheLogStillHas(t *testing.T) {
	for _, first := range []int64{0, 3, 7} { // a late queue has pre-fill units
		for minPhysical := int64(0); minPhysical <= 21*recordBytes; minPhysical += recordBytes / 2 {
			o, _ := onHeap(6)
			q := openQueue(t, t.TempDir(), o)
			put(t, q, first, 20)
			want := min(max(first, (minPhysical+recordBytes-1)/recordBytes), 20)
			if got := corrected(t, q, minPhysical); got != want {
				t.Fatalf("log starts at %d: min %d, expected %d", minPhysical, got, want)
			}
			if got := corrected(t, q, 0); got != want {
				t.Fatalf("min went back from %d to %d", want, got)
			}
			wantRange(t, q, want, 20)
			q.Close()
		}
	}
}

func TestAddressBoundsAreThoseOfLiveUnits(t *testing.T) {
	o, _ := onHeap(5)
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 3)
	if _, _, ok, err := q.AddressBounds(); ok || err != nil {
		t.Error("addresses in a queue without")
	}
	for n := int64(3); n < 12; n++ {
		u := unit(n)
		if n%2 == 0 {
			u.TagsCode = extAddress(n * 10)
		}
		if err := q.Put(n, u); err != nil {
			t.Fatal(err)
		}
	}
	corrected(t, q, 5*recordBytes)
	lowest, highest, ok, err := q.AddressBounds()
	if !ok || lowest != extAddress(60) || highest != extAddress(100) || err != nil {
		t.Errorf("%d, %d, %v (%v)", lowest, highest, ok, err)
	}
}
