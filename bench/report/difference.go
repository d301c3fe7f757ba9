package report

import (
	"fmt"
	"maps"
	"slices"
	"sort"

	"commitlab/bench/host"
	"commitlab/bench/report/chart"
)

// Difference is one setting whose value is not the same in all columns. A
// column that lacks the setting has "".
type Difference struct {
	Name   string
	Values []string
}

// differences lists the names whose values differ between the sets, sorted.
func differences(sets []map[string]string) []Difference {
	names := map[string]bool{}
	for _, set := range sets {
		for name := range set {
			names[name] = true
		}
	}
	var out []Difference
	for name := range names {
		d := Difference{Name: name}
		differs := false
		for _, set := range sets {
			d.Values = append(d.Values, set[name])
			differs = differs || set[name] != sets[0][name]
		}
		if differs {
			out = append(out, d)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// hostDifferences groups the runs by the lasting facts of their machines and
// lists what differs between the groups, one column each. With one group there
// is nothing to list.
func hostDifferences(r *Report) ([]Difference, []string) {
	var hosts []host.Facts
	var members [][]string
	for _, g := range r.Groups {
		for _, c := range g.all() {
			for _, run := range c.Runs {
				i := slices.IndexFunc(hosts, func(f host.Facts) bool { return len(f.Diff(run.Manifest.Host)) == 0 })
				if i < 0 {
					i = len(hosts)
					hosts, members = append(hosts, run.Manifest.Host), append(members, nil)
				}
				members[i] = append(members[i], c.Label+" "+run.name())
			}
		}
	}
	if len(hosts) < 2 {
		return nil, nil
	}
	var columns []string
	for _, m := range members {
		name := m[0]
		if len(m) > 1 {
			name += fmt.Sprintf(" and %d more", len(m)-1)
		}
		columns = append(columns, name)
	}
	return factDifferences(hosts), columns
}

// factDifferences lists each fact that is not the same on all hosts.
func factDifferences(hosts []host.Facts) []Difference {
	values := map[string][]string{}
	for i, h := range hosts[1:] {
		for _, d := range hosts[0].Diff(h) {
			if values[d.Fact] == nil {
				values[d.Fact] = slices.Repeat([]string{d.A}, len(hosts))
			}
			values[d.Fact][i+1] = d.B
		}
	}
	var out []Difference
	for _, name := range slices.Sorted(maps.Keys(values)) {
		out = append(out, Difference{name, values[name]})
	}
	return out
}

// all returns the columns and the hidden cells of the checks.
func (g *Group) all() []*Cell {
	cells := slices.Clone(g.Cells)
	for _, c := range g.Checks {
		cells = append(cells, c.B)
	}
	return cells
}

// differenceTable writes differences with one column per set.
func differenceTable(id, title, caption, head string, columns []string, ds []Difference) table {
	t := table{ID: id, Title: title, Caption: caption, Columns: append([]string{head}, columns...), Prose: true}
	for _, d := range ds {
		cells := slices.Clone(d.Values)
		for i, v := range cells {
			if v == "" {
				cells[i] = chart.NoData
			}
		}
		t.Rows = append(t.Rows, row{Kind: value, Label: d.Name, Cells: cells})
	}
	return t
}

func (g *Group) optionsTable() table {
	var labels []string
	for _, c := range g.Cells {
		labels = append(labels, c.Label)
	}
	caption := "Engine options as resolved; all others are equal."
	if slices.ContainsFunc(g.Cells, (*Cell).isPeer) {
		caption = "Options as resolved; all others are equal, or the other program has none of the name."
	}
	return differenceTable("options", "Options that differ", caption, "option", labels, g.Options)
}

func (r *Report) hostTable() table {
	return differenceTable("hosts", "DIFFERING CONDITIONS", "The runs did not all have the same machine or settings; their difference is part of every comparison.",
		"setting", r.HostColumns, r.Hosts)
}
