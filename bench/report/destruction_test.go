package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"commitlab/bench/result"
)

// destroying writes a study of retention: in each of six blocks appends to a log
// that keeps all, and to two that take files down, one of them with harm.
func destroying(t *testing.T, pressure string) string {
	t.Helper()
	study := result.Study{Name: "destroying", Start: epoch, Seed: 1, Blocks: 6, Host: testHost("", 0)}
	tails := map[string]int64{"kept": 10_000, "inline": 90_000, "recycle": 12_000}
	names := []string{"kept", "inline", "recycle"}
	for _, name := range names {
		study.Cells = append(study.Cells, result.Cell{Name: name, Scenario: "retention", Config: name, Pace: "1000", Pressure: pressure})
	}
	dir, err := result.CreateStudy(t.TempDir(), study)
	if err != nil {
		t.Fatal(err)
	}
	for block := 1; block <= 6; block++ {
		for _, name := range names {
			start := epoch.Add(time.Duration(block) * time.Minute)
			w, err := dir.CreateRun(result.Manifest{
				Cell: name, Block: block, Scenario: "retention", Config: name, Primary: "append", Pace: "1000",
				Workers: 1, Start: start, Pressure: pressure, Host: testHost("", 0), TickNs: int64(time.Second), DurationNs: int64(time.Second),
			})
			if err != nil {
				t.Fatal(err)
			}
			at := func(ns int64, n int) result.OpTick {
				h := result.NewHistogram()
				for range n {
					record(t, h, ns*int64(100+block)/100)
				}
				return result.OpTick{Service: h}
			}
			named := func(name string, op result.OpTick) result.OpTick { op.Name = name; return op }
			ops := []result.OpTick{named("append", at(tails[name], 100)), named(result.OutsideOp("append"), at(8_000, 50))}
			end := result.End{Status: result.OK, WindowNs: int64(time.Second)}
			if name != "kept" {
				ops = append(ops, named(result.InsideOp("append"), at(tails[name], 50)), named("destroy.total", at(5e6, 3)), named("destroy.punch", result.OpTick{}))
				end.Disturbed = &result.Disturbed{MarginNs: 1e6, Count: 3, TimeNs: 1e8}
			}
			if pressure != "" {
				end.Pressure = []result.Pressure{{Kind: "cpu-hog", Asked: "1", Did: "1 process computed", Notes: []string{"it was slow"}}}
			}
			if err := w.Tick(result.Tick{Start: start, End: start.Add(time.Second), Ops: ops}); err != nil {
				t.Fatal(err)
			}
			if err := w.End(end); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir.Path
}

func reportText(t *testing.T, path string) string {
	t.Helper()
	r, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	var text, page bytes.Buffer
	if err := r.Text(&text, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := r.HTML(&page, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, title := range []string{"Inside and outside of disturbances", "Taking files down"} {
		if !strings.Contains(page.String(), title) {
			t.Errorf("the page has no table %q", title)
		}
	}
	return text.String()
}

// Goal: the report names the way to destroy that harms least, how sure that is,
// and shows how long a destruction takes beside it.
func TestReportNamesTheLeastHarmfulDestruction(t *testing.T) {
	text := reportText(t, destroying(t, ""))
	for _, want := range []string{
		"Lowest p99.99 of append: recycle with ", "next: inline with ",
		"By blocks, inline has 7.50 times as much",
		"Compared with kept, of which nothing is taken down, recycle has 1.20 times as much",
		"6 of 6", "none",
		"recycle, append.inside", "kept, append.outside",
		"inline: 18 disturbances, 10.0 % of the time with a margin of 1ms after each.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	for _, no := range []string{"append.inside service time", "destroy.punch", "Pressure"} {
		if strings.Contains(text, no) {
			t.Errorf("the report says %q: parts have no tables of their own, and what did not occur has none", no)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// Goal: what went on beside the load is in the heading, in a table, and no reader
// is told that there was nothing.
func TestReportTellsPressure(t *testing.T) {
	text := reportText(t, destroying(t, "cpu-hog=1"))
	for _, want := range []string{"under cpu-hog=1", "cpu-hog 1", "1 process computed; it was slow", "what the table of pressure says"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	if strings.Contains(text, "Nothing here was measured under memory pressure") {
		t.Error("the report denies the pressure")
	}
}
