package study

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"commitlab/bench/pace"
	"commitlab/bench/result"
	"commitlab/bench/scenario"
	"commitlab/bench/stat"
	"commitlab/bench/workload"
)

// plenty is room for anything these tests plan.
var plenty = Room{Disk: 1 << 50, Memory: 1 << 50}

func plan(t *testing.T, text string) result.Study {
	t.Helper()
	s, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	study, err := s.Plan(plenty)
	if err != nil {
		t.Fatal(err)
	}
	return study
}

const twoByTwo = `
name: two
seed: 5
blocks: 12
duration: 1s
configs: [{name: rocketmq}, {name: tuned}]
scenarios:
  - {scenario: append, rate: 1000}
  - {scenario: append, name: flat-out}
`

func TestPlanMakesACellForEachConfigurationAndScenario(t *testing.T) {
	study := plan(t, twoByTwo)
	var names []string
	for _, c := range study.Cells {
		names = append(names, c.Name)
	}
	want := []string{
		"append.rocketmq", "append.tuned", "append.rocketmq+aa",
		"flat-out.rocketmq", "flat-out.tuned", "flat-out.rocketmq+aa",
	}
	if !slices.Equal(names, want) {
		t.Errorf("cells are %v, want %v", names, want)
	}
	wantComparisons := []result.Comparison{
		{Kind: result.Claim, A: "append.rocketmq", B: "append.tuned"},
		{Kind: result.AA, A: "append.rocketmq", B: "append.rocketmq+aa"},
		{Kind: result.Claim, A: "flat-out.rocketmq", B: "flat-out.tuned"},
		{Kind: result.AA, A: "flat-out.rocketmq", B: "flat-out.rocketmq+aa"},
	}
	if !slices.Equal(study.Comparisons, wantComparisons) {
		t.Errorf("comparisons are %v, want %v", study.Comparisons, wantComparisons)
	}
	if !slices.Equal(study.Primary, []string{"append.response.p99.9"}) {
		t.Errorf("primary metrics are %v, want the response time of the first, open scenario", study.Primary)
	}
	twin, original := study.Cells[2], study.Cells[0]
	if string(twin.Options) != string(original.Options) || string(twin.Spec) != string(original.Spec) || twin.Config != original.Config {
		t.Errorf("the A/A twin is %+v, want the same as %+v but for its name", twin, original)
	}
}

func TestPlanRunsEachCellOnceInEachBlock(t *testing.T) {
	study := plan(t, twoByTwo)
	if len(study.Order) != 12*6 {
		t.Fatalf("%d slots, want %d", len(study.Order), 12*6)
	}
	seen := map[result.Slot]bool{}
	firsts := map[string]int{}
	for i, slot := range study.Order {
		if slot.Block != i/6+1 || slot.Position != i%6+1 {
			t.Errorf("slot %d is block %d, position %d", i, slot.Block, slot.Position)
		}
		seen[result.Slot{Block: slot.Block, Cell: slot.Cell}] = true
		if slot.Position == 1 {
			firsts[slot.Cell]++
		}
	}
	if len(seen) != 12*6 {
		t.Errorf("%d different cells in blocks, want %d", len(seen), 12*6)
	}
	for cell, n := range firsts {
		if n > 4 {
			t.Errorf("%s runs first in %d of 12 blocks", cell, n)
		}
	}
}

// Goal: a study that cannot conclude anything is refused before it costs an
// hour, and says what would help.
func TestPlanRefusesTooFewBlocks(t *testing.T) {
	for _, c := range []struct {
		old, new string
		need     int // blocks
	}{
		{"aa: true", "primary: [append.service.p99, append.rate]", 7},
		{"aa: true", "primary: [append.service.p99, lookup.service.p99]", 6}, // nothing is looked up
		{"{name: tuned}", "{name: tuned}, {name: rocketmq-warm}", 7},
		{"{name: tuned}", "{name: tuned}, {name: a, base: tuned}, {name: b, base: tuned}, {name: c, base: tuned}, {name: d, base: tuned}", 8},
		{", {name: tuned}", "", 6},
		{", {name: tuned}]", "]\nprimary: [append.service.p99, append.rate]", 7}, // of the cell that runs twice
	} {
		s, err := Parse([]byte(strings.Replace(twoByTwo+"aa: true\n", c.old, c.new, 1)))
		if err != nil {
			t.Fatal(err)
		}
		s.Blocks = c.need
		if _, err := s.Plan(plenty); err != nil {
			t.Errorf("%s: Plan says %v, want it to do with %d blocks", c.new, err, c.need)
		}
		s.Blocks--
		if _, err := s.Plan(plenty); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("want at least %d blocks", c.need)) {
			t.Errorf("%s: Plan says %v, want it to ask for %d blocks", c.new, err, c.need)
		}
		s.Exploratory = true
		if _, err := s.Plan(plenty); err != nil {
			t.Errorf("%s: exploratory study: %v", c.new, err)
		}
	}
}

func TestEveryBuiltInStudyCanBePlanned(t *testing.T) {
	for _, n := range Named {
		study, err := n.Spec.Plan(Room{Disk: 60 << 30, Memory: 20 << 30})
		if err != nil {
			t.Error(err)
		}
		if n.Spec.Exploratory {
			t.Errorf("%s concludes nothing", study.Name)
		}
	}
}

func TestPlanJoinsProblemsWithTheirPlaces(t *testing.T) {
	s, err := Parse([]byte(`
blocks: -1
configs: [{name: tuned, set: {populate: sometimes}}, {name: unknown}, {name: fast, base: tuned, set: {flushIntervalMs: soon}}]
scenarios: [{scenario: append, rate: fast}, {scenario: apend}]
`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Plan(plenty)
	for _, want := range []string{
		"blocks is -1", `configs[1]: configuration "unknown" does not exist`, `configs[2]: option flushIntervalMs: got "soon"`,
		"scenarios[0]: rate:", `scenarios[1]: scenario "apend" does not exist; did you mean "append"?`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Plan says %v\nwant it to contain %q", err, want)
		}
	}
	s.Blocks, s.Configs, s.Scenarios = 10, s.Configs[:1], []ScenarioSpec{{Scenario: "append"}}
	if _, err := s.Plan(plenty); err == nil || !strings.Contains(err.Error(), "scenarios[0]: configuration tuned: ") || !strings.Contains(err.Error(), "populate: got sometimes") {
		t.Errorf("Plan says %v; want it to name scenario, configuration and option", err)
	}
	if _, err := (Spec{}).Plan(plenty); err == nil || !strings.Contains(err.Error(), "configs: want at least one") || !strings.Contains(err.Error(), "scenarios: want at least one") {
		t.Errorf("Plan of nothing says %v", err)
	}
}

// Goal: the study that runs without arguments can tell its configurations apart,
// has enough operations for the percentile that it is read for, and keeps to its
// time on a machine like those it was seen on.
func TestPlanOfQuickFitsItsPromise(t *testing.T) {
	spec, ok := FindNamed("quick")
	if !ok {
		t.Fatal("there is no study quick")
	}
	study, err := spec.Plan(Room{Disk: 20 << 30, Memory: 4 << 30})
	if err != nil {
		t.Fatal(err)
	}
	wantEnoughBlocks(t, study)
	pacer, err := pace.Parse(spec.Scenarios[0].Rate)
	if err != nil {
		t.Fatal(err)
	}
	const beyond = 10.0 / (1 - 0.9999) // operations of which ten lie beyond p99.99
	if n := pace.Count(pacer, time.Duration(spec.Duration)); float64(n) < beyond {
		t.Errorf("a run has %d operations, want %.0f or more", n, beyond)
	}
	var whole time.Duration
	for _, slot := range study.Order {
		r, err := slotRun(&study, slot)
		if err != nil {
			t.Fatal(err)
		}
		if file := r.Spec.Options.CommitLogFileBytes; r.Spec.MaxBytes > file {
			t.Errorf("%s writes up to %d bytes, more than a file of %d: it would measure a roll", slot.Cell, r.Spec.MaxBytes, file)
		}
		overhead := 900 * time.Millisecond // process, set-up, verification, removal
		if strings.Contains(slot.Cell, "warm") {
			overhead += 1600 * time.Millisecond // its pages are made and locked first
		}
		whole += time.Duration(spec.Duration) + time.Duration(*spec.Warmup) + time.Duration(*spec.Cooldown) + overhead
	}
	if limit := time.Duration(spec.Limit); whole > limit || limit > 90*time.Second {
		t.Errorf("quick takes about %s and stops at %s, want at most 90 s and no block left out", whole, limit)
	}
}

// wantEnoughBlocks fails the test if the study could not show the difference of any
// of the configurations that it compares, however large.
func wantEnoughBlocks(t *testing.T, study result.Study) {
	t.Helper()
	claims := map[string]int{} // by first cell: those that are judged together
	for _, c := range study.Comparisons {
		if c.Kind == result.Claim {
			claims[c.A] += len(study.Primary)
		}
	}
	for first, n := range claims {
		if need := stat.BlocksNeeded(alpha, n); study.Blocks < need {
			t.Errorf("%d blocks for %d claims against %s, want %d or more", study.Blocks, n, first, need)
		}
	}
}

func TestBudget(t *testing.T) {
	s, err := scenario.Find("append")
	if err != nil {
		t.Fatal(err)
	}
	open, err := pace.Parse("100000")
	if err != nil {
		t.Fatal(err)
	}
	w := workload.Spec{}
	const GiB = int64(1) << 30
	record, err := scenario.RecordBytes(w)
	if err != nil {
		t.Fatal(err)
	}
	needs := int64(1_000_000 * record)
	got, err := Budget(s, w, open, 10*time.Second, Room{Disk: 100 * GiB, Memory: GiB})
	if err != nil || got < needs || got > needs*11/10 {
		t.Errorf("open loop: budget is %d, %v; want %d and a little more", got, err, needs)
	}
	if _, err := Budget(s, w, open, 10*time.Second, Room{Disk: 2 * needs}); err == nil || !strings.Contains(err.Error(), "more than half") {
		t.Errorf("open loop on a small disk: %v, want an error", err)
	}
	for _, c := range []struct {
		name string
		room Room
		want int64
	}{
		{"plenty", plenty, s.MaxBytes},
		{"small disk", Room{Disk: 2 * GiB, Memory: 100 * GiB}, GiB},
		{"small memory", Room{Disk: 100 * GiB, Memory: 2 * GiB}, GiB / 2},
		{"memory not known", Room{Disk: 2 * GiB}, GiB},
		{"nothing", Room{}, 1},
	} {
		if got, err := Budget(s, w, pace.Closed{}, time.Hour, c.room); err != nil || got != c.want {
			t.Errorf("closed loop, %s: budget is %d, %v; want %d", c.name, got, err, c.want)
		}
	}
}

// Goal: what a study was planned from survives in study.json, so that another
// process runs the same.
func TestSlotRunIsWhatWasPlanned(t *testing.T) {
	study := plan(t, twoByTwo)
	b, err := json.Marshal(study)
	if err != nil {
		t.Fatal(err)
	}
	var read result.Study
	if err := json.Unmarshal(b, &read); err != nil {
		t.Fatal(err)
	}
	r, err := slotRun(&read, result.Slot{Block: 3, Position: 2, Cell: "append.tuned"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Scenario.Name != "append" || r.Config != "tuned" || r.Pacer.String() != "1000" || r.Duration != time.Second ||
		r.Warmup != time.Second || r.Block != 3 || r.Position != 2 || r.Seed != 8 || r.Spec.Workload.Seed != 5 || r.Spec.MaxBytes <= 0 {
		t.Errorf("run of a slot is %+v", r)
	}
	other, err := slotRun(&read, result.Slot{Block: 3, Position: 1, Cell: "append.rocketmq"})
	if err != nil {
		t.Fatal(err)
	}
	if other.Seed != r.Seed || reflect.DeepEqual(other.Spec.Options, r.Spec.Options) {
		t.Error("cells of one block must share the seed and differ in options")
	}
	if _, err := slotRun(&read, result.Slot{Block: 1, Cell: "append.nothing"}); err == nil {
		t.Error("a slot of an unknown cell is run")
	}
	read.Cells[1].Options = json.RawMessage(`{"optionOfTheFuture": 1}`)
	if _, err := slotRun(&read, result.Slot{Block: 1, Cell: "append.tuned"}); err == nil || !strings.Contains(err.Error(), "optionOfTheFuture") {
		t.Errorf("unknown option in study.json: %v, want an error that names it", err)
	}
}

// An operation of a second that begins in the warm-up would take the window and
// count nowhere.
func TestSlowScenariosHaveNoWarmUp(t *testing.T) {
	steady, err := pace.NewConstant(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scenario.All {
		want, wantSteady := 100*time.Millisecond, time.Second
		if s.Slow {
			want, wantSteady = 0, 0
		}
		if got := DefaultWarmup(s, pace.Closed{}); got != want {
			t.Errorf("%s in a closed loop: %v, want %v", s.Name, got, want)
		}
		if got := DefaultWarmup(s, steady); got != wantSteady {
			t.Errorf("%s at a steady rate: %v, want %v", s.Name, got, wantSteady)
		}
	}
}
