package schedule

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"commitlab/engine/message"
)

// shelf is a Store in memory.
type shelf struct {
	first     map[int]int64
	units     map[int][]Unit // from offset 0 on
	delivered []int64        // physical offsets, in order
	saves     []map[int]int64
	fail      error
}

func (s *shelf) Bounds(level int) (first, next int64) {
	return s.first[level], int64(len(s.units[level]))
}
func (s *shelf) Unit(level int, offset int64) (Unit, bool) { return s.units[level][offset], true }
func (s *shelf) Deliver(_ int, _ int64, u Unit) error {
	if s.fail != nil {
		return s.fail
	}
	s.delivered = append(s.delivered, u.PhysicalOffset)
	return nil
}
func (s *shelf) Save(offsets map[int]int64, _ int64) error {
	s.saves = append(s.saves, maps.Clone(offsets))
	return nil
}

var levels = message.DelayLevels{1000, 5000}

func at(ms int64) time.Time { return time.UnixMilli(ms) }

func step(t *testing.T, s *Service, now time.Time, want int) {
	t.Helper()
	if n, err := s.Step(now); err != nil || n != want {
		t.Fatalf("step at %d ms: %d delivered, %v; want %d", now.UnixMilli(), n, err, want)
	}
}

func TestMessagesAreDeliveredInOrderWhenDueAndOnce(t *testing.T) {
	shelf := &shelf{units: map[int][]Unit{1: {{10, 2000}, {11, 2000}, {12, 2500}}, 2: {{20, 6000}}}}
	s := New(shelf, levels, map[int]int64{}, map[int]int64{})
	step(t, s, at(1999), 0)
	step(t, s, at(2000), 2)
	step(t, s, at(2400), 0)
	step(t, s, at(2500), 1)
	step(t, s, at(6000), 1)
	step(t, s, at(60000), 0)
	if want := []int64{10, 11, 12, 20}; !slices.Equal(shelf.delivered, want) {
		t.Fatalf("delivered %v, want %v", shelf.delivered, want)
	}
}

func TestProgressIsSavedAndGoesOnFromThere(t *testing.T) {
	shelf := &shelf{units: map[int][]Unit{1: {{10, 2000}, {11, 2000}}}}
	s := New(shelf, levels, map[int]int64{}, map[int]int64{})
	step(t, s, at(2000), 2)
	if err := s.Save(2000); err != nil {
		t.Fatal(err)
	}
	last := shelf.saves[len(shelf.saves)-1]
	if last[1] != 2 {
		t.Fatalf("saved %v, want level 1 at 2", last)
	}
	saves := len(shelf.saves)
	if err := s.Save(2001); err != nil || len(shelf.saves) != saves {
		t.Fatalf("unchanged progress was saved again (%v)", err)
	}
	again := New(shelf, levels, last, maps.Clone(last))
	step(t, again, at(9000), 0)
}

func TestAFailedDeliveryIsTriedAgain(t *testing.T) {
	shelf := &shelf{units: map[int][]Unit{1: {{10, 2000}}}, fail: errors.New("disk is full")}
	s := New(shelf, levels, map[int]int64{}, map[int]int64{})
	if n, err := s.Step(at(2000)); n != 0 || !errors.Is(err, shelf.fail) {
		t.Fatalf("got %d, %v; want the failure", n, err)
	}
	shelf.fail = nil
	step(t, s, at(2100), 1)
}

func TestAClockSetBackDelaysNoLongerThanTheLevel(t *testing.T) {
	shelf := &shelf{units: map[int][]Unit{1: {{10, 1_000_000}}}}
	s := New(shelf, levels, map[int]int64{}, map[int]int64{})
	step(t, s, at(500), 1) // due far ahead of now + 1 s: stored under another clock
}

func TestOffsetsAreBroughtIntoTheQueue(t *testing.T) {
	shelf := &shelf{
		first: map[int]int64{1: 1},
		units: map[int][]Unit{1: {{10, 2000}, {11, 2000}}, 2: {{20, 2000}}},
	}
	s := New(shelf, levels, map[int]int64{1: 0, 2: 77}, map[int]int64{1: 0, 2: 77}) // removed by retention; log was cut
	step(t, s, at(3000), 1)
	if want := []int64{11}; !slices.Equal(shelf.delivered, want) {
		t.Fatalf("delivered %v, want %v", shelf.delivered, want)
	}
}
