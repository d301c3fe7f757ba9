package report

import (
	_ "embed"
	"html/template"
	"io"
	"strings"
	"time"

	"commitlab/bench/report/chart"
	"commitlab/bench/result"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageCSS string

var page = template.Must(template.New("page").Parse(pageText))

// HTML writes the report as one file that needs nothing else: no script, no
// font, no image from elsewhere. It holds the same tables as Text and the
// figures that text cannot have.
func (r *Report) HTML(w io.Writer, _ Options) error {
	p := pageData{
		Title: r.title(), CSS: template.CSS(chart.CSS + pageCSS),
		Sources: r.Sources, Conditions: r.conditions(), Problems: r.Problems, Limits: r.limits(),
	}
	for _, s := range r.Studies {
		p.Dates = append(p.Dates, s.Start.Format(time.RFC3339))
	}
	if len(r.Hosts) > 0 {
		p.Hosts = []table{r.hostTable()}
	}
	if len(r.Quotients) > 0 {
		p.Ratios = []table{r.quotientTable()}
	}
	for _, g := range r.Groups {
		p.Groups = append(p.Groups, g.section())
	}
	return page.Execute(w, p)
}

// pageData is what the template shows, in the order of the page.
type pageData struct {
	Title      string
	CSS        template.CSS
	Sources    []string
	Dates      []string
	Hosts      []table
	Ratios     []table
	Groups     []section
	Conditions []fact
	Problems   []string
	Limits     []string
}

// section is one group on the page.
type section struct {
	Heading    string
	Load       table
	Legend     []legend
	Operations []operation
	After      []table // slip, options, profiles
	Runs       table
}

// legend names a configuration in its colour, with the figure that tells most.
type legend struct {
	Name, Colour   string
	Headline       string // "p99.99 service"
	Figure, Detail string
}

// operation is the figures and tables of one operation.
type operation struct {
	Name        string
	Percentiles []template.HTML
	Tables      []table
	Ratios      template.HTML
	Timelines   []template.HTML
	TimelineOf  string
}

func (g *Group) section() section {
	s := section{Heading: g.heading(), Load: g.loadTable(), Runs: g.runsTable()}
	for i, c := range g.Cells {
		s.Legend = append(s.Legend, g.legend(c, colour(i)))
	}
	byOp := map[string]int{}
	for _, tag := range g.Tags() {
		op, kind := splitTag(tag)
		if disturbance(kind) {
			continue
		}
		if _, ok := byOp[op]; !ok {
			byOp[op] = len(s.Operations)
			s.Operations = append(s.Operations, g.operation(op))
		}
		o := &s.Operations[byOp[op]]
		o.Tables = append(o.Tables, g.latencyTable(tag))
	}
	s.After = append(s.After, g.besideTables()...)
	if t := g.disturbanceTable(); len(t.Rows) > 0 {
		s.After = append(s.After, t)
	}
	if len(g.Options) > 0 {
		s.After = append(s.After, g.optionsTable())
	}
	s.After = append(s.After, g.profileTables()...)
	return s
}

func (g *Group) operation(op string) operation {
	// What a client sees is the response time; in closed loop there is only service.
	over := result.Tag(op, result.Response)
	if !g.has(over) {
		over = result.Tag(op, result.Service)
	}
	return operation{
		Name:        op,
		Percentiles: asHTML(g.percentileFigures(op)),
		Ratios:      template.HTML(g.ratioFigure(result.Tag(op, result.Service))),
		Timelines:   asHTML(g.timelines(over)),
		TimelineOf:  describeTag(over),
	}
}

// has says whether any cell recorded anything under the tag.
func (g *Group) has(tag string) bool {
	for _, c := range g.Cells {
		if d := c.Latency[tag]; d != nil && d.Count() > 0 {
			return true
		}
	}
	return false
}

// asHTML marks what package chart made as markup. It escapes all names.
func asHTML(figures []string) []template.HTML {
	var out []template.HTML
	for _, f := range figures {
		out = append(out, template.HTML(f))
	}
	return out
}

// legend shows p99.99 of the service time of the primary operation: the tail,
// as far as most runs can tell it.
func (g *Group) legend(c *Cell, class string) legend {
	tag := result.Tag(g.Primary, result.Service)
	cells := c.latencyRow(tag, class, map[string]bool{}).Cells
	l := legend{Name: c.Label, Colour: class, Headline: "p99.99 service time", Figure: cells[3], Detail: "p50 " + cells[0] + " · max " + cells[4]}
	if p := find(g.Comparisons, c, tag, 3); p != nil {
		l.Detail += " · " + chart.Ratio(p.Ratio) + " of " + p.Base.Label + p.mark()
	}
	if s := c.state(); strings.TrimSpace(s) != "ok" {
		l.Detail += " · " + s
	}
	return l
}
