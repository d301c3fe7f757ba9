package report

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"commitlab/bench/result"
)

// builder collects runs into cells and groups, in the order they come.
type builder struct {
	report     *Report
	studyPaths []string // of report.Studies, as Block.Study has them
	groups     map[string]*Group
	cells      map[string]*cellBuilder
	order      []*cellBuilder
}

// cellBuilder keeps the latencies of runs that count apart from the others.
type cellBuilder struct {
	*Cell
	counted map[string]*result.Distribution
	others  map[string]*result.Distribution
	blocks  map[Block]int
}

func newBuilder() *builder {
	return &builder{report: &Report{}, groups: map[string]*Group{}, cells: map[string]*cellBuilder{}}
}

func (b *builder) addPath(path, side string) error {
	dir, err := open(path)
	if err != nil {
		return err
	}
	b.report.Sources = append(b.report.Sources, path)
	runs, err := dir.Runs()
	switch {
	case err != nil && len(runs) == 0:
		return fmt.Errorf("result %s: %w", path, err)
	case err != nil:
		b.problem("%v", err)
	case len(runs) == 0:
		return fmt.Errorf("result %s: the study %s has no run yet", path, dir.Study.Name)
	}
	if dir.Study != nil {
		b.report.Studies = append(b.report.Studies, *dir.Study)
		b.studyPaths = append(b.studyPaths, filepath.Clean(dir.Path))
		aside, err := dir.Superseded()
		if err != nil {
			b.problem("%v", err)
		}
		if len(aside) > 0 {
			b.problem("%d earlier attempts were moved aside and are not read: %s", len(aside), strings.Join(aside, ", "))
		}
	}
	for _, r := range runs {
		if err := b.addRun(r, dir, side); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) problem(format string, args ...any) {
	b.report.Problems = append(b.report.Problems, fmt.Sprintf(format, args...))
}

// cell finds or makes the cell of a run, and its group.
func (b *builder) cell(r *result.Run, dir *result.Dir, side string) (*cellBuilder, error) {
	m := r.Manifest
	options, err := flatten(m.Options)
	if err != nil {
		return nil, fmt.Errorf("%s: options: %w", r.Dir, err)
	}
	parameters, err := flatten(m.Spec)
	if err != nil {
		return nil, fmt.Errorf("%s: spec: %w", r.Dir, err)
	}
	maps.DeleteFunc(parameters, func(name, _ string) bool { return !isParameter(name) })

	groupKey := strings.Join([]string{m.Scenario, m.Pace, m.Pressure, fmt.Sprint(m.Workers), fmt.Sprint(parameters)}, "\x00")
	g := b.groups[groupKey]
	if g == nil {
		g = &Group{Scenario: m.Scenario, Primary: m.Primary, Pace: m.Pace, Pressure: m.Pressure, Closed: m.Closed, Workers: m.Workers, Parameters: parameters}
		b.groups[groupKey] = g
		b.report.Groups = append(b.report.Groups, g)
	}
	cellKey := strings.Join([]string{groupKey, side, m.Cell, m.Config, fmt.Sprint(options)}, "\x00")
	c := b.cells[cellKey]
	if c == nil {
		c = &cellBuilder{
			Cell:    &Cell{Name: m.Cell, Label: cellLabel(m, dir.Study, side), Config: m.Config, Side: side, Options: options},
			counted: map[string]*result.Distribution{}, others: map[string]*result.Distribution{},
			blocks: map[Block]int{},
		}
		b.cells[cellKey] = c
		b.order = append(b.order, c)
		g.Cells = append(g.Cells, c.Cell)
	}
	return c, nil
}

// blockOf identifies the block of a run. A study is known by its directory,
// since a name may be given again; a run on its own is in no study's block.
func blockOf(r *result.Run) Block {
	b := Block{Number: r.Manifest.Block}
	if r.Manifest.Study != "" {
		b.Study = filepath.Clean(filepath.Join(r.Dir, "..", "..", ".."))
	}
	return b
}

// isParameter tells a scenario's parameters, which must be equal for cells to
// be compared, from the seed, which differs between blocks on purpose.
func isParameter(name string) bool {
	return name != "seed" && !strings.HasSuffix(name, ".seed")
}

func cellLabel(m result.Manifest, study *result.Study, side string) string {
	label := m.Config
	if study != nil {
		for _, c := range study.Cells {
			if c.Name == m.Cell && c.Label != "" {
				label = c.Label
			}
		}
	}
	if label == "" {
		label = m.Scenario
	}
	if side != "" {
		label = side + ": " + label
	}
	return label
}

// addRun reads one run and adds it to its cell.
func (b *builder) addRun(r *result.Run, dir *result.Dir, side string) error {
	cell, err := b.cell(r, dir, side)
	if err != nil {
		return err
	}
	run, totals, err := readRun(r)
	if err != nil {
		b.problem("%v; what came before it is in the report", err)
	}
	run.Block = blockOf(r)
	first := run.Block
	run.Block.Repeat = cell.blocks[first]
	cell.blocks[first]++
	cell.Runs = append(cell.Runs, run)

	into := cell.counted
	if run.Dropped != "" {
		into = cell.others
	}
	return mergeAll(into, totals)
}

func mergeAll(into, from map[string]*result.Distribution) error {
	for tag, d := range from {
		if into[tag] == nil {
			into[tag] = d
			continue
		}
		if err := into[tag].Add(d.Hist, d.Extremes); err != nil {
			return fmt.Errorf("%s: %w", tag, err)
		}
	}
	return nil
}

// finish completes the report once all runs are in.
func (b *builder) finish() *Report {
	for _, c := range b.order {
		slices.SortStableFunc(c.Runs, func(x, y *Run) int { return x.Block.compare(y.Block) })
		c.Latency = c.counted
		if len(c.Counted()) == 0 {
			c.Latency, c.Tainted = c.others, true
		}
	}
	var primary []string
	for _, s := range b.report.Studies {
		primary = append(primary, s.Primary...)
	}
	for _, g := range b.report.Groups {
		b.separateChecks(g)
		label(g)
		pairSides(g)
		g.Options = optionDifferences(g)
		g.compare(primary)
		b.profiles(g)
	}
	b.quotients()
	b.report.Hosts, b.report.HostColumns = hostDifferences(b.report)
	return b.report
}

// pairSides puts each cell of side B behind the same configuration of side A.
func pairSides(g *Group) {
	rank := map[string]int{}
	for i, c := range g.Cells {
		if _, ok := rank[c.Config]; !ok {
			rank[c.Config] = i
		}
	}
	slices.SortStableFunc(g.Cells, func(x, y *Cell) int {
		if x.Side == "" && y.Side == "" {
			return 0
		}
		return cmp.Or(cmp.Compare(rank[x.Config], rank[y.Config]), strings.Compare(x.Side, y.Side))
	})
}

// separateChecks moves the B cells of A/A pairs and controls out of the
// columns.
func (b *builder) separateChecks(g *Group) {
	byName := map[string]*Cell{}
	for _, c := range g.Cells {
		byName[c.Name] = c
	}
	hidden := map[*Cell]bool{}
	for _, s := range b.report.Studies {
		for _, c := range s.Comparisons {
			first, second := byName[c.A], byName[c.B]
			if c.Kind == result.Claim || first == nil || second == nil {
				continue
			}
			g.Checks = append(g.Checks, Check{Kind: c.Kind, A: first, B: second, InjectedNs: c.InjectedNs})
			hidden[second] = true
		}
	}
	g.Cells = slices.DeleteFunc(g.Cells, func(c *Cell) bool { return hidden[c] })
}

// label makes the labels of a group's cells distinct.
func label(g *Group) {
	count := map[string]int{}
	for _, c := range g.Cells {
		count[c.Label]++
	}
	for _, c := range g.Cells {
		if count[c.Label] > 1 && c.Name != "" && c.Name != c.Label {
			c.Label += " (" + c.Name + ")"
		}
	}
	seen := map[string]int{}
	for _, c := range g.Cells {
		seen[c.Label]++
		if n := seen[c.Label]; n > 1 {
			c.Label = fmt.Sprintf("%s #%d", c.Label, n)
		}
	}
}

// peerOption is the option that only the cells of another program have.
const peerOption = "peer"

// optionDifferences lists the options that are not the same in all columns. Where
// some columns are another program, an option that only one of the two has is
// listed if it differs among those that have it.
func optionDifferences(g *Group) []Difference {
	var sets []map[string]string
	has := map[bool]map[string]bool{false: {}, true: {}} // by whether it is a peer
	for _, c := range g.Cells {
		sets = append(sets, c.Options)
		for name := range c.Options {
			has[c.isPeer()][name] = true
		}
	}
	if len(sets) == 0 {
		return nil
	}
	return slices.DeleteFunc(differences(sets), func(d Difference) bool {
		if has[false][d.Name] == has[true][d.Name] || len(has[false]) == 0 || len(has[true]) == 0 {
			return false
		}
		values := map[string]bool{}
		for i, c := range g.Cells {
			if c.isPeer() == has[true][d.Name] {
				values[d.Values[i]] = true
			}
		}
		return len(values) == 1
	})
}

// isPeer reports whether the cell is another program than the one that measured.
func (c *Cell) isPeer() bool { return c.Options[peerOption] != "" }
