package report

import "strings"

// pressureTable tells what was really done beside the load.
func (g *Group) pressureTable() table {
	t := table{
		ID: "pressure", Title: "Pressure", Caption: "What was done beside the load on purpose, and what came of it in each run.",
		Columns: []string{"run", "asked for", "done"}, Prose: true,
	}
	for i, c := range g.Cells {
		for _, r := range c.Runs {
			if r.Manifest.End == nil {
				continue
			}
			for _, p := range r.Manifest.End.Pressure {
				done := strings.Join(append([]string{p.Did}, p.Notes...), "; ")
				t.Rows = append(t.Rows, row{Kind: value, Colour: colour(i), Label: c.Label + " " + r.name(), Cells: []string{p.Kind + " " + p.Asked, done}})
			}
		}
	}
	return t
}
