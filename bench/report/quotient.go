package report

import (
	"fmt"
	"math"
	"slices"

	"commitlab/bench/report/chart"
	"commitlab/bench/result"
	"commitlab/bench/stat"
)

// Quotient is a ratio that a study asks for, as its runs have it. The two cells may
// be of different groups, which nothing else compares.
type Quotient struct {
	Asked result.Ratio
	// Of and To are the figures of the blocks that have both, none of them 0, in
	// order and in the units of their metrics.
	Of, To []float64
	// Comparison is the first divided by the second, paired by block.
	stat.Comparison
	// Uncounted names the cells of which no run counts. Their figures are in Of and
	// To all the same, and nothing may be concluded from them.
	Uncounted []string
}

// quotients computes the ratios that the studies ask for, each from its own runs. A
// report on two results that were not run together has none.
func (b *builder) quotients() {
	if b.report.Unpaired {
		return
	}
	for i, s := range b.report.Studies {
		for _, asked := range s.Ratios {
			q, err := b.quotient(b.studyPaths[i], asked)
			if err != nil {
				b.problem("study %s: ratio %q: %v", s.Name, asked.Name, err)
				continue
			}
			b.report.Quotients = append(b.report.Quotients, q)
		}
	}
}

func (b *builder) quotient(study string, asked result.Ratio) (Quotient, error) {
	q := Quotient{Asked: asked}
	above, err := b.figures(study, asked.Of, &q)
	if err != nil {
		return q, err
	}
	below, err := b.figures(study, asked.To, &q)
	if err != nil {
		return q, err
	}
	var blocks []Block
	for block, v := range above {
		if v > 0 && below[block] > 0 {
			blocks = append(blocks, block)
		}
	}
	slices.SortFunc(blocks, Block.compare)
	for _, block := range blocks {
		q.Of = append(q.Of, above[block])
		q.To = append(q.To, below[block])
	}
	q.Comparison = stat.Paired(q.To, q.Of, confidence)
	return q, nil
}

// figures returns a metric of a cell's runs in one study, by block, and notes in q
// if none of these runs counts.
func (b *builder) figures(study string, of result.CellMetric, q *Quotient) (map[Block]float64, error) {
	m, err := result.ParseMetric(of.Metric)
	if err != nil {
		return nil, err
	}
	figures := map[Block]float64{}
	for _, c := range b.order {
		if c.Name != of.Cell {
			continue
		}
		for _, r := range c.shown() {
			if r.Block.Study != study || r.Summary == nil {
				continue
			}
			if c.Tainted && !slices.Contains(q.Uncounted, of.Cell) {
				q.Uncounted = append(q.Uncounted, of.Cell)
			}
			if v, ok := r.Summary.Figure(m); ok {
				figures[r.Block] = v
			}
		}
	}
	return figures, nil
}

// wanted says in words what is wanted of the ratio, NoData for nothing.
func (q *Quotient) wanted() string {
	least := "at least " + chart.Significant(q.Asked.AtLeast, 3)
	most := "at most " + chart.Significant(q.Asked.AtMost, 3)
	switch {
	case q.Asked.AtLeast > 0 && q.Asked.AtMost > 0:
		return least + ", " + most
	case q.Asked.AtLeast > 0:
		return least
	case q.Asked.AtMost > 0:
		return most
	}
	return chart.NoData
}

// Verdicts about what is wanted of a ratio.
const (
	shownYes = "yes"
	shownNo  = "no"
)

// verdict says whether what is wanted was shown: yes or no if all of the interval is
// on one side of each bound, NoData if nothing is wanted or nothing can be told.
func (q *Quotient) verdict() string {
	low, high := q.Asked.AtLeast, q.Asked.AtMost
	if low == 0 && high == 0 || !q.Enough || len(q.Uncounted) > 0 {
		return chart.NoData
	}
	switch {
	case q.Low >= low && (high == 0 || q.High <= high):
		return shownYes
	case q.High < low || high > 0 && q.Low > high:
		return shownNo
	}
	return "not told"
}

// quotientTable shows the ratios that the studies ask for.
func (r *Report) quotientTable() table {
	t := table{
		ID: "ratios", Title: "Ratios",
		Caption: "What the study sets out to show: a figure divided by another of the same block. Both figures are medians of the blocks. Shown: yes or no if all of the interval tells so.",
		Columns: []string{"ratio", "figure", "divided by", "ratio", "95 % interval", "blocks, min–max", "wanted", "shown"},
	}
	for _, q := range r.Quotients {
		t.Rows = append(t.Rows, q.row())
		t.Notes = append(t.Notes, fmt.Sprintf("%s: %s, divided by %s.", q.Asked.Name, q.Asked.Of, q.Asked.To))
		if q.Asked.Note != "" {
			t.Notes = append(t.Notes, fmt.Sprintf("%s: %s", q.Asked.Name, q.Asked.Note))
		}
		for _, cell := range q.Uncounted {
			t.Notes = append(t.Notes, fmt.Sprintf("%s: %s has no run that counts: its figures are shown and prove nothing.", q.Asked.Name, cell))
		}
	}
	return t
}

func (q *Quotient) row() row {
	estimate, interval, spread := chart.NoData, chart.NoData, "none"
	if q.N > 0 {
		var ratios []float64
		for i := range q.Of {
			ratios = append(ratios, q.Of[i]/q.To[i])
		}
		estimate = chart.Ratio(q.Ratio)
		spread = fmt.Sprintf("%d, %s", len(ratios), ratioRange(slices.Min(ratios), slices.Max(ratios)))
	}
	if q.Enough {
		interval = ratioRange(q.Low, q.High)
	}
	return row{Kind: value, Label: q.Asked.Name, Cells: []string{
		figureText(q.Asked.Of.Metric, stat.Median(q.Of)), figureText(q.Asked.To.Metric, stat.Median(q.To)),
		estimate, interval, spread, q.wanted(), q.verdict(),
	}}
}

// figureText writes a figure in the unit of its metric.
func figureText(metric string, v float64) string {
	if m, err := result.ParseMetric(metric); err == nil && m.Kind == result.Rate && !math.IsNaN(v) {
		return chart.PerSecond(v) + "/s"
	}
	return chart.Duration(v)
}
