package report

import (
	"path/filepath"
	"strings"

	"commitlab/bench/report/hotspot"
	"commitlab/bench/result"
)

// topDifferences is how many functions a report on latencies shows of two profiles;
// LoadProfiles has them all.
const topDifferences = 10

// profiles sets the CPU profiles of the configurations beside that of their base,
// where both were repeated with profilers.
func (b *builder) profiles(g *Group) {
	for _, c := range g.Cells {
		base := g.base(c)
		if base == nil {
			continue
		}
		of, with := base.profiled(hotspot.CPU), c.profiled(hotspot.CPU)
		if of == "" || with == "" {
			continue
		}
		p, err := LoadProfiles(string(hotspot.CPU), nil, of, with)
		if err != nil {
			b.problem("profiles: %v", err)
			continue
		}
		g.Profiles = append(g.Profiles, p)
	}
}

// profiled returns the first run of the cell that has the profile itself or in its
// repetition, "" if none has.
func (c *Cell) profiled(kind hotspot.Kind) string {
	for _, r := range c.Runs {
		for _, dir := range []string{r.Dir, filepath.Join(r.Dir, result.ProfiledDir)} {
			if _, err := (&result.Run{Dir: dir}).Profile(string(kind)); err == nil {
				return dir
			}
		}
	}
	return ""
}

// profileTables shows the largest differences of each comparison.
func (g *Group) profileTables() []table {
	var tables []table
	for _, p := range g.Profiles {
		for i := range p.Table.Measures {
			t := p.functionTable(&p.Table.Measures[i], ProfileOptions{Top: topDifferences})
			t.Title += ", " + strings.Join(p.labels(), ", ")
			t.Notes = append(t.Notes, p.limits()...)
			tables = append(tables, t)
		}
	}
	return tables
}
