package report

import (
	"encoding/json"
	"io"
	"math"

	"commitlab/bench/result"
)

// Schema is the version of what Export writes as JSON.
const Schema = "commitlab.report/1"

// The objects of the JSON export. A figure that does not exist is null.
type (
	jsonReport struct {
		Schema   string      `json:"schema"`
		Sources  []string    `json:"sources"`
		Unpaired bool        `json:"unpaired"`
		Ratios   []jsonRatio `json:"ratios,omitempty"`
		Groups   []jsonGroup `json:"groups"`
		Problems []string    `json:"problems,omitempty"`
	}
	jsonRatio struct {
		result.Ratio
		OfValues  []float64 `json:"of_values"` // by block, as to_values
		ToValues  []float64 `json:"to_values"`
		Uncounted []string  `json:"uncounted,omitempty"` // cells of which no run counts
		Estimate  *float64  `json:"ratio"`
		Low       *float64  `json:"low"`
		High      *float64  `json:"high"`
		Shown     *bool     `json:"shown"` // null: nothing is wanted, or nothing can be told
	}
	jsonGroup struct {
		Scenario    string            `json:"scenario"`
		Pace        string            `json:"pace"`
		Closed      bool              `json:"closed"`
		Workers     int               `json:"workers"`
		Parameters  map[string]string `json:"parameters"`
		Cells       []jsonCell        `json:"cells"`
		Comparisons []jsonComparison  `json:"comparisons"`
		Checks      []jsonCheck       `json:"checks,omitempty"`
	}
	jsonCell struct {
		Label     string                    `json:"label"`
		Config    string                    `json:"config"`
		Options   map[string]string         `json:"options"`
		State     string                    `json:"state"`
		Compared  bool                      `json:"compared"` // false: no run counts, all are merged to be looked at
		Offered   *float64                  `json:"offered_per_s"`
		Achieved  *float64                  `json:"achieved_per_s"`
		Due       uint64                    `json:"due"`
		Done      uint64                    `json:"done"`
		Late      uint64                    `json:"late"`
		NeverSent uint64                    `json:"never_sent"`
		Errors    uint64                    `json:"errors"`
		LatencyNs map[string]map[string]any `json:"latency_ns"` // tag → statistic → value
		Runs      []jsonRun                 `json:"runs"`
	}
	jsonRun struct {
		Dir     string          `json:"dir"`
		Dropped string          `json:"dropped,omitempty"`
		Summary *result.Summary `json:"summary"`
	}
	jsonComparison struct {
		Metric   string    `json:"metric"`
		Base     string    `json:"base"`
		Other    string    `json:"other"`
		Paired   bool      `json:"paired"`
		Runs     int       `json:"runs"`
		Needed   int       `json:"needed"`
		Enough   bool      `json:"enough"`
		Ratio    float64   `json:"ratio"`
		Low      *float64  `json:"low"`
		High     *float64  `json:"high"`
		P        *float64  `json:"p"`
		Adjusted *float64  `json:"p_adjusted"`
		Blocks   []float64 `json:"block_ratios,omitempty"`
	}
	jsonCheck struct {
		Kind       result.ComparisonKind `json:"kind"`
		InjectedNs int64                 `json:"injected_ns,omitempty"`
		Results    []jsonComparison      `json:"results"`
	}
)

func (r *Report) exportJSON(w io.Writer, o ExportOptions) error {
	out := jsonReport{Schema: Schema, Sources: r.Sources, Unpaired: r.Unpaired, Groups: []jsonGroup{}, Problems: r.Problems}
	for _, q := range r.Quotients {
		out.Ratios = append(out.Ratios, q.json())
	}
	for _, g := range r.Groups {
		out.Groups = append(out.Groups, g.json(o))
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(out)
}

func (q *Quotient) json() jsonRatio {
	out := jsonRatio{Ratio: q.Asked, OfValues: q.Of, ToValues: q.To, Uncounted: q.Uncounted}
	if q.N > 0 {
		out.Estimate = null(q.Ratio)
	}
	if q.Enough {
		out.Low, out.High = null(q.Low), null(q.High)
	}
	if v := q.verdict(); v == shownYes || v == shownNo {
		shown := v == shownYes
		out.Shown = &shown
	}
	return out
}

func (g *Group) json(o ExportOptions) jsonGroup {
	out := jsonGroup{
		Scenario: g.Scenario, Pace: g.Pace, Closed: g.Closed, Workers: g.Workers, Parameters: g.Parameters,
		Cells: []jsonCell{}, Comparisons: jsonComparisons(g.Comparisons, o),
	}
	for _, c := range g.Cells {
		if o.wants(c, o.Tag) {
			out.Cells = append(out.Cells, c.json(o))
		}
	}
	for _, c := range g.Checks {
		out.Checks = append(out.Checks, jsonCheck{Kind: c.Kind, InjectedNs: c.InjectedNs, Results: jsonComparisons(c.Results, ExportOptions{Tag: o.Tag})})
	}
	return out
}

func (c *Cell) json(o ExportOptions) jsonCell {
	t := c.Throughput()
	out := jsonCell{
		Label: c.Label, Config: c.Config, Options: c.Options, State: c.state(), Compared: !c.Tainted,
		Offered: null(t.OfferedPerSecond), Achieved: null(t.AchievedPerSecond),
		Due: t.Due, Done: t.Done, Late: t.Late, NeverSent: t.NeverSent, Errors: t.Errors,
		LatencyNs: map[string]map[string]any{},
	}
	for tag, d := range c.Latency {
		if !o.wants(c, tag) {
			continue
		}
		figures := map[string]any{"count": d.Count(), "over_range": d.Extremes.OverRange}
		for i, v := range values(d) {
			figures[Statistics[i].Name] = null(v)
		}
		out.LatencyNs[tag] = figures
	}
	for _, r := range c.Runs {
		out.Runs = append(out.Runs, jsonRun{Dir: r.Dir, Dropped: r.Dropped, Summary: r.Summary})
	}
	return out
}

func jsonComparisons(all []Comparison, o ExportOptions) []jsonComparison {
	out := []jsonComparison{}
	for i := range all {
		p := &all[i]
		if !o.wants(p.Other, p.Tag) {
			continue
		}
		j := jsonComparison{
			Metric: p.metric(), Base: p.Base.Label, Other: p.Other.Label, Paired: p.Paired,
			Runs: p.runs(), Needed: p.Needed, Enough: p.Enough, Ratio: p.Ratio, Blocks: p.Blocks,
		}
		if p.Enough {
			j.Low, j.High, j.P, j.Adjusted = null(p.Low), null(p.High), null(p.P), null(p.Adjusted)
		}
		out = append(out, j)
	}
	return out
}

// null returns nil for what JSON has no number for.
func null(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
