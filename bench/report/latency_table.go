package report

import (
	"fmt"
	"math"

	"commitlab/bench/report/chart"
	"commitlab/bench/result"
)

// latencyTable shows one operation and kind for all configurations.
func (g *Group) latencyTable(tag string) table {
	op, kind := splitTag(tag)
	t := table{
		ID: "latency-" + op + "-" + string(kind), Title: op + " " + string(kind) + " time", Caption: "Time " + explain(kind) + ".",
		Columns: latencyColumns(),
	}
	thin := map[string]bool{}
	for i, c := range g.Cells {
		t.Rows = append(t.Rows, c.latencyRow(tag, colour(i), thin))
		if c.Tainted {
			t.Notes = append(t.Notes, fmt.Sprintf("%s has no run that counts (%s): its figures are shown and not compared.", c.Label, c.state()))
		}
		if s, ok := c.spreadRow(tag); ok {
			t.Rows = append(t.Rows, s)
		}
		t.Rows = append(t.Rows, g.ratioRows(c, tag)...)
		if d := c.Latency[tag]; d != nil && d.Extremes.OverRange > 0 {
			t.Notes = append(t.Notes, fmt.Sprintf("%s: %s operations took longer than the %s that a histogram holds; their exact maximum is shown.",
				c.Label, chart.Count(d.Extremes.OverRange), chart.Duration(result.HighestNs)))
		}
	}
	t.Rows = append(t.Rows, g.noiseRows(tag)...)
	t.Notes = append(t.Notes, g.comparisonNotes(tag)...)
	if len(thin) > 0 {
		t.Notes = append(t.Notes, thinNote)
	}
	return t
}

func latencyColumns() []string {
	columns := []string{"configuration"}
	for _, s := range Statistics {
		columns = append(columns, s.Name)
	}
	return columns
}

const (
	thinMark = "†"
	thinNote = "† Too few independent samples: slow operations came in clusters, or there were few. What is shown did happen; the next study may find another value."
)

// latencyRow is the merged percentiles of a cell. A percentile that stands on
// too few independent samples is marked.
func (c *Cell) latencyRow(tag, class string, thin map[string]bool) row {
	r := row{Kind: value, Colour: class, Label: c.Label}
	for i, v := range values(c.Latency[tag]) {
		text := chart.Duration(v)
		if name := Statistics[i].Name; c.thin(tag, name) {
			text += thinMark
			thin[name] = true
		}
		r.Cells = append(r.Cells, text)
	}
	return r
}

// thin says whether a percentile stands on fewer independent samples than it
// takes. Runs are independent of each other, so their samples add up.
func (c *Cell) thin(tag, percentile string) bool {
	var have, need float64
	for _, r := range c.shown() {
		l := r.Latency[tag]
		if l == nil || l.Count == 0 {
			continue
		}
		s, ok := l.Samples[percentile]
		if !ok {
			continue
		}
		need = s.Need
		if s.NEff != nil {
			have += *s.NEff
		}
	}
	return have < need
}

func (c *Cell) spreadRow(tag string) (row, bool) {
	r := row{Kind: spread}
	for i := range Statistics {
		low, high, n := c.spread(tag, i)
		if n < 2 {
			return row{}, false
		}
		r.Label = fmt.Sprintf("%d blocks, min–max", n)
		r.Cells = append(r.Cells, chart.DurationRange(low, high))
	}
	return r, true
}

// ratioRows are the comparison with the first configuration.
func (g *Group) ratioRows(c *Cell, tag string) []row {
	ratios := row{Kind: ratio}
	intervals := row{Kind: interval, Label: "95 % interval"}
	chances := row{Kind: interval, Label: "p (adjusted)"}
	found, enough := false, false
	for i := range Statistics {
		p := find(g.Comparisons, c, tag, i)
		if p == nil {
			ratios.Cells = append(ratios.Cells, chart.NoData)
			intervals.Cells = append(intervals.Cells, chart.NoData)
			chances.Cells = append(chances.Cells, chart.NoData)
			continue
		}
		found = true
		ratios.Label = "ratio to " + p.Base.Label
		ratios.Cells = append(ratios.Cells, chart.Ratio(p.Ratio)+p.mark())
		enough = enough || p.Enough
		intervals.Cells = append(intervals.Cells, ratioRange(p.bounds()))
		chances.Cells = append(chances.Cells, p.chance())
	}
	switch {
	case !found:
		return nil
	case !enough:
		return []row{ratios}
	default:
		return []row{ratios, intervals, chances}
	}
}

// chance writes the raw p and the one that counts.
func (p *Comparison) chance() string {
	if !p.Enough {
		return chart.NoData
	}
	return fmt.Sprintf("%s (%s)", chart.Significant(p.P, 2), chart.Significant(p.Adjusted, 2))
}

func ratioRange(low, high float64) string {
	if math.IsNaN(low) || math.IsNaN(high) {
		return chart.NoData
	}
	return chart.Significant(low, 3) + "–" + chart.Significant(high, 3)
}

// noiseRows show the study's checks: the noise floor and the controls.
func (g *Group) noiseRows(tag string) []row {
	var rows []row
	for _, check := range g.Checks {
		r := row{Kind: noise, Label: check.label()}
		any := false
		for i := range Statistics {
			p := find(check.Results, check.B, tag, i)
			if p == nil {
				r.Cells = append(r.Cells, chart.NoData)
				continue
			}
			any = true
			if p.Enough {
				r.Cells = append(r.Cells, ratioRange(p.bounds()))
			} else {
				r.Cells = append(r.Cells, chart.Ratio(p.Ratio))
			}
		}
		if any {
			rows = append(rows, r)
		}
	}
	return rows
}
