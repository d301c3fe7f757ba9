package measure

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"commitlab/bench/pace"
)

// finite is a target that serves a number of operations and then ends the run.
type finite struct {
	left     atomic.Int64
	verified bool
}

func (*finite) Setup(context.Context) error    { return nil }
func (f *finite) Verify(context.Context) error { f.verified = true; return nil }
func (*finite) Close() error                   { return nil }

func (f *finite) Op(*Worker) error {
	if f.left.Add(-1) < 0 {
		return fmt.Errorf("write: %w: no room", ErrEnd)
	}
	return nil
}

func TestTargetEndsTheRunInOrder(t *testing.T) {
	constant, err := pace.NewConstant(1000)
	if err != nil {
		t.Fatal(err)
	}
	for name, pacer := range map[string]pace.Pacer{"closed": nil, "open": constant} {
		t.Run(name, func(t *testing.T) {
			target := &finite{}
			target.left.Store(50)
			o, err := Run(t.Context(), target, Plan{Primary: "op", Workers: 2, Pacer: pacer, Duration: time.Minute}, nil)
			// On a busy machine the open loop's generator may be found too slow.
			inOrder := o.Status == OK && strings.Contains(o.Reason, "no room") || name == "open" && o.Status == Invalid
			if err != nil || !inOrder {
				t.Errorf("run ended %q, reason %q, error %v; want ok with the target's reason", o.Status, o.Reason, err)
			}
			if o.Done+o.Late != 50 || o.Failed != 0 {
				t.Errorf("%d operations done and %d failed, want 50 and 0", o.Done+o.Late, o.Failed)
			}
			if o.Window <= 0 || o.Window >= time.Minute {
				t.Errorf("window is %v long, want it cut short", o.Window)
			}
			if !target.verified {
				t.Error("what was done was not verified")
			}
		})
	}
}

func TestTargetThatEndsInTheWarmUpMeasuresNothing(t *testing.T) {
	target := &finite{}
	o, err := Run(t.Context(), target, Plan{Primary: "op", Warmup: time.Minute, Duration: time.Minute}, nil)
	if err != nil || o.Status != Failed || !strings.Contains(o.Reason, "in the warm-up") {
		t.Errorf("run ended %q, reason %q, error %v; want failed in the warm-up", o.Status, o.Reason, err)
	}
}
