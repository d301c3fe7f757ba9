package report

import (
	"fmt"
	"time"

	"commitlab/bench/result"
)

// maxPoints bounds the points over time of one run and tag, however long the
// run was. More would be closer together than the pixels of a figure.
const maxPoints = 240

// accumulator reduces the intervals of one run, one after another, to what a
// report keeps. It holds two histograms per tag.
type accumulator struct {
	perPoint int // intervals merged into one point
	start    time.Time
	tags     map[string]*tagTotal
}

type tagTotal struct {
	total   *result.Distribution
	pending *result.Distribution // the intervals since the last point; nil if none
	begin   time.Time
	end     time.Time
	merged  int // intervals in pending
	points  []Point
}

// newAccumulator expects about this many intervals per tag.
func newAccumulator(intervals int64) *accumulator {
	return &accumulator{
		perPoint: int(max(1, (intervals+maxPoints-1)/maxPoints)),
		tags:     map[string]*tagTotal{},
	}
}

// add takes one interval in. It is false when there turn out to be far more
// intervals than expected, so that the caller must begin again with more.
func (a *accumulator) add(i result.Interval) (bool, error) {
	if a.start.IsZero() {
		a.start = i.Start
	}
	t := a.tags[i.Tag]
	if t == nil {
		t = &tagTotal{total: result.NewDistribution()}
		a.tags[i.Tag] = t
	}
	if err := t.total.Add(i.Hist, result.Extremes{}); err != nil {
		return false, fmt.Errorf("%s: %w", i.Tag, err)
	}
	if t.pending == nil {
		t.pending, t.begin = &result.Distribution{Hist: i.Hist}, i.Start
	} else if err := t.pending.Add(i.Hist, result.Extremes{}); err != nil {
		return false, fmt.Errorf("%s: %w", i.Tag, err)
	}
	t.end = i.End
	t.merged++
	if t.merged == a.perPoint {
		t.point(a.start)
	}
	return len(t.points) <= 2*maxPoints, nil
}

// addAll reads the latency log of a run; see add.
func (a *accumulator) addAll(r *result.Run) (fits bool, err error) {
	for i, err := range r.Intervals() {
		if err != nil {
			return true, err
		}
		if fits, err := a.add(i); !fits || err != nil {
			return fits, err
		}
	}
	return true, nil
}

// point turns the pending intervals into one point.
func (t *tagTotal) point(start time.Time) {
	if t.pending == nil {
		return
	}
	d := t.pending
	t.points = append(t.points, Point{
		Start: t.begin.Sub(start), End: t.end.Sub(start), Count: d.Count(),
		P50: at(d, 50), P99: at(d, 99), Max: at(d, 100),
	})
	t.pending, t.merged = nil, 0
}

// extremes takes in what the log itself cannot keep.
func (a *accumulator) extremes(all map[string]result.Extremes) {
	for tag, e := range all {
		if t := a.tags[tag]; t != nil {
			t.total.Extremes.Add(e)
		}
	}
}

// finish returns the reduced latencies and the distributions to be merged.
func (a *accumulator) finish() (map[string]*RunLatency, map[string]*result.Distribution) {
	reduced := map[string]*RunLatency{}
	totals := map[string]*result.Distribution{}
	for tag, t := range a.tags {
		t.point(a.start)
		totals[tag] = t.total
		reduced[tag] = &RunLatency{
			Count: t.total.Count(), Extremes: t.total.Extremes, MeanNs: mean(t.total),
			Values: values(t.total), Curve: curve(t.total), Series: t.points,
		}
	}
	return reduced, totals
}
