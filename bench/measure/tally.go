package measure

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"commitlab/bench/pace"
)

// Tally is what a generator in another process counted, by the rules of the
// package comment: all of an Outcome that its Ticks do not hold. Times are on
// that generator's clock, whose zero is the pacer's.
type Tally struct {
	Date    time.Time     // of the clock's zero
	Opened  time.Duration // start of the window; negative if it never opened
	End     time.Duration // of the window
	Drained time.Duration // end of the run

	// Of primary operations that belong to the window; see Outcome.
	Done, Late, Failed, Unfinished uint64
	// Ended counts the operations that ended well inside the window, whenever
	// they were due, and Busy is the time in it that workers spent in operations.
	Ended uint64
	Busy  time.Duration

	OutliersDropped uint64
	// Failure is what ended the run early: ErrEnd in order, anything else as a
	// failure. Nil if nothing did.
	Failure   error
	Cancelled bool // told to end early
}

// Outcome is what Run would have returned for a run that another process
// measured: the same sums, the same steadiness, the same judgement. The plan is
// the one that process was given, and ticks are all it recorded.
func (t Tally) Outcome(plan Plan, ticks []Tick) (Outcome, error) {
	plan, err := plan.Resolve()
	if err != nil {
		return Outcome{Status: Failed, Reason: err.Error()}, err
	}
	r := &run{
		plan:     plan,
		closed:   pace.IsClosed(plan.Pacer),
		failed:   make(chan struct{}),
		progress: newProgress(nil, len(plan.Ops)+1),
	}
	r.end.Store(int64(t.End))
	r.wallStart, r.opened, r.drained, r.cancelled, r.left = t.Date, t.Opened, t.Drained, t.Cancelled, t.Unfinished
	r.sum = buffer{done: t.Done, late: t.Late, failed: t.Failed, ended: t.Ended, busy: t.Busy, dropped: t.OutliersDropped}
	if t.Failure != nil {
		r.fail(t.Failure)
	}
	for _, tick := range ticks {
		r.addTick(tick)
	}
	return r.outcome(), nil
}

// addTick adds an interval that was recorded elsewhere. The last one, of the
// drain, says nothing about steadiness.
func (r *run) addTick(t Tick) {
	for i, op := range t.Ops {
		sums := &r.ops[i]
		sums[service].addHistogram(op.Service, op.Max.Service, op.Over.Service)
		sums[response].addHistogram(op.Response, op.Max.Response, op.Over.Response)
		sums[slip].addHistogram(op.Slip, op.Max.Slip, op.Over.Slip)
		sums[lag].addHistogram(op.Lag, op.Max.Lag, op.Over.Lag)
	}
	r.hiccups.addHistogram(t.Hiccup, 0, 0)
	if primary := t.Ops[0].Service; primary != nil && t.From < time.Duration(r.end.Load())-r.opened {
		r.noteInterval(t, uint64(primary.TotalCount()))
	}
}

// addHistogram adds a histogram of the lab's geometry, with the exact maximum
// (0 if only the histogram knows it) and the number of values above its range.
// Nil is an empty one.
func (t *totals) addHistogram(h *hdrhistogram.Histogram, highest, over int64) {
	if h == nil || h.TotalCount() == 0 {
		return
	}
	if highest == 0 {
		highest = h.Max()
	}
	t.grow()
	for i, n := range h.Export().Counts {
		t.cell[i] += n
		t.count += n
	}
	t.max = max(t.max, highest)
	t.over += over
}
