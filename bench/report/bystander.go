package report

import (
	"fmt"
	"slices"
	"time"

	"commitlab/bench/report/chart"
	"commitlab/bench/result"
)

// isPart says whether a tag is one of the two parts of a bystander's operations.
func isPart(tag string) bool {
	op, _ := splitTag(tag)
	_, _, ok := result.BystanderOf(op)
	return ok
}

// bystanders lists the operations that were compared inside and outside of
// disturbances, the primary one first.
func (g *Group) bystanders() []string {
	var ops []string
	for _, tag := range g.Tags() {
		op, kind := splitTag(tag)
		if kind == result.Service && (g.has(result.Tag(result.InsideOp(op), kind)) || g.has(result.Tag(result.OutsideOp(op), kind))) {
			ops = append(ops, op)
		}
	}
	return ops
}

// bystanderTable compares operations that overlapped a disturbance with those that
// did not.
func (g *Group) bystanderTable() table {
	t := table{
		ID: "bystanders", Title: "Inside and outside of disturbances",
		Caption: "Service time of operations that overlapped the taking down of a file, or came within the margin after it, and of all others.",
		Columns: slices.Insert(latencyColumns(), 1, "operations"),
	}
	for _, op := range g.bystanders() {
		for i, c := range g.Cells {
			for _, part := range []string{result.InsideOp(op), result.OutsideOp(op)} {
				d := c.Latency[result.Tag(part, result.Service)]
				if d == nil || d.Count() == 0 {
					continue
				}
				r := row{Kind: value, Colour: colour(i), Label: c.Label + ", " + part, Cells: []string{chart.Count(d.Count())}}
				for _, v := range values(d) {
					r.Cells = append(r.Cells, chart.Duration(v))
				}
				t.Rows = append(t.Rows, r)
			}
		}
	}
	for _, c := range g.Cells {
		if note := c.disturbedNote(); note != "" && len(t.Rows) > 0 {
			t.Notes = append(t.Notes, note)
		}
	}
	return t
}

// disturbedNote says how much of a cell's time was disturbed, "" if none was.
func (c *Cell) disturbedNote() string {
	var sum result.Disturbed
	var window int64
	for _, r := range c.shown() {
		end := r.Manifest.End
		if end == nil || end.Disturbed == nil {
			continue
		}
		d := end.Disturbed
		window += end.WindowNs
		sum.MarginNs = d.MarginNs
		sum.Count += d.Count
		sum.TimeNs += d.TimeNs
		sum.UnsortedNs += d.UnsortedNs
		sum.Lost += d.Lost
	}
	if sum.Count == 0 || window == 0 {
		return ""
	}
	note := fmt.Sprintf("%s: %d disturbances, %s of the time with a margin of %v after each.",
		c.Label, sum.Count, percent(float64(sum.TimeNs)/float64(window)), time.Duration(sum.MarginNs))
	if sum.UnsortedNs > 0 || sum.Lost > 0 {
		note += fmt.Sprintf(" Of that %v became known too late and count as outside; %d operations were not sorted.", time.Duration(sum.UnsortedNs).Round(time.Millisecond), sum.Lost)
	}
	return note
}
