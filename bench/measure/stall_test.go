package measure_test

// A target that stalls must show in the response times of everything that was due
// meanwhile (no coordinated omission), and in the service times of only those
// operations that were inside. The schedule of the whole run is virtual here; see
// long_test.go for the same in real time.

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"commitlab/bench/measure"
	"commitlab/bench/pace"
)

// stallingOp serves in 1 ms, but whatever arrives in [from, to) of the time since
// the first operation returns at to.
func stallingOp(from, to time.Duration) func(*measure.Worker) error {
	return func(w *measure.Worker) error {
		if now := w.Now(); now >= from && now < to {
			time.Sleep(to - now)
			return nil
		}
		time.Sleep(time.Millisecond)
		return nil
	}
}

// B-101: latency was taken from the real send, so that waiting before the send
// was not seen.
func TestB101_StallShowsInResponseOfEverythingDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rate, err := pace.NewConstant(1000)
		if err != nil {
			t.Fatal(err)
		}
		inst := &target{op: stallingOp(5*time.Second, 10*time.Second)}
		outcome, err := measure.Run(context.Background(), inst, measure.Plan{
			Primary: "op", Workers: 150, Pacer: rate, Wait: pace.Timer, Duration: 20 * time.Second,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		checkStall(t, outcome, 1)
	})
}

// A target so slow that the window passes while it works off what was due in the
// warm-up is slow: nothing of the window is sent, and that is no fault of the
// generator.
func TestTargetBusyWithTheWarmUpIsNotTheGenerator(t *testing.T) {
	rate, err := pace.NewConstant(100)
	if err != nil {
		t.Fatal(err)
	}
	inst := &target{op: serving(time.Second)}
	plan := measure.Plan{Pacer: rate, Warmup: 500 * time.Millisecond, Duration: time.Second, Drain: -1}
	virtually(t, inst, plan, nil, func(t *testing.T, o measure.Outcome, err error) {
		if err != nil || o.Status != measure.OK || o.Due != 100 || o.NeverSent != 100 || o.Busy < 0.99 {
			t.Errorf("status %s: %s, error %v; %d of %d never sent, %.2f busy; want ok, all of them, all the time", o.Status, o.Reason, err, o.NeverSent, o.Due, o.Busy)
		}
	})
}
