package measure

import (
	"slices"
	"time"
)

// progress is what the controlling goroutine of a run knows and nobody else
// touches.
type progress struct {
	sink      Sink      // may be nil
	wallStart time.Time // date of the run's zero
	wallStep  time.Duration

	opened    time.Duration // start of the window; -1 before
	lastTick  time.Duration
	drained   time.Duration // end of the run
	cancelled bool
	hung      uint64 // operations given up inside Op
	left      uint64 // those of them that belong to the window

	tickOps    []opTotals // of the current interval; empty between ticks
	tickHiccup totals
	sum        buffer // its counters only, over all workers and intervals
	ops        []opTotals
	hiccups    totals
	intervals  []interval
}

// opTotals sums one operation's series.
type opTotals [kindCount]totals

func newProgress(sink Sink, ops int) progress {
	return progress{
		sink:    sink,
		opened:  -1,
		tickOps: make([]opTotals, ops),
		ops:     make([]opTotals, ops),
	}
}

// date turns a time of the run into a date, monotonically.
func (p *progress) date(t time.Duration) time.Time { return p.wallStart.Add(t) }

// noteWall compares the wall clock with what the monotonic clock makes of it.
func (p *progress) noteWall(wall time.Time, now time.Duration) {
	// Round(0) strips the monotonic readings, which would hide a step.
	step := wall.Round(0).Sub(p.date(now).Round(0))
	if step.Abs() > p.wallStep.Abs() {
		p.wallStep = step
	}
}

// discardHiccups forgets the hiccups before the window.
func (r *run) discardHiccups() {
	var before totals
	before.take(r.hiccup.exchange().ops[0][service])
}

// collect takes what was recorded since the last tick from all workers, hands it
// to the sink and adds it to the sums. After the drain, when last is set, an
// interval without operations is left out.
func (r *run) collect(now time.Duration, last bool) {
	failedBefore, endedBefore := r.sum.failed, r.sum.ended
	var slow []Outlier
	for _, w := range r.crew {
		b := w.rec.exchange()
		slow = r.takeBuffer(w, b, slow)
	}
	if r.events != nil {
		r.events.take(r.plan, r.tickOps)
	}
	var bystanders []OpTick
	if r.sorter != nil {
		bystanders = r.sorter.take()
	}
	r.tickHiccup.take(r.hiccup.exchange().ops[0][service])
	failed := r.sum.failed - failedBefore
	if last && failed == 0 && r.tickIsEmpty() && !anySorted(bystanders) {
		return
	}
	r.noteWall(r.plan.Wall(), now)
	tick := r.makeTick(now, failed)
	tick.Bystanders = bystanders
	if !last {
		r.noteInterval(tick, r.sum.ended-endedBefore)
	}
	r.emit(tick, slow)
	for i := range r.tickOps {
		for kind := range r.tickOps[i] {
			r.ops[i][kind].add(&r.tickOps[i][kind])
			r.tickOps[i][kind].reset()
		}
	}
	r.hiccups.add(&r.tickHiccup)
	r.tickHiccup.reset()
	r.lastTick = now
}

// takeBuffer adds b to the current interval and the sums, and empties it.
func (r *run) takeBuffer(w *Worker, b *buffer, slow []Outlier) []Outlier {
	for i := range b.ops {
		for kind, c := range b.ops[i] {
			if c != nil {
				r.tickOps[i][kind].take(c)
			}
		}
	}
	r.sum.done += b.done
	r.sum.late += b.late
	r.sum.failed += b.failed
	r.sum.ended += b.ended
	r.sum.busy += b.busy
	r.sum.dropped += b.dropped
	for i := range b.outliers {
		slow = append(slow, r.outlier(w, &b.outliers[i]))
	}
	b.reset()
	return slow
}

func (r *run) outlier(w *Worker, raw *rawOutlier) Outlier {
	return Outlier{
		Op: r.plan.Primary, Worker: w.ID, N: raw.n,
		Due: raw.due, Start: raw.start, End: raw.end,
		Date:  r.date(raw.end),
		Notes: append([]Note(nil), raw.notes[:raw.noteCount]...),
	}
}

func (r *run) tickIsEmpty() bool {
	for i := range r.tickOps {
		if r.tickOps[i][service].count > 0 {
			return false
		}
	}
	return true
}

// anySorted says whether the sorter has judged any operation.
func anySorted(bystanders []OpTick) bool {
	return slices.ContainsFunc(bystanders, func(t OpTick) bool { return t.Service != nil })
}

func (r *run) makeTick(now time.Duration, failed uint64) Tick {
	t := Tick{
		Start:  r.date(r.lastTick),
		End:    r.date(now),
		From:   r.lastTick - r.opened,
		To:     now - r.opened,
		Hiccup: r.tickHiccup.histogram(),
	}
	for i, name := range r.plan.names() {
		sums := &r.tickOps[i]
		t.Ops = append(t.Ops, OpTick{
			Name:     name,
			Service:  sums[service].histogram(),
			Response: sums[response].histogram(),
			Slip:     sums[slip].histogram(),
			Lag:      sums[lag].histogram(),
			Over:     OpValues{sums[service].over, sums[response].over, sums[slip].over, sums[lag].over},
			Max:      OpValues{sums[service].max, sums[response].max, sums[slip].max, sums[lag].max},
		})
	}
	t.Ops[0].Failed = failed
	if source, ok := r.inst.(CounterSource); ok {
		t.Counters = source.Counters()
	}
	return t
}

// noteInterval keeps what steadiness needs of a tick of the window.
func (r *run) noteInterval(t Tick, ended uint64) {
	typical := t.Ops[0].Response
	if r.closed {
		typical = t.Ops[0].Service
	}
	if typical == nil || t.To <= t.From {
		return
	}
	r.intervals = append(r.intervals, interval{
		at:   (t.From + t.To) / 2,
		p99:  float64(typical.ValueAtPercentile(99)),
		rate: float64(ended) / (t.To - t.From).Seconds(),
	})
}

func (r *run) emit(tick Tick, slow []Outlier) {
	if r.sink == nil {
		return
	}
	for _, o := range slow {
		if err := r.sink.Outlier(o); err != nil {
			r.fail(err)
			return
		}
	}
	if err := r.sink.Tick(tick); err != nil {
		r.fail(err)
	}
}
