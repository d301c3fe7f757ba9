package study

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"commitlab/bench/measure"
	"commitlab/bench/pressure"
	"commitlab/bench/result"
	"commitlab/bench/scenario"
)

func under(t *testing.T, r Run, text string) Run {
	t.Helper()
	var err error
	if r.Pressure, err = pressure.Parse(text); err != nil {
		t.Fatal(err)
	}
	return r
}

// Goal: what was asked for and what was done are in the run's files, and nothing
// is left on the disk, also when the run is interrupted.
func TestExecutePutsPressureOn(t *testing.T) {
	const asked = "held-readers=2/5ms,page-writer=1MB/s,fsync-storm=50/s"
	for _, interrupted := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		r := under(t, smallRun(t, "1000", 300*time.Millisecond), asked)
		if missing, err := r.PressureMissing(); err != nil || len(missing) > 0 {
			t.Errorf("missing: %q, %v", missing, err)
		}
		if interrupted {
			r.Duration = time.Minute
			r.Observe = func(measure.Tick) { cancel() }
		}
		run, summary := execute(t, ctx, r)
		cancel()
		if run.Manifest.Pressure != asked || len(summary.Pressure) != 3 {
			t.Fatalf("pressure asked for is %q, done %+v", run.Manifest.Pressure, summary.Pressure)
		}
		readers, writer, storm := summary.Pressure[0], summary.Pressure[1], summary.Pressure[2]
		if readers.Kind != "held-readers" || readers.Asked != "2/5ms" || readers.Values["holds"] < 2 {
			t.Errorf("readers did %+v, want at least one hold each", readers)
		}
		if writer.Values["writtenBytes"] <= 0 || storm.Values["syncs"] <= 0 {
			t.Errorf("writer did %+v, storm %+v; want something written", writer, storm)
		}
		if left, err := os.ReadDir(filepath.Dir(r.Spec.Dir)); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

// Goal: pressure that cannot be put on is a failure with its reason, and known
// before.
func TestPressureThatCannotBeIsAFailure(t *testing.T) {
	r := under(t, smallRun(t, "max", 200*time.Millisecond), "held-readers=1")
	var err error
	if r.Scenario, err = scenario.Find("baseline_mmap"); err != nil {
		t.Fatal(err)
	}
	if missing, err := r.PressureMissing(); err != nil || len(missing) != 1 || !strings.Contains(missing[0], "no records") {
		t.Errorf("missing: %q, %v", missing, err)
	}
	run, _ := execute(t, t.Context(), r)
	if run.Manifest.Status() != result.Failed || !strings.Contains(run.Manifest.Reason(), "no records that a reader could hold") {
		t.Errorf("run is %s: %s", run.Manifest.Status(), run.Manifest.Reason())
	}
}

// Goal: a study says before its first run what its pressure will lack, once for all
// cells of a scenario.
func TestStudySaysWhatItsPressureLacks(t *testing.T) {
	study := plan(t, `
name: lacking
blocks: 6
duration: 1s
configs: [{name: tuned}, {name: populated}]
scenarios:
  - {scenario: baseline_mmap, pressure: held-readers=1}
  - {scenario: append, pressure: held-readers=1}
`)
	missing, err := PressureMissing(&study, t.TempDir())
	if err != nil || len(missing) != 1 || !strings.Contains(missing[0], "no records") {
		t.Errorf("missing: %q, %v; want one complaint, of the baseline", missing, err)
	}
}

func TestPlanKeepsPressureOptionsAndChoiceOfAScenario(t *testing.T) {
	study := plan(t, `
name: choice
blocks: 7
duration: 1s
configs: [{name: rocketmq}, {name: tuned}, {name: recycle, base: tuned, set: {destroy: recycle}}]
scenarios:
  - {scenario: retention, rate: 1000, pressure: "held-readers=8, cpu-hog=1", set: {commitLogFileBytes: 4MiB}}
  - {scenario: retention, name: closed, only: [recycle, tuned]}
`)
	var names []string
	for _, c := range study.Cells {
		names = append(names, c.Name)
	}
	const want = "retention.rocketmq retention.tuned retention.recycle retention.rocketmq+aa closed.recycle closed.tuned closed.recycle+aa"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("cells are %q, want %q", got, want)
	}
	last := study.Comparisons[len(study.Comparisons)-1]
	if last != (result.Comparison{Kind: result.AA, A: "closed.recycle", B: "closed.recycle+aa"}) {
		t.Errorf("the last comparison is %+v, want the first of the chosen ones with itself", last)
	}
	if got := len(study.Order); got != 7*7 {
		t.Errorf("%d runs, want each of 7 cells in 7 blocks", got)
	}
	r, err := slotRun(&study, result.Slot{Block: 1, Position: 1, Cell: "retention.tuned"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Pressure.String() != "held-readers=8,cpu-hog=1" || r.Spec.Options.CommitLogFileBytes != 4<<20 || r.Spec.Options.MaxLogBytes != 16<<20 {
		t.Errorf("the run has pressure %q, files of %d and a log of %d bytes", r.Pressure, r.Spec.Options.CommitLogFileBytes, r.Spec.Options.MaxLogBytes)
	}
	s := Spec{Configs: []ConfigSpec{{Name: "tuned"}}, Scenarios: []ScenarioSpec{
		{Scenario: "append", Only: []string{"other"}}, {Scenario: "append", Pressure: "rain"}, {Scenario: "append", Set: map[string]string{"colour": "red"}},
	}}
	_, err = s.Plan(plenty)
	for _, want := range []string{`only: configuration "other" is none`, `pressure "rain" does not exist`, `option "colour" does not exist`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Plan says %v; want it to contain %q", err, want)
		}
	}
}

func TestPlanOfDestroyStrategies(t *testing.T) {
	spec, ok := FindNamed("destroy-strategies")
	if !ok {
		t.Fatal("there is no study destroy-strategies")
	}
	study, err := spec.Plan(Room{Disk: 20 << 30, Memory: 8 << 30})
	if err != nil {
		t.Fatal(err)
	}
	ways := map[string]map[string]bool{}
	for _, c := range study.Cells {
		r, err := slotRun(&study, result.Slot{Block: 1, Position: 1, Cell: c.Name})
		if err != nil {
			t.Fatal(err)
		}
		load, _, _ := strings.Cut(c.Name, ".")
		if ways[load] == nil {
			ways[load] = map[string]bool{}
		}
		ways[load][string(r.Spec.Options.Destroy)] = true
		if kept := r.Spec.Options.MaxLogBytes > r.Spec.MaxBytes; kept != (c.Config == "kept") {
			t.Errorf("%s: a log of at most %d bytes of which %d are written", c.Name, r.Spec.Options.MaxLogBytes, r.Spec.MaxBytes)
		}
	}
	for _, load := range []string{"async", "sync", "sustained"} {
		if len(ways[load]) != 5 {
			t.Errorf("%s has the ways %v, want all five", load, ways[load])
		}
	}
	wantEnoughBlocks(t, study)
	const overhead = 5 * time.Second
	each := time.Duration(spec.Duration) + time.Duration(*spec.Warmup) + time.Duration(*spec.Cooldown) + overhead
	if whole := time.Duration(len(study.Order)) * each; whole > 40*time.Minute {
		t.Errorf("%d blocks take about %s, want at most 40 min", study.Blocks, whole)
	}
}
