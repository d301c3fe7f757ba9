package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"commitlab/bench/result"
)

// asking writes a study of appends that take 1 µs and of rebuilds that take 1.6 µs a
// message, a little more in each block, with the ratio of the two and others.
func asking(t *testing.T, blocks int, change func(cell string, m *result.Manifest, e *result.End)) string {
	t.Helper()
	metric := func(cell, metric string) result.CellMetric { return result.CellMetric{Cell: cell, Metric: metric} }
	study := result.Study{Name: "asking", Start: epoch, Seed: 1, Blocks: blocks, Host: testHost("", 0), Ratios: []result.Ratio{
		{Name: "rebuild, half of append", Of: metric("append.tuned", "append.period"), To: metric("rebuild.tuned", "message.service.p50"), AtLeast: 0.5},
		{Name: "rebuild, as append", Of: metric("append.tuned", "append.period"), To: metric("rebuild.tuned", "message.service.p50"), AtLeast: 1},
		{Name: "rebuild, at most", Of: metric("append.tuned", "append.period"), To: metric("rebuild.tuned", "message.service.p50"), AtLeast: 0.1, AtMost: 0.62},
		{Name: "to the machine", Of: metric("append.tuned", "append.service.p99"), To: metric("append.tuned", "hiccup.p99"), Note: "what waits for nobody."},
		{Name: "rates", Of: metric("append.tuned", "append.rate"), To: metric("rebuild.tuned", "rebuild.rate"), AtMost: 2},
		{Name: "never", Of: metric("append.tuned", "roll.service.p99"), To: metric("append.tuned", "hiccup.p99")},
	}}
	cells := []string{"append", "rebuild"}
	for _, scenario := range cells {
		study.Cells = append(study.Cells, result.Cell{Name: scenario + ".tuned", Label: "tuned", Scenario: scenario, Config: "tuned", Pace: "max"})
	}
	dir, err := result.CreateStudy(t.TempDir(), study)
	if err != nil {
		t.Fatal(err)
	}
	for block := 1; block <= blocks; block++ {
		for _, scenario := range cells {
			m := result.Manifest{
				Cell: scenario + ".tuned", Block: block, Scenario: scenario, Config: "tuned", Primary: scenario, Pace: "max", Closed: true,
				Workers: 1, Start: epoch.Add(time.Duration(block) * time.Minute), Host: testHost("", 0),
			}
			rate := 1e6
			service, message, hiccup := result.NewHistogram(), result.NewHistogram(), result.NewHistogram()
			for range 100 {
				record(t, service, 900)
				record(t, message, 1600+int64(block)*8)
				record(t, hiccup, 300)
			}
			ops := []result.OpTick{{Name: scenario, Service: service}}
			if scenario == "rebuild" {
				rate = 4
				ops = append(ops, result.OpTick{Name: "message", Service: message})
			}
			e := result.End{Status: result.OK, WindowNs: int64(time.Second), AchievedPerSecond: &rate, Done: 100}
			if change != nil {
				change(m.Cell, &m, &e)
			}
			w, err := dir.CreateRun(m)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Tick(result.Tick{Start: m.Start, End: m.Start.Add(time.Second), Ops: ops, Hiccup: hiccup}); err != nil {
				t.Fatal(err)
			}
			if err := w.End(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir.Path
}

// ratioLines returns the words of each row of the table of ratios, by its label.
func ratioLines(t *testing.T, path string) (rows map[string]string, text string) {
	t.Helper()
	r, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	var b, page bytes.Buffer
	if err := r.Text(&b, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := r.HTML(&page, Options{}); err != nil {
		t.Fatal(err)
	}
	rows = map[string]string{}
	for _, q := range r.Quotients {
		for line := range strings.Lines(b.String()) {
			if rest, ok := strings.CutPrefix(line, "  "+q.Asked.Name+"  "); ok {
				rows[q.Asked.Name] = strings.Join(strings.Fields(rest), " ")
			}
		}
		if !strings.Contains(page.String(), `<th scope="row">`+q.Asked.Name+`</th>`) {
			t.Errorf("the page has no row %q", q.Asked.Name)
		}
	}
	return rows, b.String()
}

// Goal: what a study sets out to show of different scenarios is in its report, with
// both figures, and the verdict follows from the interval alone.
func TestReportShowsWhatAStudyAsksFor(t *testing.T) {
	rows, text := ratioLines(t, asking(t, 6, nil))
	for name, want := range map[string]string{
		"rebuild, half of append": "1.00 µs 1.63 µs ×0.614 0.607–0.622 6, 0.607–0.622 at least 0.500 yes",
		"rebuild, as append":      "1.00 µs 1.63 µs ×0.614 0.607–0.622 6, 0.607–0.622 at least 1.00 no",
		"rebuild, at most":        "1.00 µs 1.63 µs ×0.614 0.607–0.622 6, 0.607–0.622 at least 0.100, at most 0.620 not told",
		"to the machine":          "900 ns 300 ns ×3.00 3.00–3.00 6, 3.00–3.00 – –",
		"rates":                   "1,000,000/s 4.00/s ×250000 250000–250000 6, 250000–250000 at most 2.00 no",
		"never":                   "– – – – none – –",
	} {
		if rows[name] != want {
			t.Errorf("%s is %q, want %q", name, rows[name], want)
		}
	}
	wantText(t, text, "rebuild, half of append: append.period of append.tuned, divided by message.service.p50 of rebuild.tuned.")
	wantText(t, text, "to the machine: what waits for nobody.")
	if t.Failed() {
		t.Log(text)
	}
}

// Goal: nothing is concluded from runs that do not count, nor from too few.
func TestRatiosOfWhatDoesNotCountProveNothing(t *testing.T) {
	rows, text := ratioLines(t, asking(t, 6, func(cell string, _ *result.Manifest, e *result.End) {
		if cell == "rebuild.tuned" {
			e.Status, e.Reason = result.Invalid, "it stood still"
		}
	}))
	if want := "1.00 µs 1.63 µs ×0.614 0.607–0.622 6, 0.607–0.622 at least 0.500 –"; rows["rebuild, half of append"] != want {
		t.Errorf("ratio is %q, want %q", rows["rebuild, half of append"], want)
	}
	wantText(t, text, "rebuild, half of append: rebuild.tuned has no run that counts: its figures are shown and prove nothing.")

	rows, _ = ratioLines(t, asking(t, 2, nil))
	if want := "1.00 µs 1.61 µs ×0.620 – 2, 0.619–0.622 at least 0.500 –"; rows["rebuild, half of append"] != want {
		t.Errorf("of two blocks the ratio is %q, want %q", rows["rebuild, half of append"], want)
	}
}

func TestRatiosAreExported(t *testing.T) {
	r, err := Load(asking(t, 6, nil))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.Export(&b, JSON, ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Ratios []struct {
			Name     string
			Of       struct{ Cell, Metric string }
			OfValues []float64 `json:"of_values"`
			Ratio    *float64
			Shown    *bool
		}
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, q := range got.Ratios {
		shown := "null"
		if q.Shown != nil {
			shown = fmt.Sprint(*q.Shown)
		}
		lines = append(lines, fmt.Sprintf("%s %s %d %v %s", q.Name, q.Of.Metric, len(q.OfValues), q.Ratio != nil, shown))
	}
	want := []string{
		"rebuild, half of append append.period 6 true true", "rebuild, as append append.period 6 true false",
		"rebuild, at most append.period 6 true null", "to the machine append.service.p99 6 true null",
		"rates append.rate 6 true false", "never roll.service.p99 0 false null",
	}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("exported are\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

// Two results that were not run together have no common blocks, and a study that
// asks for nothing has no table.
func TestNoRatiosWhereNoneAreAskedFor(t *testing.T) {
	path := asking(t, 2, nil)
	compared, err := Compare(path, path)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Report{compared, quickSix(t)} {
		if got := text(t, r, Options{}); strings.Contains(got, "\nRatios\n") {
			t.Errorf("there is a table of ratios:\n%s", got)
		}
	}
}
