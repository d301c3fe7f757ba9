package chart

import (
	"fmt"
	"math"
	"sort"
)

// CurvePoint is one point of a distribution: Nanos is the latency that a share
// of 1-1/Tail of the operations did not exceed (Tail 1000 is p99.9). Low and
// High are the smallest and largest value of single blocks there, NaN where
// the blocks are too short to have one.
type CurvePoint struct {
	Tail, Nanos, Low, High float64
}

// Curve is the distribution of one configuration, points by rising Tail. The
// last point is the largest value.
type Curve struct {
	Name   string
	Class  string // "c0" … "c7", or "hiccup" for the machine's own noise
	Points []CurvePoint
}

// Percentiles is a figure of latency by percentile: the tail stretched to the
// right by its own logarithm, as HdrHistogram's plots do, latency upwards.
type Percentiles struct {
	Title  string
	Curves []Curve
	// Min and Max bound the latency axis in nanoseconds, so that figures side by
	// side can share it; zero takes the range of the curves.
	Min, Max float64
}

// Extent returns the smallest and largest latency of the curves, and false
// when there is none above zero.
func (f Percentiles) Extent() (low, high float64, ok bool) {
	e := newExtent()
	for _, c := range f.Curves {
		for _, p := range c.Points {
			e.add(p.Nanos)
			e.add(p.Low)
			e.add(p.High)
		}
	}
	return e.min, e.max, !e.empty()
}

const (
	percentilesWidth  = 560.0
	percentilesHeight = 340.0
)

// marked are the percentiles that get a marker and an axis label.
var marked = []struct {
	tail  float64
	label string
}{{2, "50"}, {10, "90"}, {100, "99"}, {1e3, "99.9"}, {1e4, "99.99"}, {1e5, "99.999"}, {1e6, "99.9999"}, {1e7, "99.99999"}}

// SVG draws the figure. Without any value it is the empty string.
func (f Percentiles) SVG() string {
	low, high, ok := f.Extent()
	if !ok {
		return ""
	}
	if f.Min > 0 && f.Max > f.Min {
		low, high = f.Min, f.Max
	}
	low, high = extent{low, high}.rounded()
	tail := 10.0
	for _, c := range f.Curves {
		if n := len(c.Points); n > 0 && c.Class != "hiccup" {
			tail = math.Max(tail, c.Points[n-1].Tail)
		}
	}
	x := logScale{1, tail, 58, percentilesWidth - 62}
	y := logScale{low, high, percentilesHeight - 44, 34}

	c := newCanvas("percentiles", f.Title, f.describe(), percentilesWidth, percentilesHeight)
	c.text("heading", x.from, 16, start, f.Title)
	latencyAxis(c, y, x.from, x.upTo)
	for _, m := range marked {
		if m.tail > tail {
			break
		}
		at := x.at(m.tail)
		c.line("grid minor", at, y.from, at, y.upTo)
		c.text("tick", at, y.from+16, middle, m.label)
	}
	c.text("axis", (x.from+x.upTo)/2, percentilesHeight-8, middle, "percentile")
	for _, curve := range f.Curves {
		drawBand(c, curve, x, y)
	}
	for _, curve := range f.Curves {
		drawCurve(c, curve, x, y)
	}
	f.labelEnds(c, x, y)
	return c.close()
}

// latencyAxis draws the horizontal grid with its labels at the left.
func latencyAxis(c *canvas, y logScale, left, right float64) {
	for _, t := range y.ticks() {
		at := y.at(t.value)
		if !t.major {
			c.line("grid minor", left, at, right, at)
			continue
		}
		c.line("grid", left, at, right, at)
		c.text("tick", left-8, at+4, end, axisLabel(t.value))
	}
}

// axisLabel writes round values without the digits that Duration would keep.
func axisLabel(ns float64) string {
	u := unitFor(ns)
	return Significant(ns/u.nanos, 1) + " " + u.name
}

func drawBand(c *canvas, curve Curve, x, y logScale) {
	var upper, lower []point
	for _, p := range curve.Points {
		if math.IsNaN(p.Low) || math.IsNaN(p.High) {
			continue
		}
		upper = append(upper, point{x.at(p.Tail), y.at(p.High)})
		lower = append(lower, point{x.at(p.Tail), y.at(p.Low)})
	}
	c.area("band "+curve.Class, upper, lower)
}

func drawCurve(c *canvas, curve Curve, x, y logScale) {
	var line []point
	for _, p := range curve.Points {
		if p.Tail <= x.max {
			line = append(line, point{x.at(p.Tail), y.at(p.Nanos)})
		}
	}
	c.polyline("curve "+curve.Class, line)
	if curve.Class == "hiccup" {
		return
	}
	for _, m := range marked {
		if v, ok := curve.at(m.tail); ok {
			c.dot("marker "+curve.Class, x.at(m.tail), y.at(v), 2.6, fmt.Sprintf("%s p%s %s", curve.Name, m.label, Duration(v)))
		}
	}
}

// at interpolates the latency at a tail inside the curve.
func (c Curve) at(tail float64) (ns float64, ok bool) {
	i := sort.Search(len(c.Points), func(i int) bool { return c.Points[i].Tail >= tail*0.9999 })
	if i == len(c.Points) {
		return 0, false
	}
	q := c.Points[i]
	if i == 0 || q.Tail <= tail*1.0001 {
		return q.Nanos, true
	}
	p := c.Points[i-1]
	part := math.Log(tail/p.Tail) / math.Log(q.Tail/p.Tail)
	return p.Nanos + part*(q.Nanos-p.Nanos), true
}

// labelEnds writes the largest value of each curve beside its end.
func (f Percentiles) labelEnds(c *canvas, x, y logScale) {
	type label struct {
		curve Curve
		last  CurvePoint
	}
	var labels []label
	for _, curve := range f.Curves {
		if n := len(curve.Points); n > 0 && curve.Class != "hiccup" {
			labels = append(labels, label{curve, curve.Points[n-1]})
		}
	}
	sort.SliceStable(labels, func(i, j int) bool { return labels[i].last.Nanos > labels[j].last.Nanos })
	wished := make([]float64, len(labels))
	for i, l := range labels {
		wished[i] = y.at(l.last.Nanos)
	}
	for i, at := range spreadLabels(wished, 13, y.from) {
		l := labels[i]
		c.dot("marker "+l.curve.Class, x.at(l.last.Tail), wished[i], 3.4, l.curve.Name+" max "+Duration(l.last.Nanos))
		c.text("end "+l.curve.Class, x.upTo+8, at+4, start, Duration(l.last.Nanos))
	}
}

func (f Percentiles) describe() string {
	s := "Latency by percentile, both axes logarithmic."
	for _, c := range f.Curves {
		if n := len(c.Points); n > 0 {
			s += fmt.Sprintf(" %s ends at %s.", c.Name, Duration(c.Points[n-1].Nanos))
		}
	}
	return s
}
