package report

import (
	"fmt"
	"math"

	"commitlab/bench/report/chart"
	"commitlab/bench/result"
)

// percentileFigures draws each kind of an operation's latency side by side, on
// the same latency axis. Empty when no cell has any.
func (g *Group) percentileFigures(op string) []string {
	var figures []chart.Percentiles
	low, high := math.Inf(1), math.Inf(-1)
	for _, kind := range []result.Kind{result.Service, result.Response} {
		f := chart.Percentiles{Title: fmt.Sprintf("%s %s time", op, kind), Curves: g.curves(result.Tag(op, kind))}
		l, h, ok := f.Extent()
		if !ok {
			continue
		}
		if c, ok := g.hiccupCurve(); ok {
			f.Curves = append(f.Curves, c)
		}
		low, high = min(low, l), max(high, h)
		figures = append(figures, f)
	}
	var out []string
	for _, f := range figures {
		f.Min, f.Max = low, high
		out = append(out, f.SVG())
	}
	return out
}

func (g *Group) curves(tag string) []chart.Curve {
	var curves []chart.Curve
	for i, c := range g.Cells {
		d := c.Latency[tag]
		if d == nil || d.Count() == 0 {
			continue
		}
		curve := chart.Curve{Name: c.Label, Class: colour(i), Points: points(d)}
		c.band(tag, curve.Points)
		curves = append(curves, curve)
	}
	return curves
}

// points is the distribution as a curve that ends at its exact maximum.
func points(d *result.Distribution) []chart.CurvePoint {
	var out []chart.CurvePoint
	for i, ns := range curve(d) {
		out = append(out, chart.CurvePoint{Tail: tailAt(i), Nanos: ns, Low: math.NaN(), High: math.NaN()})
	}
	return append(out, chart.CurvePoint{Tail: float64(d.Count()), Nanos: at(d, 100), Low: math.NaN(), High: math.NaN()})
}

// band notes the smallest and largest value of single runs at each point that
// all shown runs reach, if there are at least two of them.
func (c *Cell) band(tag string, points []chart.CurvePoint) {
	runs := c.shown()
	if len(runs) < 2 {
		return
	}
	for i := range points[:len(points)-1] {
		low, high := math.Inf(1), math.Inf(-1)
		for _, r := range runs {
			l := r.Latency[tag]
			if l == nil || i >= len(l.Curve) {
				return
			}
			low, high = min(low, l.Curve[i]), max(high, l.Curve[i])
		}
		points[i].Low, points[i].High = low, high
	}
}

// hiccupCurve is the machine's own noise during all runs of the group.
func (g *Group) hiccupCurve() (chart.Curve, bool) {
	all := result.NewDistribution()
	for _, c := range g.Cells {
		if d := c.Latency[result.HiccupTag]; d != nil {
			if err := all.Add(d.Hist, d.Extremes); err != nil {
				return chart.Curve{}, false // its table says what there is
			}
		}
	}
	if all.Count() == 0 {
		return chart.Curve{}, false
	}
	return chart.Curve{Name: "hiccup", Class: "hiccup", Points: points(all)}, true
}

// timelines draws the latency over time of each configuration, on the same
// latency axis.
func (g *Group) timelines(tag string) []string {
	var figures []chart.Timeline
	low, high := math.Inf(1), math.Inf(-1)
	for i, c := range g.Cells {
		f := chart.Timeline{Name: c.Label, Class: colour(i)}
		for _, r := range c.Runs {
			if b, ok := r.timeBlock(tag); ok {
				f.Blocks = append(f.Blocks, b)
			}
		}
		if l, h, ok := f.Extent(); ok {
			low, high = min(low, l), max(high, h)
			figures = append(figures, f)
		}
	}
	var out []string
	for _, f := range figures {
		f.Min, f.Max = low, high
		out = append(out, f.SVG())
	}
	return out
}

func (r *Run) timeBlock(tag string) (chart.TimeBlock, bool) {
	l := r.Latency[tag]
	if l == nil || len(l.Series) == 0 {
		return chart.TimeBlock{}, false
	}
	b := chart.TimeBlock{Label: r.name(), Seconds: l.Series[len(l.Series)-1].End.Seconds()}
	if r.Dropped != "" {
		b.Label += " (not counted)"
	}
	for _, p := range l.Series {
		b.Points = append(b.Points, chart.TimePoint{Seconds: (p.Start + p.End).Seconds() / 2, P50: p.P50, P99: p.P99, Max: p.Max})
	}
	return b, b.Seconds > 0
}

// ratioFigure draws the comparisons of a tag with the first configuration.
func (g *Group) ratioFigure(tag string) string {
	f := chart.Ratios{Title: "Ratio of the " + describeTag(tag), Noise: g.noiseIntervals(tag)}
	for s, statistic := range Statistics {
		for i, c := range g.Cells {
			p := find(g.Comparisons, c, tag, s)
			if p == nil {
				continue
			}
			f.Base = p.Base.Label
			if c.Side != "" {
				f.Base = "A"
			}
			low, high := p.bounds()
			f.Rows = append(f.Rows, chart.RatioRow{
				Name: c.Label, Statistic: statistic.Name, Class: colour(i),
				Estimate: p.Ratio, Low: low, High: high, Blocks: p.Blocks,
			})
		}
	}
	return f.SVG()
}

// noiseIntervals returns what the A/A pair, if there is one with enough
// blocks, differed by in each statistic.
func (g *Group) noiseIntervals(tag string) map[string]chart.Interval {
	out := map[string]chart.Interval{}
	for _, c := range g.Checks {
		for i, s := range Statistics {
			if p := find(c.Results, c.B, tag, i); p != nil && c.Kind == result.AA && p.Enough {
				out[s.Name] = chart.Interval{Low: p.Low, High: p.High}
			}
		}
	}
	return out
}

func describeTag(tag string) string {
	op, kind := splitTag(tag)
	return fmt.Sprintf("%s time of %s", kind, op)
}
