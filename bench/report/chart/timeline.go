package chart

import (
	"fmt"
	"math"
)

// TimePoint holds the latencies of one interval in nanoseconds, NaN when no
// operation ended in it.
type TimePoint struct {
	Seconds       float64 // since the start of the block's window, at the interval's middle
	P50, P99, Max float64
}

// TimeBlock is one run: its number as shown, its window's length and points.
type TimeBlock struct {
	Label   string
	Seconds float64
	Points  []TimePoint
}

// Timeline is a figure of latency over time of one configuration, its blocks
// one after another. The time between the blocks is not drawn.
type Timeline struct {
	Name   string
	Class  string
	Blocks []TimeBlock
	// Min and Max bound the latency axis in nanoseconds, shared by the figures of
	// a page; zero takes the range of the points.
	Min, Max float64
}

// Extent returns the smallest and largest latency shown, and false when there
// is none above zero.
func (f Timeline) Extent() (low, high float64, ok bool) {
	e := newExtent()
	for _, b := range f.Blocks {
		for _, p := range b.Points {
			e.add(p.P50)
			e.add(p.Max)
		}
	}
	return e.min, e.max, !e.empty()
}

const (
	timelineWidth  = 1140.0
	timelineHeight = 168.0
	timelineGap    = 10.0 // pixels between two blocks
)

// SVG draws the figure. Without any value it is the empty string.
func (f Timeline) SVG() string {
	low, high, ok := f.Extent()
	if !ok {
		return ""
	}
	if f.Min > 0 && f.Max > f.Min {
		low, high = f.Min, f.Max
	}
	low, high = extent{low, high}.rounded()
	y := logScale{low, high, timelineHeight - 30, 24}
	left, right := 58.0, timelineWidth-8

	c := newCanvas("timeline", f.Name+": latency over time", f.describe(), timelineWidth, timelineHeight)
	c.text("heading "+f.Class, left, 14, start, f.Name)
	latencyAxis(c, y, left, right)
	total := 0.0
	for _, b := range f.Blocks {
		total += b.Seconds
	}
	pixels := right - left - timelineGap*float64(len(f.Blocks)-1)
	at := left
	for i, b := range f.Blocks {
		width := pixels * b.Seconds / total
		if i > 0 {
			c.rect("gap", at-timelineGap, y.upTo, timelineGap, y.from-y.upTo)
		}
		c.text("tick", at+width/2, y.from+14, middle, b.Label)
		f.drawBlock(c, b, at, width/b.Seconds, y)
		at += width + timelineGap
	}
	return c.close()
}

// drawBlock draws each unbroken stretch of intervals on its own: an interval
// without operations is a hole, not a line across it.
func (f Timeline) drawBlock(c *canvas, b TimeBlock, left, perSecond float64, y logScale) {
	var p50, p99 []point
	flush := func() {
		c.area("band "+f.Class, p99, p50)
		c.polyline("curve thin "+f.Class, p99)
		c.polyline("curve "+f.Class, p50)
		p50, p99 = nil, nil
	}
	for _, p := range b.Points {
		if math.IsNaN(p.Max) {
			flush()
			continue
		}
		x := left + p.Seconds*perSecond
		p50 = append(p50, point{x, y.at(p.P50)})
		p99 = append(p99, point{x, y.at(p.P99)})
	}
	flush()
	for _, p := range b.Points {
		if !math.IsNaN(p.Max) {
			c.dot("peak "+f.Class, left+p.Seconds*perSecond, y.at(p.Max), 1.5,
				fmt.Sprintf("%s, %s, %s s: p50 %s, p99 %s, max %s", f.Name, b.Label, Significant(p.Seconds, 3), Duration(p.P50), Duration(p.P99), Duration(p.Max)))
		}
	}
}

func (f Timeline) describe() string {
	low, high, _ := f.Extent()
	return fmt.Sprintf("Latency of each interval in %d blocks, logarithmic: p50 and p99 as lines with the space between them filled, the largest value as dots. All values lie between %s and %s.",
		len(f.Blocks), Duration(low), Duration(high))
}
