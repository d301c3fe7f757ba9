package measure_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"commitlab/bench/measure"
	"commitlab/bench/pace"
)

// tallyOf is what another process would say of a run that had this outcome.
func tallyOf(o measure.Outcome, failure error) measure.Tally {
	return measure.Tally{
		Date: o.Start.Add(-o.Warmup), Opened: o.Warmup, End: o.Warmup + o.Window, Drained: o.Warmup + o.Window + o.Drained,
		Done: o.Done, Late: o.Late, Failed: o.Failed, Unfinished: o.Unfinished,
		Ended: uint64(o.AchievedPerS*o.Window.Seconds() + 0.5), Busy: time.Duration(o.Busy * float64(o.Window)),
		Failure: failure,
	}
}

// A run that another process measured is summed up and judged as one of this
// process. Method: take what Run gave its sink, sum it up, compare with what Run
// returned.
func TestTallyGivesTheOutcomeOfRun(t *testing.T) {
	slow := func(w *measure.Worker) error {
		if w.N == 500 {
			time.Sleep(300 * time.Millisecond)
			return nil
		}
		time.Sleep(time.Millisecond)
		return nil
	}
	for rate, why := range map[string]string{"800": "a stall and the queue behind it", "max": "a closed loop", "2000": "more than it can do"} {
		t.Run(rate, func(t *testing.T) {
			pacer, err := pace.Parse(rate)
			if err != nil {
				t.Fatal(err)
			}
			sink := &collector{}
			plan := measure.Plan{Primary: "op", Wait: pace.Timer, Pacer: pacer, Warmup: 100 * time.Millisecond, Duration: 2 * time.Second, Drain: 100 * time.Millisecond}
			virtually(t, &target{op: slow}, plan, sink, func(t *testing.T, want measure.Outcome, err error) {
				if err != nil {
					t.Fatal(err)
				}
				got, err := tallyOf(want, nil).Outcome(plan, sink.ticks)
				if err != nil {
					t.Fatal(err)
				}
				// Steadiness counts operations by due time here, and by end there.
				ignore := cmpopts.IgnoreFields(measure.Outcome{}, "Steadiness", "WallStep")
				about := cmpopts.EquateApprox(1e-6, 0)
				if diff := cmp.Diff(want, got, ignore, about, cmp.Comparer(equalDists)); diff != "" {
					t.Errorf("%s: outcome of Run and of its tally:\n%s", why, diff)
				}
				if got.Steadiness.Intervals != want.Steadiness.Intervals {
					t.Errorf("steadiness rests on %d intervals, want %d", got.Steadiness.Intervals, want.Steadiness.Intervals)
				}
			})
		})
	}
}

// The hiccup's exact maximum is not in a tick, so it is known to its cell only.
func equalDists(a, b *measure.Dist) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Hist.Equals(b.Hist) && a.Over == b.Over && a.Hist.ValuesAreEquivalent(a.Max, b.Max)
}

func TestTallySaysHowTheRunEnded(t *testing.T) {
	plan := measure.Plan{Primary: "op", Duration: time.Second}
	window := measure.Tally{Opened: 0, End: time.Second, Drained: time.Second}
	for name, c := range map[string]struct {
		change func(*measure.Tally)
		status measure.Status
		reason string
	}{
		"in order":         {func(*measure.Tally) {}, measure.OK, ""},
		"cancelled":        {func(t *measure.Tally) { t.Cancelled, t.End = true, time.Second/2 }, measure.Interrupted, "interrupted 500ms into a window of 1s"},
		"failed":           {func(t *measure.Tally) { t.Failure = errors.New("no space") }, measure.Failed, "no space"},
		"budget used":      {func(t *measure.Tally) { t.Failure = fmt.Errorf("%w: full", measure.ErrEnd) }, measure.OK, "1s into a window of 1s: " + measure.ErrEnd.Error() + ": full"},
		"in the warm-up":   {func(t *measure.Tally) { t.Opened, t.Failure = -1, measure.ErrEnd }, measure.Failed, "in the warm-up: " + measure.ErrEnd.Error()},
		"without a window": {func(t *measure.Tally) { t.Opened, t.Cancelled = -1, true }, measure.Interrupted, "interrupted 0s into a window of 1s"},
	} {
		tally := window
		c.change(&tally)
		o, err := tally.Outcome(plan, nil)
		if err != nil || o.Status != c.status || o.Reason != c.reason {
			t.Errorf("%s: status %q, reason %q, error %v; want %q, %q", name, o.Status, o.Reason, err, c.status, c.reason)
		}
	}
	if _, err := window.Outcome(measure.Plan{}, nil); err == nil {
		t.Error("a plan without a name is accepted")
	}
}
