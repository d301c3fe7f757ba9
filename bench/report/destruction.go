package report

import (
	"fmt"
	"math"
	"slices"

	"commitlab/bench/report/chart"
	"commitlab/bench/result"
)

// totalOp is the operation that lasts from the first attempt to destroy a file
// until nothing of it is left.
const totalOp = "destroy.total"

// tailStatistic is the statistic by which ways to destroy are judged.
var tailStatistic = slices.IndexFunc(Statistics, func(s Statistic) bool { return s.Name == "p99.99" })

// destructionTable shows what taking files down costs those who go on working,
// beside how long it takes: the one can be had for the other.
func (g *Group) destructionTable() table {
	name := Statistics[tailStatistic].Name
	t := table{
		ID: "destruction", Title: "Taking files down",
		Caption: fmt.Sprintf("Tail of the service time of %s, beside the time from the first attempt to take a file down until nothing is left of it. Lowest in: in so many blocks no other configuration that takes files down had a lower %s.", g.Primary, name),
		Columns: []string{"configuration", g.Primary + " " + name, "inside", "outside", "files", "total p50", "total max", "lowest in"},
	}
	tag := result.Tag(g.Primary, result.Service)
	best := g.blocksBest(tag)
	figure := func(c *Cell, tag string) string {
		return chart.Duration(at(c.Latency[tag], Statistics[tailStatistic].Percent))
	}
	for i, c := range g.Cells {
		total := c.Latency[result.Tag(totalOp, result.Service)]
		r := row{Kind: value, Colour: colour(i), Label: c.Label, Cells: []string{
			figure(c, tag), figure(c, result.Tag(result.InsideOp(g.Primary), result.Service)), figure(c, result.Tag(result.OutsideOp(g.Primary), result.Service)),
		}}
		if c.destroys() {
			r.Cells = append(r.Cells, chart.Count(total.Count()), chart.Duration(at(total, 50)), chart.Duration(at(total, 100)),
				fmt.Sprintf("%d of %d", best[c], len(c.shown())))
		} else {
			r.Cells = append(r.Cells, "none", chart.NoData, chart.NoData, chart.NoData)
		}
		t.Rows = append(t.Rows, r)
	}
	if note := g.leastHarm(tag); note != "" {
		t.Notes = append(t.Notes, note)
	}
	return t
}

// destroys says whether files were taken down in a cell.
func (c *Cell) destroys() bool {
	d := c.Latency[result.Tag(totalOp, result.Service)]
	return d != nil && d.Count() > 0
}

// destroying lists the cells in which files were taken down.
func (g *Group) destroying() []*Cell {
	return slices.DeleteFunc(slices.Clone(g.Cells), func(c *Cell) bool { return !c.destroys() })
}

// blocksBest counts the blocks in which each cell has the lowest tail.
func (g *Group) blocksBest(tag string) map[*Cell]int {
	lowest := map[Block]*Cell{}
	value := map[Block]float64{}
	for _, c := range g.destroying() {
		for _, r := range c.shown() {
			v := r.value(tag, tailStatistic)
			if old, ok := value[r.Block]; !math.IsNaN(v) && (!ok || v < old) {
				lowest[r.Block], value[r.Block] = c, v
			}
		}
	}
	best := map[*Cell]int{}
	for _, c := range lowest {
		best[c]++
	}
	return best
}

// leastHarm names the way to take files down with the lowest tail, and says
// whether it can be told from the next and from the first configuration.
func (g *Group) leastHarm(tag string) string {
	cells := g.destroying()
	if len(cells) < 2 {
		return ""
	}
	tail := func(c *Cell) float64 { return at(c.Latency[tag], Statistics[tailStatistic].Percent) }
	slices.SortStableFunc(cells, func(a, b *Cell) int {
		switch x, y := tail(a), tail(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	first, second := cells[0], cells[1]
	note := fmt.Sprintf("Lowest %s of %s: %s with %s; next: %s with %s.", Statistics[tailStatistic].Name, g.Primary,
		first.Label, chart.Duration(tail(first)), second.Label, chart.Duration(tail(second)))
	if slices.ContainsFunc(cells, func(c *Cell) bool { return c.Tainted }) {
		return note + " Runs that do not count are among them: a look, and no finding."
	}
	if p, ok := compareBy(first, second, tag, tailStatistic); ok {
		switch {
		case !p.Enough:
			note += " There are too few blocks to tell them apart."
		case p.Low > 1:
			note += fmt.Sprintf(" By blocks, %s has %s times as much (95 %% interval %s).", second.Label, chart.Significant(p.Ratio, 3), ratioRange(p.bounds()))
		default:
			note += fmt.Sprintf(" They are not told apart: the interval of their ratio is %s.", ratioRange(p.bounds()))
		}
	}
	return note + g.againstNothing(first, tag)
}

// againstNothing compares a cell with one in which no file is taken down, if the
// group has one.
func (g *Group) againstNothing(c *Cell, tag string) string {
	i := slices.IndexFunc(g.Cells, func(c *Cell) bool { return !c.destroys() && !c.Tainted })
	if i < 0 {
		return ""
	}
	p, ok := compareBy(g.Cells[i], c, tag, tailStatistic)
	if !ok {
		return ""
	}
	text := fmt.Sprintf(" Compared with %s, of which nothing is taken down, %s has %s times as much", g.Cells[i].Label, c.Label, chart.Significant(p.Ratio, 3))
	if p.Enough {
		text += fmt.Sprintf(" (95 %% interval %s)", ratioRange(p.bounds()))
	}
	return text + "."
}
