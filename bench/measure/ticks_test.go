package measure_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"commitlab/bench/measure"
	"commitlab/bench/pace"
)

// count sums the primary operations of all ticks.
func count(ticks []measure.Tick) int64 {
	sum := int64(0)
	for _, t := range ticks {
		if h := t.Ops[0].Service; h != nil {
			sum += h.TotalCount()
		}
	}
	return sum
}

// An interval is complete although a worker is stuck inside an operation: what it
// recorded before is in the interval in which it ended, and the others go on.
func TestStuckWorkerHoldsNoTickBack(t *testing.T) {
	inst := &target{op: func(w *measure.Worker) error {
		if now := w.Now(); w.ID == 0 && now >= 1500*time.Millisecond && now < 4*time.Second {
			time.Sleep(4*time.Second - now)
			return nil
		}
		time.Sleep(time.Millisecond)
		return nil
	}}
	sink := &collector{}
	plan := measure.Plan{Workers: 2, Duration: 6 * time.Second, Tick: time.Second}
	virtually(t, inst, plan, sink, func(t *testing.T, o measure.Outcome, err error) {
		if err != nil || len(sink.ticks) < 6 {
			t.Fatalf("%d ticks, error %v: want 6", len(sink.ticks), err)
		}
		for i, want := range []int64{2000, 1500, 1000, 1000, 2000, 2000} {
			tick := sink.ticks[i]
			if got := tick.Ops[0].Service.TotalCount(); got < want-3 || got > want+3 {
				t.Errorf("tick %d holds %d operations, want %d", i, got, want)
			}
			if tick.From != time.Duration(i)*time.Second || tick.To != tick.From+time.Second {
				t.Errorf("tick %d spans %v to %v", i, tick.From, tick.To)
			}
		}
		if n := count(sink.ticks); n != o.Ops[0].Service.Count() || n != int64(inst.ops.Load()) {
			t.Errorf("ticks hold %d operations, outcome %d, target saw %d: want the same", n, o.Ops[0].Service.Count(), inst.ops.Load())
		}
	})
}

// counting is a target with counters of its own.
type counting struct{ target }

func (c *counting) Counters() any { return c.ops.Load() }

func TestTicksCarryTheTargetsCounters(t *testing.T) {
	inst := &counting{target{op: serving(time.Millisecond)}}
	sink := &collector{}
	plan := measure.Plan{Duration: 2 * time.Second, Tick: time.Second}
	virtually(t, inst, plan, sink, func(t *testing.T, o measure.Outcome, err error) {
		for i, want := range []uint64{1000, 2000} {
			if got, ok := sink.ticks[i].Counters.(uint64); !ok || got < want || got > want+1 {
				t.Errorf("tick %d carries %v, want about %d", i, sink.ticks[i].Counters, want)
			}
		}
	})
}

// A closed loop has no due times, so that these must not look like zero.
func TestClosedLoopHasNoResponseTime(t *testing.T) {
	inst := &target{op: serving(time.Millisecond)}
	sink := &collector{}
	virtually(t, inst, measure.Plan{Duration: time.Second}, sink, func(t *testing.T, o measure.Outcome, err error) {
		op := o.Ops[0]
		if !o.Closed || op.Service == nil || op.Response != nil || op.Slip != nil || op.Lag != nil || o.OfferedPerS != 0 {
			t.Errorf("closed %v, response %v, slip %v, lag %v, offered %v: want a service time and nothing else", o.Closed, op.Response, op.Slip, op.Lag, o.OfferedPerS)
		}
		if tick := sink.ticks[0].Ops[0]; tick.Service == nil || tick.Response != nil || tick.Slip != nil {
			t.Errorf("tick has response %v, slip %v: want neither", tick.Response, tick.Slip)
		}
	})
}

func TestObservedOperationsHaveTheirOwnHistogram(t *testing.T) {
	inst := &target{op: func(w *measure.Worker) error {
		if w.N%10 == 0 {
			w.Observe("roll", 5*time.Millisecond)
		}
		time.Sleep(time.Millisecond)
		return nil
	}}
	plan := measure.Plan{Ops: []string{"roll", "never"}, Pacer: constant(t, 100), Warmup: time.Second, Duration: 2 * time.Second}
	virtually(t, inst, plan, nil, func(t *testing.T, o measure.Outcome, err error) {
		roll := o.Ops[1]
		if roll.Name != "roll" || roll.Service.Count() != 20 || roll.Service.Max != int64(5*time.Millisecond) || roll.Response != nil {
			t.Errorf("%+v with %d values: want 20 of 5ms, none of the warm-up, service only", roll, roll.Service.Count())
		}
		if o.Ops[2].Service != nil {
			t.Errorf("operation that never happened has %d values", o.Ops[2].Service.Count())
		}
	})
}

func TestOutliersAreKeptUpToTheLimit(t *testing.T) {
	inst := &target{op: func(w *measure.Worker) error {
		w.Note("offset", int64(w.N)*100)
		if w.N%10 == 3 {
			time.Sleep(2 * time.Millisecond)
		}
		return nil
	}}
	sink := &collector{}
	plan := measure.Plan{
		Pacer: constant(t, 100), Duration: 2 * time.Second, Tick: time.Second,
		OutlierOver: 2 * time.Millisecond, OutlierLimit: 4,
	}
	virtually(t, inst, plan, sink, func(t *testing.T, o measure.Outcome, err error) {
		if len(sink.outliers) != 8 || o.OutliersDropped != 12 {
			t.Fatalf("%d outliers, %d dropped: want 4 per tick, and 12", len(sink.outliers), o.OutliersDropped)
		}
		got := sink.outliers[1]
		if got.N != 13 || got.Due != 130*time.Millisecond || got.Start != got.Due || got.End != got.Due+2*time.Millisecond || got.Op != "op" {
			t.Errorf("%+v, want operation 13, due and started at 130 ms, 2 ms long", got)
		}
		if len(got.Notes) != 1 || got.Notes[0] != (measure.Note{Name: "offset", Value: 1300}) {
			t.Errorf("notes %v, want the offset of this operation", got.Notes)
		}
	})
}

// B-129: sampling per thread distorted the tail.
func TestB129_EveryOperationOfEveryWorkerIsInTheTail(t *testing.T) {
	var calls [4]int
	inst := &target{op: func(w *measure.Worker) error {
		calls[w.ID]++
		if w.ID == 2 && calls[2]%100 == 0 {
			time.Sleep(50 * time.Millisecond)
			return nil
		}
		time.Sleep(time.Millisecond)
		return nil
	}}
	plan := measure.Plan{Workers: 4, Duration: 15 * time.Second}
	virtually(t, inst, plan, nil, func(t *testing.T, o measure.Outcome, err error) {
		all := int64(calls[0] + calls[1] + calls[2] + calls[3])
		if got := o.Ops[0].Service.Count(); got != all {
			t.Errorf("%d recorded, want all %d", got, all)
		}
		slow := int64(0)
		for _, bar := range o.Ops[0].Service.Hist.Distribution() {
			if bar.From > int64(2*time.Millisecond) {
				slow += bar.Count
			}
		}
		if slow != int64(calls[2]/100) {
			t.Errorf("%d slow operations recorded, want all %d of worker 2", slow, calls[2]/100)
		}
	})
}

// B-149: elapsed time by the wall clock turned negative.
func TestB149_StepsOfTheWallClockMoveNoDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		wall := func() time.Time {
			now := time.Now()
			switch elapsed := now.Sub(start); {
			case elapsed > 6*time.Second:
				return now.Add(7 * time.Hour)
			case elapsed > 3*time.Second:
				return now.Add(-7 * time.Hour)
			}
			return now
		}
		sink := &collector{}
		o, err := measure.Run(context.Background(), &target{op: serving(time.Millisecond)}, measure.Plan{
			Primary: "op", Wait: pace.Timer, Pacer: constant(t, 100), Duration: 10 * time.Second, Tick: time.Second, Wall: wall,
		}, sink)
		if err != nil || o.Window != 10*time.Second || o.Done != 1000 || o.AchievedPerS != 100 || !near(percentile(o.Ops[0].Response, 100), time.Millisecond) {
			t.Errorf("window %v, done %d, %v/s, slowest response %v, error %v: want 10s, 1000, 100/s, 1ms",
				o.Window, o.Done, o.AchievedPerS, percentile(o.Ops[0].Response, 100), err)
		}
		for i, tick := range sink.ticks {
			if want := start.Add(time.Duration(i) * time.Second); !tick.Start.Equal(want) || !tick.End.After(tick.Start) {
				t.Errorf("tick %d dated %v to %v, want it to start at %v", i, tick.Start, tick.End, want)
			}
		}
		if o.WallStep.Abs() != 7*time.Hour {
			t.Errorf("wall clock step %v, want the one of 7h flagged", o.WallStep)
		}
	})
}
