package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"commitlab/bench/stat"
)

// Comparison is one configuration against another by one statistic of one
// tag. The unit is the run: each block gives one ratio of the two runs'
// percentiles.
type Comparison struct {
	Base, Other *Cell
	Tag         string
	Statistic   int // index of Statistics

	Blocks []float64 // Other/Base of each common block, by block
	// Comparison is Other/Base over the common blocks, or, if there are none,
	// over all runs of each side (Paired is false).
	stat.Comparison
	// Adjusted is P corrected for the other comparisons of the group: Holm among
	// the study's primary metrics, Benjamini–Hochberg among the rest.
	Adjusted float64
}

// confidence of all intervals, and the level that goes with it.
const (
	confidence = 0.95
	level      = 1 - confidence
)

// bounds returns the interval, NaN when there are too few runs for one.
func (p *Comparison) bounds() (low, high float64) {
	if !p.Enough {
		return math.NaN(), math.NaN()
	}
	return p.Low, p.High
}

// mark is "~" where there were enough runs and still no difference was shown.
func (p *Comparison) mark() string {
	if p.Enough && !p.Significant(p.Adjusted, level) {
		return " ~"
	}
	return ""
}

// runs returns how many blocks, or runs of the smaller side, were compared.
func (p *Comparison) runs() int { return min(p.NA, p.NB) }

// compare orders blocks by study, number and repetition.
func (b Block) compare(o Block) int {
	return cmp.Or(strings.Compare(b.Study, o.Study), cmp.Compare(b.Number, o.Number), cmp.Compare(b.Repeat, o.Repeat))
}

// compare fills the comparisons of the group: every cell with its base, and
// the checks. primary names the metrics that are claims.
func (g *Group) compare(primary []string) {
	for _, c := range g.Cells {
		if base := g.base(c); base != nil {
			g.Comparisons = append(g.Comparisons, g.compareCells(base, c)...)
		}
	}
	adjust(g.Comparisons, primary)
	for i, check := range g.Checks {
		g.Checks[i].Results = g.compareCells(check.A, check.B)
		adjust(g.Checks[i].Results, primary)
	}
}

// base returns what a cell is compared with: the first cell, or, between two
// results, the same configuration of side A. Nil if there is none.
func (g *Group) base(c *Cell) *Cell {
	switch {
	case c.Side == "A":
		return nil
	case c.Side == "B":
		for _, a := range g.Cells {
			if a.Side == "A" && a.Config == c.Config {
				return a
			}
		}
		return nil
	case c == g.Cells[0]:
		return nil
	}
	return g.Cells[0]
}

// adjust corrects the p values for their number, the claims apart.
func adjust(all []Comparison, primary []string) {
	var claims, explored []*Comparison
	for i := range all {
		p := &all[i]
		switch {
		case !p.Enough:
			p.Adjusted = p.P
		case slices.Contains(primary, p.metric()):
			claims = append(claims, p)
		default:
			explored = append(explored, p)
		}
	}
	correct(claims, stat.Holm)
	correct(explored, stat.BenjaminiHochberg)
}

func correct(ps []*Comparison, by func([]float64) []float64) {
	raw := make([]float64, len(ps))
	for i, p := range ps {
		raw[i] = p.P
	}
	for i, adjusted := range by(raw) {
		ps[i].Adjusted = adjusted
	}
}

// metric names what is compared as a study does: append.service.p99.9.
func (p *Comparison) metric() string {
	if op, ok := strings.CutSuffix(p.Tag, "."+rate); ok {
		return op + "." + rate
	}
	return p.Tag + "." + Statistics[p.Statistic].Name
}

// rate is the kind of the achieved rate. It has a tag like a latency and one
// statistic, the first.
const rate = "rate"

// compareCells compares by every statistic that both cells have. Runs that do
// not count are compared with nothing.
func (g *Group) compareCells(base, other *Cell) []Comparison {
	var out []Comparison
	add := func(tag string, statistic int) {
		if p, ok := compareBy(base, other, tag, statistic); ok {
			out = append(out, p)
		}
	}
	for _, tag := range g.Tags() {
		if _, kind := splitTag(tag); disturbance(kind) {
			continue // how late the generator was is no property of a configuration
		}
		for i := range Statistics {
			add(tag, i)
		}
	}
	if g.Closed {
		add(g.rateTag(), 0) // in open loop the rate is what was asked for
	}
	return out
}

func (g *Group) rateTag() string { return g.Primary + "." + rate }

// compareBy pairs the runs that share a block. Only a study has blocks; runs
// that share none are compared side against side.
func compareBy(base, other *Cell, tag string, statistic int) (Comparison, bool) {
	p := Comparison{Base: base, Other: other, Tag: tag, Statistic: statistic}
	var a, b, allA, allB []float64
	byBlock := map[Block]float64{}
	for _, r := range base.Counted() {
		v := r.value(tag, statistic)
		allA = append(allA, v)
		byBlock[r.Block] = v
	}
	for _, r := range other.Counted() {
		v := r.value(tag, statistic)
		allB = append(allB, v)
		if u, ok := byBlock[r.Block]; ok && r.Block.Study != "" && u > 0 && v > 0 {
			a, b = append(a, u), append(b, v)
			p.Blocks = append(p.Blocks, v/u)
		}
	}
	if len(a) > 0 {
		p.Comparison = stat.Paired(a, b, confidence)
		return p, true
	}
	p.Comparison = stat.Unpaired(allA, allB, confidence)
	return p, p.runs() > 0
}

// value returns a statistic of the run in nanoseconds, or its rate per second;
// NaN where there is none.
func (r *Run) value(tag string, statistic int) float64 {
	if strings.HasSuffix(tag, "."+rate) {
		if end := r.Manifest.End; end != nil && end.AchievedPerSecond != nil {
			return *end.AchievedPerSecond
		}
		return math.NaN()
	}
	if l := r.Latency[tag]; l != nil && l.Count > 0 {
		return l.Values[statistic]
	}
	return math.NaN()
}

// find returns the comparison of a cell by tag and statistic, or nil.
func find(all []Comparison, other *Cell, tag string, statistic int) *Comparison {
	for i := range all {
		if p := &all[i]; p.Other == other && p.Tag == tag && p.Statistic == statistic {
			return p
		}
	}
	return nil
}
