package report

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"path/filepath"
	"strconv"

	"commitlab/bench/report/hotspot"
)

// ProfileSchema is the version of what Profiles.JSON writes.
const ProfileSchema = "commitlab.profile/1"

// CSV writes one row per measure and function, as Report's does: "." as decimal
// point, no grouping, and empty fields for the B that is not there. The function
// of a measure's first row is empty: it is the whole profile.
func (p *Profiles) CSV(w io.Writer, o ProfileOptions) error {
	out := csv.NewWriter(w)
	header := []string{"measure", "unit", "function"}
	for _, by := range []string{"flat", "cum"} {
		for _, column := range []string{"a", "b", "b_minus_a", "samples_a", "samples_b", "resolved"} {
			header = append(header, by+"_"+column)
		}
	}
	if err := out.Write(header); err != nil {
		return err
	}
	for i := range p.Table.Measures {
		m := &p.Table.Measures[i]
		for _, f := range p.rows(m, o) {
			record := append([]string{m.Name, m.Unit, f.Name}, p.fields(f.Flat)...)
			if err := out.Write(append(record, p.fields(f.Cumulative)...)); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// rows is the total, without a name, and the functions selected.
func (p *Profiles) rows(m *hotspot.Measure, o ProfileOptions) []hotspot.Function {
	top, _ := o.top(m)
	return append([]hotspot.Function{{Flat: m.Total, Cumulative: m.Total}}, top...)
}

func (p *Profiles) fields(c hotspot.Cost) []string {
	b, difference, samples := "", "", ""
	if p.Table.Compared {
		b, difference, samples = number(c.B), number(c.Difference()), strconv.FormatInt(c.SamplesB, 10)
	}
	return []string{number(c.A), b, difference, strconv.FormatInt(c.SamplesA, 10), samples, strconv.FormatBool(c.Resolved())}
}

// The objects of the JSON form. What does not exist is null.
type (
	jsonProfiles struct {
		Schema       string              `json:"schema"`
		Kind         hotspot.Kind        `json:"kind"`
		Scenario     string              `json:"scenario"`
		Focus        string              `json:"focus,omitempty"` // only stacks through it
		PerOperation bool                `json:"per_operation"`   // else per second
		A            jsonProfiled        `json:"a"`
		B            *jsonProfiled       `json:"b"`
		Settings     map[string][]string `json:"settings"` // that differ: A's and B's
		Hosts        map[string][]string `json:"hosts"`
		Measures     []jsonMeasure       `json:"measures"`
	}
	jsonProfiled struct {
		Config     string  `json:"config"`
		File       string  `json:"file"`
		Status     string  `json:"status"`
		Operations *uint64 `json:"operations"`
		WindowNs   int64   `json:"window_ns"`
		CoveredNs  int64   `json:"covered_ns"`
	}
	jsonMeasure struct {
		Name      string         `json:"name"`
		Unit      string         `json:"unit"`
		Total     jsonCost       `json:"total"`
		Functions []jsonFunction `json:"functions"`
	}
	jsonFunction struct {
		Name string   `json:"name"`
		Flat jsonCost `json:"flat"`
		Cum  jsonCost `json:"cum"`
	}
	jsonCost struct {
		A          float64  `json:"a"`
		B          *float64 `json:"b"`
		Difference *float64 `json:"b_minus_a"`
		SamplesA   int64    `json:"samples_a"`
		SamplesB   *int64   `json:"samples_b"`
		Noise      float64  `json:"standard_error"` // of the difference, from counting; without B of a
		Resolved   bool     `json:"resolved"`
	}
)

// JSON writes one object.
func (p *Profiles) JSON(w io.Writer, o ProfileOptions) error {
	out := jsonProfiles{
		Schema: ProfileSchema, Kind: p.Table.Kind, Scenario: p.Runs[0].Manifest.Scenario, Focus: p.Focus, PerOperation: p.Table.PerOperation,
		A: p.Runs[0].json(), Settings: byName(p.Settings), Hosts: byName(p.Hosts),
	}
	if p.Table.Compared {
		b := p.Runs[1].json()
		out.B = &b
	}
	for i := range p.Table.Measures {
		m := &p.Table.Measures[i]
		rows := p.rows(m, o)
		j := jsonMeasure{Name: m.Name, Unit: m.Unit, Total: p.json(rows[0].Flat), Functions: []jsonFunction{}}
		for _, f := range rows[1:] {
			j.Functions = append(j.Functions, jsonFunction{f.Name, p.json(f.Flat), p.json(f.Cumulative)})
		}
		out.Measures = append(out.Measures, j)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(out)
}

func (r *ProfiledRun) json() jsonProfiled {
	j := jsonProfiled{
		Config: r.Manifest.Config, File: filepath.ToSlash(r.File), Status: string(r.Manifest.Status()),
		WindowNs: r.Window.Nanoseconds(), CoveredNs: r.Covered().Nanoseconds(),
	}
	if r.Operations > 0 {
		j.Operations = &r.Operations
	}
	return j
}

func (p *Profiles) json(c hotspot.Cost) jsonCost {
	j := jsonCost{A: c.A, SamplesA: c.SamplesA, Noise: c.Noise, Resolved: c.Resolved()}
	if p.Table.Compared {
		difference := c.Difference()
		j.B, j.Difference, j.SamplesB = &c.B, &difference, &c.SamplesB
	}
	return j
}

func byName(ds []Difference) map[string][]string {
	out := map[string][]string{}
	for _, d := range ds {
		out[d.Name] = d.Values
	}
	return out
}
