package measure

import (
	"context"
	"runtime"
	"testing"
	"time"

	"commitlab/bench/pace"
)

// counted is a target that does nothing, n times.
type counted struct{ n uint64 }

func (*counted) Setup(context.Context) error  { return nil }
func (*counted) Verify(context.Context) error { return nil }
func (*counted) Close() error                 { return nil }

func (c *counted) Op(w *Worker) error {
	w.Observe("part", time.Microsecond)
	w.Note("n", int64(w.N))
	if c.n--; c.n == 0 {
		return ErrEnd
	}
	return nil
}

// drive runs n operations of a target that does nothing, with one worker.
func drive(tb testing.TB, n uint64, p pace.Pacer) {
	tb.Helper()
	plan := Plan{Primary: "op", Ops: []string{"part"}, Pacer: p, Duration: time.Hour, Tick: time.Minute, OutlierOver: 1}
	o, err := Run(context.Background(), &counted{n: n}, plan, nil)
	if err != nil || o.Done != n-1 {
		tb.Fatalf("%d operations done, error %v: want %d", o.Done, err, n-1)
	}
}

// The operation path allocates nothing: a thousand times the operations cost no
// more objects than a few ticks of the helpers do.
func TestOperationPathDoesNotAllocate(t *testing.T) {
	due, err := pace.NewBurst(1_000_000, 2*time.Hour) // all at once
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]pace.Pacer{"closed": nil, "open": due} {
		objects := func(n uint64) uint64 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			drive(t, n, p)
			runtime.ReadMemStats(&after)
			return after.Mallocs - before.Mallocs
		}
		few, many := objects(1000), objects(1_000_000)
		if many > few+1000 {
			t.Errorf("%s loop: %d objects for a thousand operations, %d for a million: want about the same", name, few, many)
		}
	}
}

// BenchmarkOverhead is what measuring adds to an operation, here one that observes
// a part of itself and leaves a note.
func BenchmarkOverhead(b *testing.B) {
	for name, open := range map[string]bool{"closed": false, "open": true} {
		b.Run("loop="+name, func(b *testing.B) {
			var p pace.Pacer
			if open {
				burst, err := pace.NewBurst(uint64(b.N)+1, 2*time.Hour)
				if err != nil {
					b.Fatal(err)
				}
				p = burst
			}
			b.ReportAllocs()
			drive(b, uint64(b.N)+1, p)
		})
	}
}
