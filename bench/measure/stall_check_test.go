package measure_test

import (
	"testing"
	"time"

	"commitlab/bench/measure"
)

// checkStall checks the outcome of 20 s at 1000/s with a stall of 5 s in the
// middle: 5000 operations wait, evenly spread over 0 to 5 s. Tolerances are in
// per cent; slack widens them for runs in real time.
func checkStall(t *testing.T, o measure.Outcome, slack float64) {
	t.Helper()
	if o.Status != measure.OK {
		t.Errorf("status %q (%s), want ok", o.Status, o.Reason)
	}
	if o.Due != 20000 || o.Done+o.Late != 20000 {
		t.Errorf("due %d, done %d, late %d: want 20000 due and all done", o.Due, o.Done, o.Late)
	}
	op := o.Ops[0]
	if n := op.Response.Count(); n != 20000 {
		t.Errorf("response count %d, want 20000", n)
	}
	for _, want := range []struct {
		name    string
		dist    *measure.Dist
		percent float64
		value   time.Duration
		within  float64 // per cent
	}{
		{"response", op.Response, 70, time.Millisecond, 5},
		{"response", op.Response, 90, 3000 * time.Millisecond, 1},
		{"response", op.Response, 99, 4800 * time.Millisecond, 1},
		{"response", op.Response, 99.9, 4980 * time.Millisecond, 1},
		{"service", op.Service, 99, time.Millisecond, 5},
		{"service", op.Service, 100, 5000 * time.Millisecond, 1},
	} {
		got, _ := want.dist.Percentile(want.percent)
		tolerance := float64(want.value)*want.within*slack/100 + float64(time.Millisecond)*(slack-1)
		if diff := float64(got) - float64(want.value); diff > tolerance || diff < -tolerance {
			t.Errorf("%s p%v = %v, want %v within %v", want.name, want.percent, time.Duration(got), want.value, time.Duration(tolerance))
		}
	}
	over := int64(0)
	for _, bar := range op.Response.Hist.Distribution() {
		if bar.From >= int64(time.Second) {
			over += bar.Count
		}
	}
	if over < 3960 || over > 4040 {
		t.Errorf("%d responses of a second or more, want 4000 within 1 %%", over)
	}
}
