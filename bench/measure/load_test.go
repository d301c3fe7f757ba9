package measure_test

// What a run must say when the target cannot keep up, hangs, or is interrupted.
// All of it in virtual time: the schedules, the waits and the limits are exact.

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"commitlab/bench/measure"
	"commitlab/bench/pace"
)

func constant(t testing.TB, perSecond float64) pace.Pacer {
	t.Helper()
	p, err := pace.NewConstant(perSecond)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// virtually runs inst in virtual time.
func virtually(t *testing.T, inst measure.Instance, plan measure.Plan, sink measure.Sink, check func(*testing.T, measure.Outcome, error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		plan.Primary, plan.Wait = "op", pace.Timer
		o, err := measure.Run(context.Background(), inst, plan, sink)
		check(t, o, err)
	})
}

func percentile(d *measure.Dist, percent float64) time.Duration {
	ns, ok := d.Percentile(percent)
	if !ok {
		return -1
	}
	return time.Duration(ns)
}

// near says whether got is within a histogram's error of want.
func near(got, want time.Duration) bool {
	return got >= want && float64(got) <= float64(want)*1.001+1
}

func checkSum(t *testing.T, o measure.Outcome) {
	t.Helper()
	if sum := o.Done + o.Late + o.Failed + o.Unfinished + o.NeverSent; sum != o.Due {
		t.Errorf("done %d + late %d + failed %d + unfinished %d + never sent %d = %d, want all %d due",
			o.Done, o.Late, o.Failed, o.Unfinished, o.NeverSent, sum, o.Due)
	}
}

// B-103: users could not tell why latency is far above service time.
func TestB103_ServiceAndResponseAreSeparateMeasures(t *testing.T) {
	inst := &target{op: serving(time.Second)}
	plan := measure.Plan{Pacer: constant(t, 5), Duration: 30 * time.Second, Drain: -1}
	virtually(t, inst, plan, nil, func(t *testing.T, o measure.Outcome, err error) {
		if err != nil || o.Status != measure.OK {
			t.Errorf("status %q (%s), error %v: want ok, the target is what is slow", o.Status, o.Reason, err)
		}
		op := o.Ops[0]
		// The operation that starts as the window ends is under way, or not sent.
		if o.Due != 150 || o.Done != 30 || o.Late+o.NeverSent != 120 {
			t.Errorf("due %d, done %d, late %d, never sent %d: want 150, 30 and together 120", o.Due, o.Done, o.Late, o.NeverSent)
		}
		checkSum(t, o)
		if got := percentile(op.Service, 50); !near(got, time.Second) {
			t.Errorf("service p50 %v, want 1s", got)
		}
		if mean := op.Response.Hist.Mean() / 1e9; mean < 12.5 || mean > 13.1 {
			t.Errorf("mean response %.2f s, want 12.6 s (13.0 s with the one under way)", mean)
		}
		if o.OfferedPerS != 5 || o.AchievedPerS != 1 {
			t.Errorf("offered %v/s, achieved %v/s: want 5 and 1", o.OfferedPerS, o.AchievedPerS)
		}
		if got := op.Lag.Max; got != 0 {
			t.Errorf("generator lag %v, want none: the caller was queueing", time.Duration(got))
		}
	})
}

// B-104: the tool fell short of the rate and the run still looked fine.
func TestB104_EveryOperationDueIsAccountedFor(t *testing.T) {
	inst := &target{op: serving(time.Millisecond)}
	plan := measure.Plan{Workers: 2, Pacer: constant(t, 4000), Duration: 2 * time.Second, Drain: 500 * time.Millisecond}
	virtually(t, inst, plan, nil, func(t *testing.T, o measure.Outcome, err error) {
		if err != nil || o.Due != 8000 || o.OfferedPerS != 4000 || o.AchievedPerS < 1999 || o.AchievedPerS > 2000 {
			t.Errorf("due %d, offered %v/s, achieved %v/s, error %v: want 8000, 4000, 2000", o.Due, o.OfferedPerS, o.AchievedPerS, err)
		}
		if o.Done+o.Late < 5000 || o.Done+o.Late > 5002 || o.Done < 3998 || o.Done > 4000 {
			t.Errorf("done %d, late %d: want 4000 and 1000, and those under way at each limit", o.Done, o.Late)
		}
		checkSum(t, o)
		if sent := inst.ops.Load(); sent != o.Due-o.NeverSent {
			t.Errorf("target saw %d operations, outcome says %d", sent, o.Due-o.NeverSent)
		}
		if o.Backlog.Count() != int64(o.NeverSent) {
			t.Errorf("backlog of %d, want the waiting time of all %d never sent", o.Backlog.Count(), o.NeverSent)
		}
		if o.Busy < 0.99 {
			t.Errorf("busy %.2f, want 1: the target is the bottleneck", o.Busy)
		}
	})
}

// B-106: latency fell when load rose, since waiting for the tick was counted.
func TestB106_LatencyDoesNotDependOnTheRate(t *testing.T) {
	for _, perSecond := range []float64{1, 10, 1000} {
		t.Run(fmt.Sprint(perSecond), func(t *testing.T) {
			inst := &target{op: serving(time.Millisecond)}
			plan := measure.Plan{Workers: 2, Pacer: constant(t, perSecond), Duration: 10 * time.Second}
			virtually(t, inst, plan, nil, func(t *testing.T, o measure.Outcome, err error) {
				for name, d := range map[string]*measure.Dist{"service": o.Ops[0].Service, "response": o.Ops[0].Response} {
					if got := percentile(d, 50); !near(got, time.Millisecond) {
						t.Errorf("%s p50 %v, want 1ms", name, got)
					}
				}
				if want := uint64(perSecond * 10); o.Done != want || err != nil {
					t.Errorf("done %d, error %v: want %d", o.Done, err, want)
				}
			})
		})
	}
}

// B-107: a slow target made workers without limit until memory ended.
func TestB107_StalledTargetCostsNoMemory(t *testing.T) {
	inst := &target{op: serving(61500 * time.Millisecond)}
	plan := measure.Plan{Workers: 4, Pacer: constant(t, 20_000), Duration: time.Minute, Drain: time.Second}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	virtually(t, inst, plan, nil, func(t *testing.T, o measure.Outcome, err error) {
		runtime.ReadMemStats(&after)
		if grown := (after.TotalAlloc - before.TotalAlloc) >> 20; grown > 128 {
			t.Errorf("%d MiB allocated for 1.2 million operations due, want at most 128", grown)
		}
		if o.Due != 1_200_000 || o.Done != 0 || o.Late != 4 {
			t.Errorf("due %d, done %d, late %d: want 1200000, none, one per worker", o.Due, o.Done, o.Late)
		}
		checkSum(t, o)
		if o.Backlog.Count() != int64(o.NeverSent) || o.Backlog.Max < int64(time.Minute) {
			t.Errorf("backlog of %d, longest %v: want %d, more than a minute", o.Backlog.Count(), time.Duration(o.Backlog.Max), o.NeverSent)
		}
	})
}

// B-109: a five-minute run took fourteen.
func TestB109_RunEndsAlthoughTheTargetHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		closed := false
		inst := &target{
			op: func(w *measure.Worker) error {
				if w.Now() >= 2500*time.Millisecond {
					<-release
				}
				return nil
			},
			verify: func(context.Context) error { t.Error("verified while operations hang"); return nil },
			close:  func() error { closed = true; return nil },
		}
		start := time.Now()
		o, err := measure.Run(context.Background(), inst, measure.Plan{
			Primary: "op", Wait: pace.Timer, Workers: 3, Pacer: constant(t, 1000),
			Duration: 5 * time.Second, Drain: 2 * time.Second,
		}, nil)
		if took := time.Since(start); took != 9*time.Second {
			t.Errorf("run took %v, want the window of 5s and twice the drain limit of 2s", took)
		}
		if err == nil || o.Status != measure.Failed || !strings.Contains(o.Reason, "3 operations did not return") {
			t.Errorf("status %q (%s), error %v: want failed, since 3 operations hang", o.Status, o.Reason, err)
		}
		if o.Done != 2500 || o.Unfinished != 3 || o.NeverSent != 2497 {
			t.Errorf("done %d, unfinished %d, never sent %d: want 2500, 3, 2497", o.Done, o.Unfinished, o.NeverSent)
		}
		checkSum(t, o)
		if got := o.Ops[0].Service.Count(); got != 2500 {
			t.Errorf("%d service times kept, want all 2500 from before", got)
		}
		if !closed {
			t.Error("target was not closed")
		}
	})
}

// A Close that hangs along with its operations must not keep the run either.
func TestRunEndsAlthoughCloseHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		inst := &target{
			op:    func(*measure.Worker) error { <-release; return nil },
			close: func() error { <-release; return nil },
		}
		_, err := measure.Run(context.Background(), inst, measure.Plan{Primary: "op", Wait: pace.Timer, Duration: time.Second}, nil)
		if err == nil || !strings.Contains(err.Error(), "close did not return") {
			t.Errorf("error %v, want one that says that Close did not return", err)
		}
	})
}

// B-135: the warm-up was in the results.
func TestB135_WarmupIsCutByDueTime(t *testing.T) {
	inst := &target{op: func(w *measure.Worker) error {
		if w.Now() < 10*time.Second {
			time.Sleep(100 * time.Millisecond)
		} else {
			time.Sleep(time.Millisecond)
		}
		return nil
	}}
	plan := measure.Plan{Workers: 150, Pacer: constant(t, 1000), Warmup: 10 * time.Second, Duration: 20 * time.Second}
	virtually(t, inst, plan, nil, func(t *testing.T, o measure.Outcome, err error) {
		if err != nil || o.Done != 20_000 || o.Ops[0].Service.Count() != 20_000 || o.Warmup != 10*time.Second {
			t.Errorf("done %d, counted %d, warm-up %v, error %v: want 20000 of each and 10s", o.Done, o.Ops[0].Service.Count(), o.Warmup, err)
		}
		if got := percentile(o.Ops[0].Response, 99.9); !near(got, time.Millisecond) {
			t.Errorf("response p99.9 %v, want 1ms: what was due before the cut and ended after it is not counted", got)
		}
	})
}

func TestWarmupLastsUntilEnoughOperations(t *testing.T) {
	for name, pacer := range map[string]pace.Pacer{"open": constant(t, 100), "closed": nil} {
		t.Run(name, func(t *testing.T) {
			inst := &target{op: serving(10 * time.Millisecond)}
			plan := measure.Plan{Pacer: pacer, Warmup: time.Second, WarmupOps: 500, Duration: time.Second}
			virtually(t, inst, plan, nil, func(t *testing.T, o measure.Outcome, err error) {
				if err != nil || o.Warmup < 5*time.Second || o.Warmup > 5100*time.Millisecond {
					t.Errorf("warm-up %v, error %v: want the 5 s that 500 operations take", o.Warmup, err)
				}
				if o.Window != time.Second || o.Done < 98 || o.Done > 100 {
					t.Errorf("window %v with %d operations, want 1s and about 100", o.Window, o.Done)
				}
			})
		})
	}
}

// preparing is a target that takes its time to prepare.
type preparing struct {
	target
	d         time.Duration
	prepared  int  // calls of Prepare
	ready     bool // since the last Op
	unreadyOp bool
}

func (p *preparing) Prepare(*measure.Worker) {
	time.Sleep(p.d)
	p.prepared++
	p.ready = true
}

func (p *preparing) Op(w *measure.Worker) error {
	p.unreadyOp = p.unreadyOp || !p.ready
	p.ready = false
	return p.target.Op(w)
}

// Goal: what is prepared for an operation is no part of its times. Method: 3 ms of
// preparation for 1 ms of service; 100 a second leave room for both.
func TestPreparationIsNotMeasured(t *testing.T) {
	for name, pacer := range map[string]pace.Pacer{"open": constant(t, 100), "closed": nil} {
		t.Run(name, func(t *testing.T) {
			inst := &preparing{target: target{op: serving(time.Millisecond)}, d: 3 * time.Millisecond}
			plan := measure.Plan{Pacer: pacer, Workers: 1, Duration: 2 * time.Second}
			virtually(t, inst, plan, nil, func(t *testing.T, o measure.Outcome, err error) {
				ops := int(inst.ops.Load())
				if err != nil || inst.unreadyOp || ops < 200 || inst.prepared < ops || inst.prepared > ops+1 {
					t.Fatalf("error %v: %d operations, %d prepared, one not: %v; want each prepared", err, ops, inst.prepared, inst.unreadyOp)
				}
				if got := percentile(o.Ops[0].Service, 50); !near(got, time.Millisecond) {
					t.Errorf("service p50 %v, want 1ms", got)
				}
				if r := o.Ops[0].Response; pacer != nil && !near(percentile(r, 50), time.Millisecond) {
					t.Errorf("response p50 %v, want 1ms: there is time to prepare before an operation is due", percentile(r, 50))
				}
			})
			w := measure.NewWorker(0, 1, "op")
			one := &preparing{d: time.Microsecond}
			if err := w.Do(one); err != nil || one.prepared != 1 {
				t.Errorf("Do: %v, prepared %d times, want once", err, one.prepared)
			}
			if err := w.Timed(one); err != nil || one.prepared != 2 || one.unreadyOp {
				t.Errorf("Timed: %v, prepared %d times, want once more", err, one.prepared)
			}
		})
	}
}

// B-141: an interrupt lost all results.
func TestB141_InterruptKeepsWhatWasMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), 7*time.Second)
		defer cancel()
		var calls []string
		inst := &target{
			op: serving(time.Millisecond),
			verify: func(ctx context.Context) error {
				calls = append(calls, fmt.Sprintf("verify with context error %v", ctx.Err()))
				return nil
			},
			close: func() error { calls = append(calls, "close"); return nil },
		}
		sink := &collector{}
		o, err := measure.Run(ctx, inst, measure.Plan{
			Primary: "op", Wait: pace.Timer, Workers: 2, Pacer: constant(t, 1000), Duration: time.Minute,
		}, sink)
		if err != nil || o.Status != measure.Interrupted || o.Window != 7*time.Second {
			t.Errorf("status %q (%s), window %v, error %v: want interrupted after 7s", o.Status, o.Reason, o.Window, err)
		}
		if n := o.Done + o.Late; n < 6999 || n > 7001 || o.OfferedPerS < 999 || o.OfferedPerS > 1001 {
			t.Errorf("%d operations, offered %v/s: want about 7000 and 1000", n, o.OfferedPerS)
		}
		checkSum(t, o)
		if got := fmt.Sprint(calls); got != "[verify with context error <nil> close]" {
			t.Errorf("calls %s, want a verify that is not cancelled, then close", got)
		}
		if n := count(sink.ticks); n != o.Ops[0].Service.Count() {
			t.Errorf("ticks hold %d operations, outcome %d", n, o.Ops[0].Service.Count())
		}
	})
}

func TestInterruptInTheWarmupMeasuresNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		for name, pacer := range map[string]pace.Pacer{"open": constant(t, 10), "closed": nil} {
			sink := &collector{}
			o, err := measure.Run(ctx, &target{op: serving(time.Millisecond)}, measure.Plan{
				Primary: "op", Wait: pace.Timer, Pacer: pacer, Warmup: time.Minute, Duration: time.Minute,
			}, sink)
			if err != nil || o.Status != measure.Interrupted || o.Due != 0 || o.Ops[0].Service != nil || !o.Start.IsZero() || len(sink.ticks) != 0 {
				t.Errorf("%s: %+v, %d ticks, error %v: want interrupted with nothing measured", name, o, len(sink.ticks), err)
			}
		}
	})
}

func TestSlowGeneratorMakesTheRunInvalid(t *testing.T) {
	inst := &target{op: serving(10 * time.Microsecond)}
	plan := measure.Plan{Pacer: slowPacer{constant(t, 10_000)}, Duration: 2 * time.Second, Drain: -1}
	virtually(t, inst, plan, nil, func(t *testing.T, o measure.Outcome, err error) {
		if err != nil || o.Status != measure.Invalid || !strings.Contains(o.Reason, "generator lag p99.9") {
			t.Errorf("status %q (%s), error %v: want invalid by the generator's lag", o.Status, o.Reason, err)
		}
		if o.AchievedPerS > 2000 || o.Due != 20_000 {
			t.Errorf("achieved %v/s of %d due, want about 1000/s of 20000", o.AchievedPerS, o.Due)
		}
		checkSum(t, o)
	})
}

// slowPacer is a generator that takes a millisecond to find out what is due.
type slowPacer struct{ pace.Pacer }

func (s slowPacer) Due(n uint64) time.Duration {
	time.Sleep(time.Millisecond)
	return s.Pacer.Due(n)
}

func TestErrorsAreCountedAndEndTheRunBeyondTheLimit(t *testing.T) {
	broken := errors.New("broken")
	for limit, want := range map[uint64]measure.Status{0: measure.Failed, 9: measure.Failed, 10: measure.OK} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			inst := &target{op: func(w *measure.Worker) error {
				if w.N < 1000 && w.N%100 == 7 { // ten of them
					return fmt.Errorf("operation %d: %w", w.N, broken)
				}
				return nil
			}}
			plan := measure.Plan{Pacer: constant(t, 1000), Duration: 2 * time.Second, MaxErrors: limit}
			virtually(t, inst, plan, nil, func(t *testing.T, o measure.Outcome, err error) {
				if o.Status != want || errors.Is(err, broken) != (want == measure.Failed) {
					t.Errorf("status %q (%s), error %v: want %q and the target's error", o.Status, o.Reason, err, want)
				}
				if o.Failed != min(limit+1, 10) {
					t.Errorf("%d failed, want %d", o.Failed, min(limit+1, 10))
				}
				checkSum(t, o)
				if got := o.Ops[0].Service.Count(); got != int64(o.Done+o.Late) {
					t.Errorf("%d latencies, want those of the %d that succeeded", got, o.Done+o.Late)
				}
			})
		})
	}
}

func TestFailuresOfTheFrame(t *testing.T) {
	broken := errors.New("broken")
	fail := func(context.Context) error { return broken }
	for name, c := range map[string]struct {
		inst   *target
		sink   collector
		closed bool
	}{
		"setup":  {inst: &target{setup: fail}, closed: false},
		"verify": {inst: &target{verify: fail}, closed: true},
		"close":  {inst: &target{close: func() error { return broken }}, closed: true},
		"sink":   {inst: &target{}, sink: collector{err: broken}, closed: true},
	} {
		t.Run(name, func(t *testing.T) {
			closed, inner := false, c.inst.close
			c.inst.op = serving(time.Millisecond)
			c.inst.close = func() error {
				closed = true
				if inner != nil {
					return inner()
				}
				return nil
			}
			plan := measure.Plan{Duration: time.Second}
			virtually(t, c.inst, plan, &c.sink, func(t *testing.T, o measure.Outcome, err error) {
				if !errors.Is(err, broken) || o.Status != measure.Failed || o.Reason == "" {
					t.Errorf("status %q (%s), error %v: want failed for the reason given", o.Status, o.Reason, err)
				}
				if closed != c.closed {
					t.Errorf("closed %v, want %v", closed, c.closed)
				}
			})
		})
	}
}

func TestPlanReportsAllProblems(t *testing.T) {
	_, err := measure.Run(context.Background(), &target{}, measure.Plan{Workers: -1, Tick: time.Hour, Ops: []string{"a", "a"}}, nil)
	for _, want := range []string{"primary", "distinct", "duration", "workers", "tick"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not mention %s", err, want)
		}
	}
}

func TestWindowHookCoversTheWindow(t *testing.T) {
	var opened, closed time.Time
	plan := measure.Plan{
		Pacer: constant(t, 100), Warmup: 3 * time.Second, Duration: 2 * time.Second,
		Window: func() (func() error, error) {
			opened = time.Now()
			return func() error { closed = time.Now(); return nil }, nil
		},
	}
	virtually(t, &target{}, plan, nil, func(t *testing.T, o measure.Outcome, err error) {
		if err != nil || !opened.Equal(o.Start) || closed.Sub(opened) != o.Window {
			t.Errorf("hook covers %v from %v, error %v: want the window of %v from %v", closed.Sub(opened), opened, err, o.Window, o.Start)
		}
	})
}
