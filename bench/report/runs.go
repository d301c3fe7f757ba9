package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"commitlab/bench/report/chart"
	"commitlab/bench/result"
)

// runsTable lists each run by itself.
func (g *Group) runsTable() table {
	tag := result.Tag(g.Primary, result.Response)
	if g.Closed {
		tag = result.Tag(g.Primary, result.Service)
	}
	_, kind := splitTag(tag)
	t := table{
		ID: "runs", Title: "Runs", Caption: fmt.Sprintf("Percentiles are of the %s time of %s.", kind, g.Primary),
		Columns: []string{"run", "order", "started", "achieved/s", "p50", "p99.9", "max", "hiccup p99.9", "steadiness", "state"},
	}
	for i, c := range g.Cells {
		for _, r := range c.Runs {
			t.Rows = append(t.Rows, r.tableRow(c, tag, colour(i)))
			if r.Dropped != "" {
				t.Notes = append(t.Notes, fmt.Sprintf("%s %s is not in the figures above: %s.", c.Label, r.name(), r.Dropped))
				if c.Tainted {
					t.Notes[len(t.Notes)-1] = fmt.Sprintf("%s %s: %s.", c.Label, r.name(), r.Dropped)
				}
			}
			if end := r.Manifest.End; end != nil {
				for _, w := range end.Warnings {
					t.Notes = append(t.Notes, fmt.Sprintf("%s %s: %s.", c.Label, r.name(), strings.TrimSuffix(w, ".")))
				}
			}
		}
	}
	return t
}

// name tells the run from the others of its cell.
func (r *Run) name() string {
	if r.Block.Number == 0 {
		return "run " + filepath.Base(r.Dir)
	}
	return fmt.Sprintf("block %d", r.Block.Number)
}

func (r *Run) tableRow(c *Cell, tag, class string) row {
	cells := []string{chart.NoData, r.Manifest.Start.Format("15:04:05"), chart.NoData}
	if p := r.Manifest.Position; p > 0 {
		cells[0] = fmt.Sprint(p)
	}
	steadiness := chart.NoData
	if end := r.Manifest.End; end != nil {
		if end.AchievedPerSecond != nil {
			cells[2] = chart.PerSecond(*end.AchievedPerSecond)
		}
		if end.Steadiness != "" {
			steadiness = end.Steadiness
		}
	}
	cells = append(cells, r.figure(tag, "p50"), r.figure(tag, "p99.9"), r.figure(tag, "max"), r.figure(result.HiccupTag, "p99.9"), steadiness)
	state := "ok"
	if r.Dropped != "" {
		state, _, _ = strings.Cut(r.Dropped, ":")
	}
	if r.Manifest.Status() == result.Invalid {
		state = "INVALID"
	}
	return row{Kind: value, Colour: class, Label: c.Label + " " + r.name(), Cells: append(cells, state)}
}

func (r *Run) figure(tag, statistic string) string {
	l := r.Latency[tag]
	if l == nil || l.Count == 0 {
		return chart.NoData
	}
	i := slices.IndexFunc(Statistics, func(s Statistic) bool { return s.Name == statistic })
	return chart.Duration(l.Values[i])
}
