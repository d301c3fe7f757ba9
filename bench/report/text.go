package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Options selects what a rendering shows. The zero value shows the comparison
// and its conditions.
type Options struct {
	// Runs lists each run by itself in Text. HTML always does.
	Runs bool
}

// Text writes the comparison as plain text: no escape sequences, no carriage
// returns, nothing wider than the tables need.
func (r *Report) Text(w io.Writer, o Options) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s\n", r.title())
	for _, s := range r.Sources {
		fmt.Fprintf(b, "from %s\n", s)
	}
	if len(r.Hosts) > 0 {
		r.hostTable().text(b, "")
	}
	if len(r.Quotients) > 0 {
		r.quotientTable().text(b, "")
	}
	for _, g := range r.Groups {
		fmt.Fprintf(b, "\n%s\n%s\n", g.heading(), strings.Repeat("=", utf8.RuneCountInString(g.heading())))
		for _, t := range g.tables(o.Runs) {
			t.text(b, "")
		}
	}
	fmt.Fprintf(b, "\nConditions\n")
	width := 0
	for _, f := range r.conditions() {
		width = max(width, utf8.RuneCountInString(f.Name))
	}
	for _, f := range r.conditions() {
		fmt.Fprintf(b, "  %s  %s\n", pad(f.Name, width), f.Value)
	}
	if len(r.Problems) > 0 {
		fmt.Fprintf(b, "\nProblems\n")
		for _, p := range r.Problems {
			fmt.Fprintf(b, "  %s\n", strings.ReplaceAll(p, "\n", "\n  "))
		}
	}
	fmt.Fprintf(b, "\nWhat the numbers do not say\n")
	for _, s := range r.limits() {
		fmt.Fprintf(b, "  - %s\n", s)
	}
	return b.Flush()
}

// title names the report by its study.
func (r *Report) title() string {
	switch {
	case r.Unpaired:
		return "Comparison of two results that were not run together (unpaired)"
	case len(r.Studies) == 0:
		return "Report on " + counted(len(r.Sources), "run")
	}
	var names []string
	for _, s := range r.Studies {
		names = append(names, s.Name)
	}
	return "Study " + strings.Join(names, " and ")
}

// heading names a group: scenario, pace and parameters.
func (g *Group) heading() string {
	parts := []string{g.Scenario, paceText(g.Pace, g.Closed), counted(g.Workers, "worker")}
	if g.Pressure != "" {
		parts = append(parts, "under "+g.Pressure)
	}
	for _, name := range sortedKeys(g.Parameters) {
		if repeated[name] {
			continue
		}
		parts = append(parts, name[strings.LastIndexByte(name, 0x2e)+1:]+" "+g.Parameters[name])
	}
	return strings.Join(parts, " · ")
}

// tables returns the tables of a group in the order in which they are read.
func (g *Group) tables(runs bool) []table {
	tables := []table{g.loadTable()}
	for _, tag := range g.Tags() {
		if _, kind := splitTag(tag); disturbance(kind) {
			continue
		}
		tables = append(tables, g.latencyTable(tag))
	}
	tables = append(tables, g.besideTables()...)
	if t := g.disturbanceTable(); len(t.Rows) > 0 {
		tables = append(tables, t)
	}
	if len(g.Options) > 0 {
		tables = append(tables, g.optionsTable())
	}
	tables = append(tables, g.profileTables()...)
	if runs {
		tables = append(tables, g.runsTable())
	} else if t := g.runsTable(); len(t.Notes) > 0 {
		tables = append(tables, table{ID: t.ID, Title: t.Title, Notes: t.Notes})
	}
	return tables
}

// besideTables are about what went on beside the operations.
func (g *Group) besideTables() []table {
	var tables []table
	if t := g.bystanderTable(); len(t.Rows) > 0 {
		tables = append(tables, t)
	}
	if len(g.destroying()) > 0 {
		tables = append(tables, g.destructionTable())
	}
	if t := g.coldTable(); len(t.Rows) > 0 {
		tables = append(tables, t)
	}
	if t := g.pressureTable(); len(t.Rows) > 0 {
		tables = append(tables, t)
	}
	return tables
}

// text writes the table in columns: words to the left, figures to the right.
func (t table) text(w io.Writer, indent string) {
	fmt.Fprintf(w, "\n%s%s\n", indent, t.Title)
	if t.Caption != "" {
		fmt.Fprintf(w, "%s%s\n", indent, t.Caption)
	}
	widths := t.widths()
	if len(t.Rows) > 0 {
		t.line(w, indent, t.Columns[0], t.Columns[1:], widths)
	}
	for i, r := range t.Rows {
		if i > 0 && r.Kind == value && t.Rows[i-1].Kind != value {
			fmt.Fprintln(w)
		}
		label := r.Label
		if r.Kind != value {
			label = "  " + label
		}
		t.line(w, indent, label, r.Cells, widths)
	}
	for _, n := range t.Notes {
		fmt.Fprintf(w, "%s  %s\n", indent, n)
	}
}

func (t table) widths() []int {
	widths := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = utf8.RuneCountInString(c)
	}
	for _, r := range t.Rows {
		label := utf8.RuneCountInString(r.Label)
		if r.Kind != value {
			label += 2
		}
		widths[0] = max(widths[0], label)
		for i, c := range r.Cells {
			widths[i+1] = max(widths[i+1], utf8.RuneCountInString(c))
		}
	}
	return widths
}

func (t table) line(w io.Writer, indent, label string, cells []string, widths []int) {
	var b strings.Builder
	b.WriteString(indent + "  " + pad(label, widths[0]))
	for i, c := range cells {
		b.WriteString("  ")
		if t.Prose {
			b.WriteString(pad(c, widths[i+1]))
			continue
		}
		b.WriteString(strings.Repeat(" ", widths[i+1]-utf8.RuneCountInString(c)))
		b.WriteString(c)
	}
	fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}
