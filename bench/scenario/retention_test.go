package scenario

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"commitlab/bench/measure"
	"commitlab/bench/pace"
	"commitlab/engine"
	"commitlab/engine/segment"
)

// rolling makes a small spec in which files come and go several times a second.
func rolling(p *Spec) {
	p.Options.CommitLogFileBytes, p.Options.FlushIntervalMs, p.Options.DeleteFileIntervalMs = 64<<10, 1, 1
	p.MaxBytes = 2 << 20
}

func service(t *testing.T, all []measure.OpOutcome, name string) *measure.Dist {
	t.Helper()
	for _, op := range all {
		if op.Name == name {
			return op.Service
		}
	}
	t.Fatalf("there is no operation %s", name)
	return nil
}

// Goal: with each way to destroy the log stays small while it is written, its steps
// are timed, and every append is either inside or outside of a disturbance.
func TestRetentionDestroysWhileItAppends(t *testing.T) {
	s, err := Find("retention")
	if err != nil {
		t.Fatal(err)
	}
	pacer, err := pace.NewConstant(4000)
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range []segment.Destruction{segment.DestroyInline, segment.DestroyBackground, segment.DestroyStepwise, segment.DestroyPunch, segment.DestroyRecycle} {
		t.Run(string(way), func(t *testing.T) {
			spec := small(t, s, func(p *Spec) { rolling(p); p.Options.Destroy = way })
			instance, err := s.New(spec)
			if err != nil {
				t.Fatal(err)
			}
			sink := &lastCounters{}
			plan := measure.Plan{
				Primary: s.Ops[0], Ops: s.Ops[1:], Bystanders: s.Bystanders,
				Workers: spec.Writers, Pacer: pacer, Duration: time.Minute,
			}
			o, err := measure.Run(t.Context(), instance, plan, sink)
			if err != nil || !strings.Contains(o.Reason, "byte budget used") && o.Status != measure.Invalid {
				t.Fatalf("run ended %q: %s, %v", o.Status, o.Reason, err)
			}
			if service(t, o.Ops, "destroy.total").Count() < 5 || service(t, o.Ops, "roll").Count() < 20 {
				t.Errorf("%d files were destroyed and %d begun, want most of 32",
					service(t, o.Ops, "destroy.total").Count(), service(t, o.Ops, "roll").Count())
			}
			appends := service(t, o.Ops, "append").Count()
			inside, outside := service(t, o.Bystanders, "append.inside").Count(), service(t, o.Bystanders, "append.outside").Count()
			if inside+outside != appends || inside == 0 {
				t.Errorf("of %d appends %d were inside and %d outside, want all of them and some inside", appends, inside, outside)
			}
			if kept := sink.last.CommitLog.AppendedOffset - sink.last.CommitLog.MinOffset; kept >= spec.MaxBytes {
				t.Errorf("the log has %d of all %d bytes", kept, spec.MaxBytes)
			}
		})
	}
}

// lastCounters keeps the last snapshot of a store.
type lastCounters struct{ last engine.Snapshot }

func (c *lastCounters) Tick(t measure.Tick) error {
	c.last = t.Counters.(engine.Snapshot)
	return nil
}

func (c *lastCounters) Outlier(measure.Outlier) error { return nil }

func TestRetentionWithoutDispatch(t *testing.T) {
	s, err := Find("retention")
	if err != nil {
		t.Fatal(err)
	}
	o, err := run(t, s, small(t, s, func(p *Spec) { rolling(p); p.Options.Dispatch = engine.Off }))
	if err != nil || o.Done == 0 || service(t, o.Ops, "lookup").Count() > 0 {
		t.Errorf("run ended %q, %v, with %d appends and %d lookups", o.Status, err, o.Done, service(t, o.Ops, "lookup").Count())
	}
}

// Goal: a log that grows although it should not ends the run in order.
func TestRetentionEndsWhenDeletionFallsBehind(t *testing.T) {
	s, err := Find("retention")
	if err != nil {
		t.Fatal(err)
	}
	instance, err := s.New(small(t, s, rolling))
	if err != nil {
		t.Fatal(err)
	}
	if err := instance.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := instance.(*retainer)
	r.mostAt = 1
	if r.Counters(); !errors.Is(r.Op(measure.NewWorker(0, 1, s.Ops[0], s.Ops[1:]...)), measure.ErrEnd) {
		t.Error("an append to a log that is too large does not end the run")
	}
	if err := errors.Join(r.Verify(t.Context()), r.Close()); err != nil {
		t.Error(err)
	}
}

// Goal: a reader who holds a record keeps its file from going, but not its space:
// after the patience the record is revoked, and its file is gone with the release.
func TestDestroyWaitsForAReader(t *testing.T) {
	s, err := Find("destroy")
	if err != nil {
		t.Fatal(err)
	}
	instance, err := s.New(small(t, s, func(p *Spec) {
		p.Options.CommitLogFileBytes, p.MaxBytes, p.Writers = 64<<10, 64<<10, 1
		p.Options.DestroyForceMs, p.Options.CleanIntervalMs = 1, 1
	}))
	if err != nil {
		t.Fatal(err)
	}
	if err := instance.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	view, err := instance.(Holder).HoldOldest()
	if err != nil {
		t.Fatal(err)
	}
	released := make(chan error, 1)
	go func() {
		for range 4000 {
			if time.Sleep(time.Millisecond); view.Revoked() {
				break
			}
		}
		var err error
		if !view.Revoked() {
			err = fmt.Errorf("the record at offset %d is still the reader's", view.PhysicalOffset)
		}
		view.Release()
		released <- err
	}()
	w := measure.NewWorker(0, 1, s.Ops[0], s.Ops[1:]...)
	if err := instance.Op(w); err != nil {
		t.Error(err)
	}
	if err := <-released; err != nil {
		t.Error(err)
	}
	if n := instance.(*destroyer).files.Load(); n < 1 {
		t.Errorf("%d files are gone, want the one that was held", n)
	}
	if n := service(t, w.Observed(), "expire").Count(); n != 1 {
		t.Errorf("expire was observed %d times, want once", n)
	}
	if err := errors.Join(instance.Verify(t.Context()), instance.Close()); err != nil {
		t.Error(err)
	}
}
