package scenario

import (
	"testing"
	"time"
)

func TestMilestonesTellWhenAnOffsetWasPassed(t *testing.T) {
	m := new(milestones)
	var seen int64
	if _, ok := m.when(1, &seen); ok {
		t.Error("passed before anything was")
	}
	for i := range int64(5) {
		m.add(100*(i+1), time.Duration(i+1))
	}
	for _, c := range []struct {
		offset int64
		at     time.Duration
		ok     bool
	}{{1, 1, true}, {100, 1, true}, {101, 2, true}, {300, 3, true}, {450, 5, true}, {500, 5, true}, {501, 0, false}} {
		if at, ok := m.when(c.offset, &seen); at != c.at || ok != c.ok {
			t.Errorf("%d: at %d, %v; want %d, %v", c.offset, at, ok, c.at, c.ok)
		}
	}
	m.add(600, 6)
	if at, ok := m.when(501, &seen); at != 6 || !ok {
		t.Errorf("501: at %d, %v", at, ok)
	}
	var late int64 // of who asks after the ring went round a later one stands for those gone
	for i := range int64(2 * len(m.ring)) {
		m.add(700+i, time.Duration(7+i))
	}
	if at, ok := m.when(1, &late); !ok || at < time.Duration(7+len(m.ring)) || at > time.Duration(8+len(m.ring)) {
		t.Errorf("1: at %d, %v", at, ok)
	}
}

// Goal: beside the one who adds, nobody sees an offset with another's time.
func TestMilestonesAreWholeWhileOthersAreAdded(t *testing.T) {
	const last = 200_000
	m := new(milestones)
	go func() {
		for i := int64(1); i <= last; i++ {
			m.add(10*i, time.Duration(i))
		}
	}()
	var seen int64
	for offset := int64(10); offset <= 10*last; {
		at, ok := m.when(offset, &seen)
		if !ok {
			continue
		}
		if int64(at) < offset/10 {
			t.Fatalf("%d was passed at %d, before it was added", offset, at)
		}
		offset = 10 * (int64(at) + 1)
	}
}

// Goal: each message is found once, in order, by the milestone behind it; who looks
// late makes it no later.
func TestAwaitingTakesTheTimeOfTheMilestone(t *testing.T) {
	m, a := new(milestones), new(awaiting)
	for i := range int64(4) {
		a.add(awaited{end: 10 * (i + 1), at: time.Duration(100 * (i + 1))})
	}
	m.add(20, 250)
	m.add(30, 330)
	for i, want := range []time.Duration{150, 50, 30} {
		if took, ok := a.next(m); !ok || took != want {
			t.Errorf("message %d: %v, %v; want %v", i, took, ok, want)
		}
	}
	if _, ok := a.next(m); ok {
		t.Error("a message was found that is not dispatched")
	}
	m.add(40, 1000)
	if took, ok := a.next(m); !ok || took != 600 {
		t.Errorf("the last message: %v, %v; want 600", took, ok)
	}
	if _, ok := a.next(m); ok {
		t.Error("there is one more")
	}
}
