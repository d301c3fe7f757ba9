package report

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"time"

	"commitlab/bench/report/chart"
	"commitlab/bench/report/hotspot"
	"commitlab/bench/result"
)

// ProfileOptions selects what is shown of profiles.
type ProfileOptions struct {
	Top        int  // how many functions of each measure; 0 for all
	Cumulative bool // order by what a function costs with all that it calls
}

// top returns the functions to show of a measure, and how many are left out.
func (o ProfileOptions) top(m *hotspot.Measure) (top []hotspot.Function, rest int) {
	top = m.Top(o.Cumulative)
	if o.Top > 0 && len(top) > o.Top {
		return top[:o.Top], len(top) - o.Top
	}
	return top, 0
}

// Text writes the profiles as plain text.
func (p *Profiles) Text(w io.Writer, o ProfileOptions) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s\n", p.title())
	for i := range p.Runs {
		fmt.Fprintf(b, "%s%s\n", p.prefix(i), filepath.ToSlash(p.Runs[i].File))
	}
	if len(p.Hosts) > 0 {
		differenceTable("hosts", "DIFFERING CONDITIONS", "A and B did not run on the same machine and settings of it; that is part of every difference.", "setting", p.labels(), p.Hosts).text(b, "")
	}
	p.runsTable().text(b, "")
	if len(p.Settings) > 0 {
		p.settingsTable().text(b, "")
	}
	for i := range p.Table.Measures {
		p.functionTable(&p.Table.Measures[i], o).text(b, "")
	}
	fmt.Fprintf(b, "\nWhat the numbers do not say\n")
	for _, s := range p.limits() {
		fmt.Fprintf(b, "  - %s\n", s)
	}
	return b.Flush()
}

func (p *Profiles) title() string {
	scenario := p.Runs[0].Manifest.Scenario
	if p.Table.Compared {
		return fmt.Sprintf("Two %s profiles of %s, B compared with A", p.Table.Kind, scenario)
	}
	return fmt.Sprintf("The %s profile of %s", p.Table.Kind, scenario)
}

// prefix tells the i-th side from the other where there are two.
func (p *Profiles) prefix(i int) string {
	if !p.Table.Compared {
		return ""
	}
	return string(rune('A'+i)) + ": "
}

func (p *Profiles) labels() []string {
	var labels []string
	for i, r := range p.Runs {
		labels = append(labels, p.prefix(i)+r.Manifest.Config)
	}
	return labels
}

// runsTable shows what stands behind each profile.
func (p *Profiles) runsTable() table {
	t := table{
		ID: "profiled", Title: "Profiled runs",
		Caption: "Operations that ended in the window, and how much of it the profile covers; costs are divided by that part of them.",
		Columns: []string{"run", "operations", "operations/s", "window", "covered", "state"},
	}
	for i, label := range p.labels() {
		r := &p.Runs[i]
		operations, rate := chart.NoData, math.NaN()
		if r.Operations > 0 {
			operations = chart.Count(int64(r.Operations))
			rate = float64(r.Operations) / r.Window.Seconds()
		}
		t.Rows = append(t.Rows, row{Kind: value, Colour: colour(i), Label: label, Cells: []string{
			operations, chart.PerSecond(rate), known(r.Window), known(r.Covered()), string(r.Manifest.Status()),
		}})
		if r.Manifest.Status() != result.OK {
			t.Notes = append(t.Notes, fmt.Sprintf("%s: %s: %s.", label, r.Manifest.Status(), r.Manifest.Reason()))
		}
		if r.Operations == 0 {
			t.Notes = append(t.Notes, fmt.Sprintf("%s: how many operations it did is not known. All costs are per second, of another load they are others.", label))
		}
	}
	return t
}

func known(d time.Duration) string {
	if d <= 0 {
		return chart.NoData
	}
	return chart.Duration(float64(d))
}

func (p *Profiles) settingsTable() table {
	return differenceTable("settings", "Settings that differ", "Load, engine options as resolved, and profilers; all others are equal.", "setting", p.labels(), p.Settings)
}

// functionTable shows a measure by function. What it is ordered by comes first
// and with its samples.
func (p *Profiles) functionTable(m *hotspot.Measure, o ProfileOptions) table {
	first, second := "flat", "cum"
	if o.Cumulative {
		first, second = second, first
	}
	t := table{
		ID: "functions", Title: m.Name + " by function",
		Caption: fmt.Sprintf("%s; flat: of the function itself, cum: with all that it calls. By size of %s", m.Unit, first),
		Columns: []string{"function", first, "samples", second},
	}
	if p.Table.Compared {
		t.Caption += " B−A"
		t.Columns = []string{"function", first + " A", first + " B", first + " B−A", "samples A", "samples B", second + " A", second + " B", second + " B−A"}
	}
	t.Caption += "."
	if p.Focus != "" {
		t.Caption += fmt.Sprintf(" Only stacks through %q.", p.Focus)
	}
	top, rest := o.top(m)
	unresolved := false
	add := func(name string, flat, cumulative hotspot.Cost) {
		by, other := flat, cumulative
		if o.Cumulative {
			by, other = other, by
		}
		cells := append(p.costs(by), p.samples(by)...)
		t.Rows = append(t.Rows, row{Kind: value, Label: name, Cells: append(cells, p.costs(other)...)})
		unresolved = unresolved || marked(by) || marked(other)
	}
	add(allFunctions, m.Total, m.Total)
	for _, f := range top {
		add(f.Name, f.Flat, f.Cumulative)
	}
	if unresolved {
		t.Notes = append(t.Notes, p.resolution())
	}
	if rest > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%s after these.", counted(rest, "more function")))
	}
	return t
}

// costs is one cost as cells: the cost, or A, B and their difference.
func (p *Profiles) costs(c hotspot.Cost) []string {
	mark := "  " // as wide as the mark, so that figures stay below each other
	if marked(c) {
		mark = " ~"
	}
	if !p.Table.Compared {
		return []string{costText(c.A) + mark}
	}
	difference := costText(c.Difference())
	if c.Difference() > 0 {
		difference = "+" + difference
	}
	return []string{costText(c.A), costText(c.B), difference + mark}
}

func (p *Profiles) samples(c hotspot.Cost) []string {
	if !p.Table.Compared {
		return []string{chart.Count(c.SamplesA)}
	}
	return []string{chart.Count(c.SamplesA), chart.Count(c.SamplesB)}
}

// marked says whether a cost is below the resolution of the profile. What was not
// met at all is no figure to be marked.
func marked(c hotspot.Cost) bool {
	return !c.Resolved() && c.SamplesA+c.SamplesB > 0
}

// costText writes whole units from 100 on and three digits below.
func costText(v float64) string { return chart.PerSecond(v) }

func (p *Profiles) resolution() string {
	if p.Table.Compared {
		return "~ Below the resolution: so few samples cannot tell the difference from none (three standard errors of counting them)."
	}
	return "~ Below the resolution: fewer than ten samples."
}

// limits says what the costs do not tell.
func (p *Profiles) limits() []string {
	var out []string
	add := func(s string) { out = append(out, s) }
	if p.Table.Compared {
		add("This is one run of A and one of B, one after the other. How much two runs of A differ is in neither the figures nor the mark ~, and can be far more than counting: profile A twice and compare those first.")
		if a, b := p.Runs[0].perSecond(), p.Runs[1].perSecond(); p.Table.PerOperation && math.Abs(a-b) > 0.05*max(a, b) {
			add("A and B did not do as much per second. What is spent by the clock and not by the operation (services, waiting, the generator) costs less per operation where there are more of them.")
		}
	}
	switch p.Table.Kind {
	case hotspot.CPU:
		if p.Focus == "" {
			add("The generator is in it: before each operation it waits for the time that one is due, and spins at the end of that.")
		}
	case hotspot.Wall:
		add("Every goroutine counts all the time, so that the total says how many there are. " + whoWaits)
	case hotspot.Heap:
		add("What was allocated in the window counts, freed since or not. The runtime notes one allocation per " + bytesText(uint64(p.Runs[0].Profile.Period)) + " and scales it up; samples are those that it noted.")
	case hotspot.Mutex:
		add("It counts where a lock was given up that others waited for; samples are the waits. " + whoWaits)
	case hotspot.Block:
		add("It counts where goroutines waited for each other, idle ones too; samples are the waits. Short ones are noted by chance and scaled up. " + whoWaits)
	}
	return append(out, "Profilers cost time themselves: none of this is a latency, and latencies of these runs are compared with none of others.")
}

// allFunctions is the row of a whole profile.
const allFunctions = "all functions"

const whoWaits = "Waiting is flat in the runtime or in package sync; the order by cum says whose it is."

func (r *ProfiledRun) perSecond() float64 { return float64(r.Operations) / r.Window.Seconds() }
