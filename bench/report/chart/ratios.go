package chart

import (
	"fmt"
	"math"
)

// RatioRow compares one configuration with the first by one statistic. Values
// are ratios: 1 is equal, below 1 is less latency.
type RatioRow struct {
	Name      string // the configuration
	Statistic string // p50, p99, …
	Class     string
	Estimate  float64
	Low, High float64   // interval, NaN without one
	Blocks    []float64 // the ratio of each block
}

// Ratios is a figure of ratios with their intervals on one logarithmic axis.
type Ratios struct {
	Title string
	Base  string // name of the configuration that is 1
	Rows  []RatioRow
	// Noise holds, by statistic, the interval of what the same configuration
	// differed from itself by, where that was measured. It is drawn as a band
	// behind the rows of the statistic.
	Noise map[string]Interval
}

// Interval is a range of ratios.
type Interval struct{ Low, High float64 }

const (
	ratiosWidth = 1140.0
	ratiosRow   = 24.0
	ratiosGap   = 10.0 // between the rows of two statistics
)

// SVG draws the figure. Without rows it is the empty string.
func (f Ratios) SVG() string {
	e := newExtent()
	e.add(1)
	for _, r := range f.Rows {
		for _, v := range append([]float64{r.Estimate, r.Low, r.High}, r.Blocks...) {
			e.add(v)
		}
	}
	for _, n := range f.Noise {
		e.add(n.Low)
		e.add(n.High)
	}
	if len(f.Rows) == 0 || e.min == e.max {
		return ""
	}
	const top = 40.0
	ys, bottom := f.layout(top)
	low, high := e.rounded()
	x := logScale{low, high, 250, ratiosWidth - 200}

	c := newCanvas("ratios", f.Title, f.describe(), ratiosWidth, bottom+36)
	c.text("heading", 0, 14, start, f.Title)
	for _, t := range x.ticks() {
		at := x.at(t.value)
		if !t.major {
			c.line("grid minor", at, top-8, at, bottom)
			continue
		}
		c.line("grid", at, top-8, at, bottom)
		c.text("tick", at, bottom+16, middle, "×"+Significant(t.value, 1))
	}
	c.line("one", x.at(1), top-12, x.at(1), bottom)
	c.text("axis", x.at(1), top-16, middle, f.Base)
	for i, r := range f.Rows {
		if n, ok := f.Noise[r.Statistic]; ok {
			c.rect("noise", x.at(n.Low), ys[i], x.at(n.High)-x.at(n.Low), ratiosRow)
		}
		f.drawRow(c, i, r, x, ys[i]+ratiosRow/2)
	}
	return c.close()
}

// layout returns the upper edge of each row and the lower edge of the last.
func (f Ratios) layout(top float64) (ys []float64, bottom float64) {
	y := top
	for i, r := range f.Rows {
		if i > 0 && r.Statistic != f.Rows[i-1].Statistic {
			y += ratiosGap
		}
		ys = append(ys, y)
		y += ratiosRow
	}
	return ys, y
}

func (f Ratios) drawRow(c *canvas, i int, r RatioRow, x logScale, y float64) {
	if i == 0 || f.Rows[i-1].Statistic != r.Statistic {
		c.text("statistic", 0, y+4, start, r.Statistic)
	}
	c.text("end "+r.Class, 70, y+4, start, r.Name)
	for _, b := range r.Blocks {
		c.dot("block "+r.Class, x.at(b), y, 3, "")
	}
	says := Ratio(r.Estimate)
	if !math.IsNaN(r.Low) && !math.IsNaN(r.High) {
		c.line("interval "+r.Class, x.at(r.Low), y, x.at(r.High), y)
		says += fmt.Sprintf("  (%s–%s)", Significant(r.Low, 3), Significant(r.High, 3))
	}
	c.diamond("estimate "+r.Class, x.at(r.Estimate), y, 5.5, fmt.Sprintf("%s %s %s", r.Name, r.Statistic, says))
	c.text("value", ratiosWidth, y+4, end, says)
}

func (f Ratios) describe() string {
	s := fmt.Sprintf("Ratio to %s on a logarithmic axis; left of 1 is less latency.", f.Base)
	for _, r := range f.Rows {
		s += fmt.Sprintf(" %s %s %s.", r.Name, r.Statistic, Ratio(r.Estimate))
	}
	return s
}
