package measure_test

// Operations beside the workers, and what they do to those who happen to be
// around. In virtual time, so that every count is exact.

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"commitlab/bench/measure"
	"commitlab/bench/pace"
)

// disturbing is a target with a goroutine that does something for a while at set
// times of the run.
type disturbing struct {
	target
	events  *measure.Events
	every   time.Duration // from one beginning to the next
	lasting time.Duration
	stop    context.CancelFunc
	gone    chan struct{}
}

func (d *disturbing) Setup(context.Context) error {
	ctx, stop := context.WithCancel(context.Background())
	d.stop, d.gone = stop, make(chan struct{})
	go func() {
		defer close(d.gone)
		for ctx.Err() == nil {
			time.Sleep(d.every - d.lasting)
			start := time.Now()
			time.Sleep(d.lasting)
			d.events.Disturb(start, d.lasting)
			d.events.Record("step", start, d.lasting)
		}
	}()
	return nil
}

func (d *disturbing) Events() *measure.Events { return d.events }

func (d *disturbing) Close() error {
	d.stop()
	<-d.gone
	return nil
}

func bystandersOf(o measure.Outcome) (inside, outside int64) {
	for _, op := range o.Bystanders {
		switch op.Name {
		case "op.inside":
			inside = op.Service.Count()
		case "op.outside":
			outside = op.Service.Count()
		}
	}
	return inside, outside
}

// Goal: an operation stands inside if it overlapped a disturbance or its margin,
// outside otherwise, and none is lost or counted twice.
func TestBystandersAreSortedByOverlap(t *testing.T) {
	// One operation of 1 ms every 10 ms; a disturbance of 50 ms in each second, from
	// 950 ms on; a margin of 15 ms. Those due at 950 … 1000 overlap, the one due at
	// 1010 the margin; the one due at 940 has ended.
	inst := &disturbing{events: measure.NewEvents("step"), every: time.Second, lasting: 50 * time.Millisecond}
	inst.op = serving(time.Millisecond)
	plan := measure.Plan{
		Ops: []string{"step"}, Bystanders: []string{"op"}, Margin: 15 * time.Millisecond,
		Pacer: constant(t, 100), Warmup: 500 * time.Millisecond, Duration: 10 * time.Second,
	}
	sink := &collector{}
	virtually(t, inst, plan, sink, func(t *testing.T, o measure.Outcome, err error) {
		if err != nil {
			t.Fatal(err)
		}
		inside, outside := bystandersOf(o)
		if inside != 10*7 || outside != 1000-10*7 {
			t.Errorf("%d operations inside and %d outside, want 70 and 930", inside, outside)
		}
		if d := o.Disturbed; d.Count != 10 || d.Time != 10*65*time.Millisecond || d.Unsorted != 0 || d.Lost != 0 || d.Margin != plan.Margin {
			t.Errorf("disturbed by %+v, want 10 times 65 ms, margin included, all of it in time", *d)
		}
		var ticks int64
		for _, tick := range sink.ticks {
			for _, b := range tick.Bystanders {
				if b.Service != nil {
					ticks += b.Service.TotalCount()
				}
			}
		}
		if ticks != inside+outside {
			t.Errorf("ticks hold %d sorted operations, the outcome %d", ticks, inside+outside)
		}
	})
}

// Goal: what a worker observes is sorted like the operation itself.
func TestObservedSpansAreSorted(t *testing.T) {
	inst := &disturbing{events: measure.NewEvents("step"), every: time.Second, lasting: 100 * time.Millisecond}
	inst.op = func(w *measure.Worker) error {
		start := w.Now()
		time.Sleep(time.Millisecond)
		w.ObserveSpan("part", start, w.Now())
		return nil
	}
	plan := measure.Plan{
		Ops: []string{"part", "step"}, Bystanders: []string{"part"}, Margin: time.Nanosecond,
		Pacer: constant(t, 100), Duration: 5 * time.Second,
	}
	virtually(t, inst, plan, nil, func(t *testing.T, o measure.Outcome, err error) {
		if err != nil {
			t.Fatal(err)
		}
		// Those due at 900 … 1000 of each second; of the last one 900 … 990 are due.
		in, out := o.Bystanders[0], o.Bystanders[1]
		if in.Name != "part.inside" || out.Name != "part.outside" || in.Service.Count() != 5*11-1 || out.Service.Count() != 500-5*11+1 {
			t.Errorf("%s %d, %s %d: want part.inside 54 and part.outside 446", in.Name, in.Service.Count(), out.Name, out.Service.Count())
		}
		if got := o.Ops[1].Service.Count(); got != 500 {
			t.Errorf("part was observed %d times, want 500", got)
		}
	})
}

// Goal: a disturbance that is longer than anybody waits is not passed over in
// silence.
func TestDisturbanceKnownTooLateIsSaid(t *testing.T) {
	inst := &disturbing{events: measure.NewEvents("step"), every: 5 * time.Second, lasting: 3 * time.Second}
	inst.op = serving(time.Millisecond)
	plan := measure.Plan{Ops: []string{"step"}, Bystanders: []string{"op"}, Pacer: constant(t, 100), Duration: 6 * time.Second}
	virtually(t, inst, plan, nil, func(t *testing.T, o measure.Outcome, err error) {
		if err != nil {
			t.Fatal(err)
		}
		inside, outside := bystandersOf(o)
		if inside+outside != 600 {
			t.Errorf("%d sorted operations, want all 600", inside+outside)
		}
		if d := o.Disturbed; d.Unsorted < 1900*time.Millisecond || d.Unsorted > 2100*time.Millisecond {
			t.Errorf("%v of the disturbance are said to be unsorted, want about 2s: all but the last second", d.Unsorted)
		}
	})
}

// Goal: events count from the opening of the window on, under the plan's names.
func TestEventsBelongToTheWindow(t *testing.T) {
	inst := &disturbing{events: measure.NewEvents("step"), every: 100 * time.Millisecond, lasting: 10 * time.Millisecond}
	inst.op = serving(time.Millisecond)
	plan := measure.Plan{
		Ops: []string{"step"}, Pacer: constant(t, 100), Drain: -1,
		Warmup: 950 * time.Millisecond, Duration: 2 * time.Second, Tick: 500 * time.Millisecond,
	}
	sink := &collector{}
	virtually(t, inst, plan, sink, func(t *testing.T, o measure.Outcome, err error) {
		if err != nil {
			t.Fatal(err)
		}
		step := o.Ops[1]
		if step.Name != "step" || step.Service.Count() != 20 || percentile(step.Service, 50) != 10*time.Millisecond && !near(percentile(step.Service, 50), 10*time.Millisecond) {
			t.Errorf("%d steps of %v, want 20 of 10 ms: none of the warm-up", step.Service.Count(), percentile(step.Service, 50))
		}
		for i, tick := range sink.ticks {
			if n := tick.Ops[1].Service.TotalCount(); n != 5 {
				t.Errorf("tick %d holds %d steps, want 5", i, n)
			}
		}
	})
}

func TestEventsMustBeInThePlan(t *testing.T) {
	inst := &disturbing{events: measure.NewEvents("step"), every: time.Second}
	virtually(t, inst, measure.Plan{Duration: time.Second}, nil, func(t *testing.T, o measure.Outcome, err error) {
		if err == nil || o.Status != measure.Failed {
			t.Errorf("status %q, error %v: want failed, the plan has no step", o.Status, err)
		}
	})
	if _, err := measure.Run(t.Context(), &target{}, measure.Plan{Primary: "op", Duration: time.Second, Bystanders: []string{"other"}}, nil); err == nil {
		t.Error("a bystander that is no operation is accepted")
	}
}

// Goal: what is to go on beside the load begins after Setup, ends before Verify,
// and ends also when the run does not come to its end.
func TestBesideSurroundsTheLoad(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name        string
		op          func(*measure.Worker) error
		begin, end  error
		cancel      bool
		want        []string
		status      measure.Status
		wantedError error
	}{
		{name: "to the end", op: serving(time.Millisecond), want: []string{"setup", "begin", "end", "verify"}, status: measure.OK},
		{name: "interrupted", op: serving(time.Millisecond), cancel: true, want: []string{"setup", "begin", "end", "verify"}, status: measure.Interrupted},
		{name: "failing operation", op: func(*measure.Worker) error { return broken }, want: []string{"setup", "begin", "end"}, status: measure.Failed, wantedError: broken},
		{name: "failing beginning", op: serving(time.Millisecond), begin: broken, want: []string{"setup", "begin"}, status: measure.Failed, wantedError: broken},
		{name: "failing end", op: serving(time.Millisecond), end: broken, want: []string{"setup", "begin", "end", "verify"}, status: measure.Failed, wantedError: broken},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var said []string
				closed := false
				say := func(word string) func(context.Context) error {
					return func(context.Context) error { said = append(said, word); return nil }
				}
				inst := &target{setup: say("setup"), verify: say("verify"), op: c.op, close: func() error { closed = true; return nil }}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				plan := measure.Plan{Primary: "op", Wait: pace.Timer, Duration: time.Second, Beside: func(context.Context) (func() error, error) {
					said = append(said, "begin")
					if c.cancel {
						time.AfterFunc(100*time.Millisecond, cancel)
					}
					return func() error { said = append(said, "end"); return c.end }, c.begin
				}}
				o, err := measure.Run(ctx, inst, plan, nil)
				if o.Status != c.status || !errors.Is(err, c.wantedError) || !closed {
					t.Errorf("status %q, error %v, closed %v: want %q and %v", o.Status, err, closed, c.status, c.wantedError)
				}
				if !slices.Equal(said, c.want) {
					t.Errorf("came as %q, want %q", said, c.want)
				}
			})
		})
	}
}
