package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Study names, labels and orders come back; so do attempts that were repeated.
func TestStudyDirectory(t *testing.T) {
	root := t.TempDir()
	dir, err := CreateStudy(root, Study{
		Name: "quick", Start: start, Seed: 3, Blocks: 2,
		Cells:       []Cell{{Name: "append.rocketmq"}, {Name: "append.tuned"}},
		Order:       []Slot{{1, 1, "append.tuned"}, {1, 2, "append.rocketmq"}, {2, 1, "append.rocketmq"}, {2, 2, "append.tuned"}},
		Comparisons: []Comparison{{Kind: Claim, A: "append.rocketmq", B: "append.tuned"}},
	})
	must(t, err)
	if want := filepath.Join(root, "20231114T221320Z-quick"); dir.Path != want {
		t.Errorf("path is %s, want %s", dir.Path, want)
	}
	run := func(cell string, block int, status Status) {
		w, err := dir.CreateRun(Manifest{Cell: cell, Block: block})
		must(t, err)
		must(t, w.End(End{Status: status}))
	}
	for _, slot := range dir.Study.Order {
		run(slot.Cell, slot.Block, OK)
	}
	run("append.tuned", 2, Failed)
	run("append.tuned", 2, OK)

	dir, err = Open(dir.Path)
	must(t, err)
	runs, err := dir.Runs()
	must(t, err)
	var got []string
	for _, r := range runs {
		got = append(got, fmt.Sprintf("%s/%d %s %s", r.Manifest.Cell, r.Manifest.Block, r.Manifest.Study, r.Manifest.Status()))
	}
	want := []string{"append.rocketmq/1 quick ok", "append.rocketmq/2 quick ok", "append.tuned/1 quick ok", "append.tuned/2 quick ok"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error("runs (-want +got):\n" + d)
	}
	aside, err := dir.Superseded()
	must(t, err)
	if len(aside) != 2 || !strings.HasSuffix(aside[0], "002~1") || !strings.HasSuffix(aside[1], "002~2") {
		t.Errorf("superseded attempts are %v, want 002~1 and 002~2", aside)
	}
	for _, path := range aside {
		if _, err := OpenRun(path); err != nil {
			t.Errorf("superseded attempt cannot be read: %v", err)
		}
	}
	if _, err := CreateStudy(root, *dir.Study); !errors.Is(err, fs.ErrExist) {
		t.Errorf("study of the same name and second: %v, want fs.ErrExist", err)
	}
}

func TestUnreadableRunDoesNotHideTheOthers(t *testing.T) {
	dir, err := CreateStudy(t.TempDir(), Study{Name: "s", Cells: []Cell{{Name: "a"}, {Name: "b"}}})
	must(t, err)
	for _, cell := range []string{"a", "b"} {
		w, err := dir.CreateRun(Manifest{Cell: cell, Block: 1})
		must(t, err)
		must(t, w.End(End{Status: OK}))
	}
	must(t, os.WriteFile(filepath.Join(dir.RunPath("a", 1), ManifestFile), []byte(`{"schema":"commitlab.result/9"}`), 0o666))
	runs, err := dir.Runs()
	if len(runs) != 1 || runs[0].Manifest.Cell != "b" {
		t.Errorf("%d runs, want the one of cell b", len(runs))
	}
	if err == nil || !strings.Contains(err.Error(), "commitlab.result/9") {
		t.Errorf("error %v does not name the schema", err)
	}
}

func TestSingleRunOpensAlone(t *testing.T) {
	w := create(t, Manifest{Cell: "x"})
	must(t, w.End(End{Status: OK}))
	dir, err := Open(w.Dir())
	must(t, err)
	runs, err := dir.Runs()
	must(t, err)
	if dir.Study != nil || len(runs) != 1 || runs[0].Manifest.Cell != "x" {
		t.Errorf("study %v, %d runs; want none, 1", dir.Study, len(runs))
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty directory opened: %v", err)
	}
}

func TestInconsistentStudiesAreRefused(t *testing.T) {
	cells := []Cell{{Name: "a"}}
	for what, s := range map[string]Study{
		"no name":            {Cells: cells},
		"a path for a name":  {Name: "../x", Cells: cells},
		"a path for a cell":  {Name: "s", Cells: []Cell{{Name: "a/b"}}},
		"a hidden cell":      {Name: "s", Cells: []Cell{{Name: ".a"}}},
		"a cell twice":       {Name: "s", Cells: []Cell{{Name: "a"}, {Name: "a"}}},
		"unknown slot":       {Name: "s", Cells: cells, Order: []Slot{{1, 1, "b"}}},
		"unknown comparison": {Name: "s", Cells: cells, Comparisons: []Comparison{{Claim, "a", "b", 0}}},
		"ratio of nothing":   {Name: "s", Cells: cells, Ratios: []Ratio{{Name: "r", Of: CellMetric{"a", "append.rate"}, To: CellMetric{"b", "append.rate"}}}},
		"ratio of no metric": {Name: "s", Cells: cells, Ratios: []Ratio{{Name: "r", Of: CellMetric{"a", "append.rate"}, To: CellMetric{"a", "append"}}}},
		"rate to a time":     {Name: "s", Cells: cells, Ratios: []Ratio{{Name: "r", Of: CellMetric{"a", "append.rate"}, To: CellMetric{"a", "append.period"}}}},
		"time to a rate":     {Name: "s", Cells: cells, Ratios: []Ratio{{Name: "r", Of: CellMetric{"a", "hiccup.p99"}, To: CellMetric{"a", "append.rate"}}}},
		"ratio of no name":   {Name: "s", Cells: cells, Ratios: []Ratio{{Of: CellMetric{"a", "append.rate"}, To: CellMetric{"a", "append.rate"}}}},
		"impossible ratio":   {Name: "s", Cells: cells, Ratios: []Ratio{{Name: "r", Of: CellMetric{"a", "append.rate"}, To: CellMetric{"a", "append.rate"}, AtLeast: 2, AtMost: 1}}},
	} {
		if _, err := CreateStudy(t.TempDir(), s); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

// B-147: commas, quotes and line breaks in a label, and a locale with decimal
// commas, broke rows. Labels come back as they went in, numbers have points, and
// a tag that could break a row is refused by the writer.
func TestB147_LabelsAndNumbersSurviveAnyLocale(t *testing.T) {
	t.Setenv("LANG", "de_DE.UTF-8")
	t.Setenv("LC_ALL", "de_DE.UTF-8")
	label := "a,b \"c\"\nd"
	dir, err := CreateStudy(t.TempDir(), Study{Name: "s", Cells: []Cell{{Name: "a", Label: label}}})
	must(t, err)
	w, err := dir.CreateRun(Manifest{Cell: "a", Block: 1, Config: label, Primary: "append", Start: start})
	must(t, err)
	must(t, w.Tick(second(0, OpTick{Name: "append", Service: of(1_234_567)})))
	rate := 1234.5
	must(t, w.End(End{Status: OK, AchievedPerSecond: &rate}))

	dir, err = Open(dir.Path)
	must(t, err)
	s := summary(t, w)
	if dir.Study.Cells[0].Label != label || s.Config != label {
		t.Errorf("label came back as %q and %q, want %q", dir.Study.Cells[0].Label, s.Config, label)
	}
	b, err := json.Marshal(s)
	must(t, err)
	if !strings.Contains(string(b), `"achieved_per_s":1234.5,`) {
		t.Errorf("no decimal point in %s", b)
	}
	log, err := os.ReadFile(filepath.Join(w.Dir(), LatencyFile))
	must(t, err)
	if !strings.Contains(string(log), "\nTag=append.service,1700000000.123000,1.000000,1.23") {
		t.Errorf("log line is not as the format has it:\n%s", log)
	}
}
