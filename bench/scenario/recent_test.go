package scenario

import (
	"math/rand/v2"
	"testing"

	"commitlab/bench/measure"
)

func endingAt(end int64) recentMessage {
	return recentMessage{awaited: awaited{end: end}, appended: appended{physicalOffset: end - 1}}
}

// Goal: every message is observed once, when it is dispatched and not before; the
// ring may run full meanwhile.
func TestRecentObservesEachMessageOnce(t *testing.T) {
	var r recent
	w := measure.NewWorker(0, 1, "append", opDispatch)
	observed := func(dispatched int64) int64 {
		r.observe(w, dispatched)
		return w.Observed()[1].Service.Count()
	}
	for end := range int64(2 * recentMessages) {
		r.add(endingAt(end + 1)) // the later half finds the ring full
	}
	if first := r.first.Load(); first != 1 {
		t.Errorf("the oldest ends at %d, want 1", first)
	}
	for _, c := range []struct{ dispatched, want int64 }{{0, 0}, {1, 1}, {100, 99}, {100, 0}, {1 << 40, recentMessages - 100}, {1 << 40, 0}} {
		if got := observed(c.dispatched); got != c.want {
			t.Errorf("up to %d: %d were observed, want %d", c.dispatched, got, c.want)
		}
	}
}

// Goal: only a message that is dispatched is asked for.
func TestRecentPicksWhatIsDispatched(t *testing.T) {
	var r recent
	random := rand.New(rand.NewPCG(1, 2))
	if _, ok := r.pick(random, 1<<40); ok {
		t.Error("a message is picked of none")
	}
	for end := range int64(10) {
		r.add(endingAt(end + 1))
	}
	for range 200 {
		if m, ok := r.pick(random, 5); ok != (m.end <= 5) {
			t.Fatalf("picked the message that ends at %d of those up to 5: %v", m.end, ok)
		}
	}
}
