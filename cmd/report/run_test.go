package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"commitlab/bench/result"
)

// study writes a study of one cell and one run, and returns its directory.
func study(t *testing.T) string {
	t.Helper()
	start := time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)
	dir, err := result.CreateStudy(t.TempDir(), result.Study{
		Name: "small", Start: start, Blocks: 1,
		Cells: []result.Cell{{Name: "append-tuned", Label: "tuned", Scenario: "append", Config: "tuned", Pace: "1000"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w, err := dir.CreateRun(result.Manifest{
		Cell: "append-tuned", Block: 1, Scenario: "append", Config: "tuned", Primary: "append", Pace: "1000", Workers: 1,
		DurationNs: int64(time.Second), TickNs: int64(time.Second), Start: start,
	})
	if err != nil {
		t.Fatal(err)
	}
	h := result.NewHistogram()
	if err := h.RecordValues(3000, 1000); err != nil {
		t.Fatal(err)
	}
	err = w.Tick(result.Tick{Start: start, End: start.Add(time.Second), Ops: []result.OpTick{{Name: "append", Service: h, Response: h, Slip: h}}})
	if err != nil {
		t.Fatal(err)
	}
	rate := 1000.0
	err = w.End(result.End{Status: result.OK, WindowNs: int64(time.Second), OfferedPerSecond: &rate, AchievedPerSecond: &rate, Due: 1000, Done: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return dir.Path
}

// runOf is the one run of study.
func runOf(dir string) string { return filepath.Join(dir, "runs", "append-tuned", "001") }

// output runs the program and wants it to succeed without a word on stderr.
func output(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if err := run(args, &stdout, &stderr); err != nil {
		t.Fatalf("report %s: %v", strings.Join(args, " "), err)
	}
	if stderr.Len() > 0 {
		t.Errorf("report %s wrote to stderr: %s", strings.Join(args, " "), stderr.String())
	}
	return stdout.String()
}

func TestTextIsTheDefault(t *testing.T) {
	dir := study(t)
	got := output(t, dir)
	if !strings.Contains(got, "Study small") || !strings.Contains(got, "append service time") || !strings.Contains(got, "3.00 µs") {
		t.Errorf("no comparison:\n%s", got)
	}
	if named := output(t, "text", dir); named != got {
		t.Error("report text DIR and report DIR differ")
	}
	if listed := output(t, dir, "--runs"); !strings.Contains(listed, "tuned block 1") {
		t.Errorf("--runs lists no run:\n%s", listed)
	}
}

func TestHTMLGoesToTheFile(t *testing.T) {
	dir := study(t)
	path := filepath.Join(t.TempDir(), "page.html")
	if got := output(t, "html", dir, "-o", path); got != "" {
		t.Errorf("stdout has %q, want nothing", got)
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(page, []byte("<!DOCTYPE html>")) || output(t, "html", dir, "-o", "-") != string(page) {
		t.Error("the file is no page, or not the one that goes to stdout")
	}
}

func TestExportFormats(t *testing.T) {
	dir := study(t)
	for format, start := range map[string]string{
		"hgrm": "#[append", "csv": "scenario,", "bench": "Unit ops/s", "json": "{",
	} {
		if got := output(t, "export", "--format", format, dir); !strings.HasPrefix(got, start) {
			t.Errorf("%s starts with %.40q, want %q", format, got, start)
		}
	}
	if got := output(t, "export", "--format=csv", "--unit=ns", dir); !strings.Contains(got, "p50_ns") {
		t.Errorf("--unit=ns gives the header %.200q", got)
	}
	if !json.Valid([]byte(output(t, "export", "--format=json", dir))) {
		t.Error("json is not valid")
	}
}

func TestCompareSaysUnpaired(t *testing.T) {
	if got := output(t, "compare", study(t), study(t)); !strings.Contains(got, "unpaired") || !strings.Contains(got, "B: tuned") {
		t.Errorf("no unpaired comparison:\n%s", got)
	}
}

// profiled writes a run with a CPU profile that found 100 samples a second in the
// function, at 10,000 operations a second, and returns its directory.
func profiled(t *testing.T, function string, length time.Duration) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	w, err := result.CreateRun(dir, result.Manifest{
		Scenario: "append", Config: "tuned", Primary: "append", Pace: "10000", Workers: 1, Profiles: []string{"cpu"},
		DurationNs: int64(length), TickNs: int64(time.Second), Start: time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC),
	})
	if err != nil {
		t.Fatal(err)
	}
	rate := 10_000.0
	if err := w.End(result.End{Status: result.OK, WindowNs: int64(length), AchievedPerSecond: &rate}); err != nil {
		t.Fatal(err)
	}
	const period = int64(10 * time.Millisecond)
	samples := 100 * int64(length/time.Second)
	f := &profile.Function{ID: 1, Name: function}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: period, DurationNanos: int64(length),
		Function: []*profile.Function{f}, Location: []*profile.Location{l},
		Sample: []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{samples, samples * period}}},
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "append-tuned.cpu.pprof"), b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestProfileOfOneRunAndOfTwo(t *testing.T) {
	a, b := profiled(t, "old.copy", 30*time.Second), profiled(t, "new.copy", 60*time.Second)
	if got := output(t, "profile", a); !regexp.MustCompile(`(?m)^  old.copy +100,000 +3,000 +100,000$`).MatchString(got) {
		t.Errorf("no line of 100 µs per operation from 3,000 samples:\n%s", got)
	}
	got := output(t, "profile", a, b)
	for _, line := range []string{`old.copy +100,000 +0 +-100,000 +3,000 +0 `, `new.copy +0 +100,000 +\+100,000 +0 +6,000 `, `all functions +100,000 +100,000 +0 ~`} {
		if !regexp.MustCompile(`(?m)^  ` + line).MatchString(got) {
			t.Errorf("no line %s:\n%s", line, got)
		}
	}
	if got := output(t, "profile", a, b, "--focus", "^new", "--top=1", "--cumulative"); strings.Contains(got, "old.copy") || !strings.Contains(got, "By size of cum B−A") {
		t.Errorf("not the one function asked for, or in another order:\n%s", got)
	}
	if got := output(t, "profile", a, b, "--format=csv"); !strings.HasPrefix(got, "measure,unit,function,flat_a,flat_b,flat_b_minus_a,") {
		t.Errorf("csv starts with %.80q", got)
	}
	if !json.Valid([]byte(output(t, "profile", a, b, "--format=json"))) {
		t.Error("json is not valid")
	}
}

func TestHelpIsNoError(t *testing.T) {
	if got := output(t, "--help"); !strings.Contains(got, "export") || !strings.Contains(got, "compare") {
		t.Errorf("help lacks commands:\n%s", got)
	}
}

func TestErrors(t *testing.T) {
	dir := study(t)
	for _, c := range []struct {
		name  string
		args  []string
		usage bool
		want  string
	}{
		{"nothing named", nil, true, "result"},
		{"unknown format", []string{"export", "--format", "xlsx", dir}, true, "hgrm"},
		{"page without a file", []string{"html", dir}, true, "output"},
		{"no result", []string{filepath.Join(dir, "runs")}, false, "study.json"},
		{"profiles that were not taken", []string{"profile", runOf(dir)}, false, "--profile cpu"},
		{"profiles of a study", []string{"profile", dir}, false, "is a study"},
		{"unknown kind of profile", []string{"profile", "--kind", "trace", dir}, true, "mutex"},
		{"focus on nonsense", []string{"profile", "--focus", "(", dir}, true, "--focus"},
		{"file that cannot be made", []string{"html", dir, "-o", filepath.Join(dir, "none", "page.html")}, false, "page.html"},
	} {
		var stdout, stderr bytes.Buffer
		err := run(c.args, &stdout, &stderr)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
		if errors.As(err, new(usageError)) != c.usage {
			t.Errorf("%s: error %v; usage error: want %v", c.name, err, c.usage)
		}
		if stdout.Len() > 0 {
			t.Errorf("%s: stdout has %q", c.name, stdout.String())
		}
	}
}
