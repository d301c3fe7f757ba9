package report

import (
	"fmt"
	"slices"
	"strings"

	"commitlab/bench/report/chart"
	"commitlab/bench/result"
)

// loadTable shows what each configuration was asked for and did.
func (g *Group) loadTable() table {
	t := table{
		ID: "load", Title: "Load",
		Caption: "Rates are operations by measured time of the runs that count.",
		Columns: []string{"configuration", "offered/s", "achieved/s", "due", "done", "late", "never sent", "errors", "blocks", "state"},
	}
	for i, c := range g.Cells {
		l := c.Throughput()
		due, late, never := chart.Count(int64(l.Due)), chart.Count(int64(l.Late)), chart.Count(int64(l.NeverSent))
		if g.Closed {
			due, late, never = chart.NoData, chart.NoData, chart.NoData
		}
		t.Rows = append(t.Rows, row{Kind: value, Colour: colour(i), Label: c.Label, Cells: []string{
			chart.PerSecond(l.OfferedPerSecond), chart.PerSecond(l.AchievedPerSecond), due, chart.Count(int64(l.Done)), late, never,
			chart.Count(int64(l.Errors)), fmt.Sprintf("%d of %d", len(c.Counted()), len(c.Runs)), c.state(),
		}})
		t.Rows = append(t.Rows, g.rateRows(c)...)
		if l.Errors > 0 {
			t.Notes = append(t.Notes, fmt.Sprintf("%s: %s operations failed; their latencies are not in the tables.", c.Label, chart.Count(int64(l.Errors))))
		}
		if !g.Closed && l.AchievedPerSecond < 0.99*l.OfferedPerSecond {
			t.Notes = append(t.Notes, fmt.Sprintf("WARNING: %s achieved %s of the offered rate; what was due but not done waits without end and is in no percentile.",
				c.Label, percent(l.AchievedPerSecond/l.OfferedPerSecond)))
		}
	}
	if g.Closed {
		t.Notes = append(t.Notes, "Closed loop: each worker starts its next operation when the last one ends. It measures capacity and service time; there are no due times, so nothing is offered and there is no response time.")
	}
	return t
}

// rateRows compare the capacity in closed loop. In open loop the rate is what
// was asked for and no result.
func (g *Group) rateRows(c *Cell) []row {
	p := find(g.Comparisons, c, g.rateTag(), 0)
	if p == nil || !g.Closed {
		return nil
	}
	cells := slices.Repeat([]string{""}, 9) // as wide as the table
	cells[1] = chart.Ratio(p.Ratio) + p.mark()
	rows := []row{{Kind: ratio, Label: "ratio to " + p.Base.Label, Cells: cells}}
	if p.Enough {
		cells = slices.Clone(cells)
		cells[1] = ratioRange(p.bounds())
		rows = append(rows, row{Kind: interval, Label: "95 % interval", Cells: cells})
	}
	return rows
}

func percent(part float64) string { return chart.Significant(100*part, 3) + " %" }

// state sums up how the runs of the cell ended.
func (c *Cell) state() string {
	count := map[string]int{}
	var order []string
	for _, r := range c.Runs {
		s := "ok"
		if r.Dropped != "" {
			s, _, _ = strings.Cut(r.Dropped, ":")
		}
		if r.Manifest.Status() == result.Invalid {
			s = "INVALID"
		}
		if count[s]++; count[s] == 1 {
			order = append(order, s)
		}
	}
	if len(order) == 1 {
		return order[0]
	}
	for i, s := range order {
		order[i] = fmt.Sprintf("%d %s", count[s], s)
	}
	return strings.Join(order, ", ")
}

// disturbanceTable shows what is no property of a configuration alone: how
// late operations started, which is the generator's and the queue's share of
// the response time, and how late a thread woke that did nothing but sleep.
func (g *Group) disturbanceTable() table {
	t := table{
		ID: "disturbance", Title: "Slip, lag and hiccup",
		Caption: "Slip: time " + explain(result.Slip) + ". Lag: " + explain(result.Lag) + ". Hiccup: how late a thread woke up that only sleeps, which no configuration should change.",
		Columns: latencyColumns(),
	}
	for i, c := range g.Cells {
		for _, tag := range append(g.Tags(), result.HiccupTag) {
			op, kind := splitTag(tag)
			if !disturbance(kind) && tag != result.HiccupTag {
				continue
			}
			if d := c.Latency[tag]; d == nil || d.Count() == 0 {
				continue
			}
			r := row{Kind: value, Colour: colour(i), Label: c.Label + ", " + op}
			if tag != result.HiccupTag {
				r.Label += " " + string(kind)
			}
			for _, v := range values(c.Latency[tag]) {
				r.Cells = append(r.Cells, chart.Duration(v))
			}
			t.Rows = append(t.Rows, r)
		}
	}
	return t
}
