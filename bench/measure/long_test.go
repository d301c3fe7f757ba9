package measure_test

// Tests in real time, off by default: go test ./bench/measure -long. They need a
// machine with a processor to spare, for their subject is what the machine does.

import (
	"context"
	"flag"
	"testing"
	"time"

	"commitlab/bench/measure"
)

var long = flag.Bool("long", false, "run the tests that take seconds of real time on a quiet machine")

func needsQuietMachine(t *testing.T) {
	t.Helper()
	if !*long {
		t.Skip("needs 20 s of real time on a quiet machine: -long is not set")
	}
}

// B-101 in real time.
func TestB101_StallInRealTime(t *testing.T) {
	needsQuietMachine(t)
	inst := &target{op: stallingOp(5*time.Second, 10*time.Second)}
	o, err := measure.Run(context.Background(), inst, measure.Plan{
		Primary: "op", Workers: 150, Pacer: constant(t, 1000), Duration: 20 * time.Second,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("response p90 %v, p99 %v; service p99 %v; lag p99.9 %v", percentile(o.Ops[0].Response, 90),
		percentile(o.Ops[0].Response, 99), percentile(o.Ops[0].Service, 99), percentile(o.Ops[0].Lag, 99.9))
	checkStall(t, o, 2)
}

// B-113: timers of a millisecond broke pacing at finer intervals.
func TestB113_ScheduleIsKeptBelowTheGranularityOfTimers(t *testing.T) {
	needsQuietMachine(t)
	for _, perSecond := range []float64{50_000, 200_000} {
		o, err := measure.Run(context.Background(), &target{}, measure.Plan{
			Primary: "op", Pacer: constant(t, perSecond), Duration: 5 * time.Second,
		}, nil)
		if err != nil || o.AchievedPerS < 0.999*perSecond {
			t.Errorf("achieved %.0f/s of %.0f/s, error %v: want 99.9 %%", o.AchievedPerS, perSecond, err)
		}
		t.Logf("%.0f/s: slip p50 %v, p99 %v, p99.9 %v, hiccup p99.9 %v", perSecond, percentile(o.Ops[0].Slip, 50),
			percentile(o.Ops[0].Slip, 99), percentile(o.Ops[0].Slip, 99.9), percentile(o.Hiccup, 99.9))
	}
}
