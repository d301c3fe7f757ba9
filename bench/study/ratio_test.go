package study

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"commitlab/bench/result"
)

const withRatio = `
name: ratio
blocks: 6
duration: 1s
aa: false
procs: 3
ratios: [{name: roll to append, of: {cell: roll.tuned, metric: append.period}, to: {cell: log.tuned, metric: append.period}, atMost: 1.5, note: a roll is dear}]
configs: [{name: tuned}]
scenarios: [{scenario: append, name: log}, {scenario: roll}]
`

func TestPlanKeepsRatiosAndProcessors(t *testing.T) {
	study := plan(t, withRatio)
	want := result.Ratio{
		Name: "roll to append", AtMost: 1.5, Note: "a roll is dear",
		Of: result.CellMetric{Cell: "roll.tuned", Metric: "append.period"}, To: result.CellMetric{Cell: "log.tuned", Metric: "append.period"},
	}
	if len(study.Ratios) != 1 || study.Ratios[0] != want {
		t.Errorf("ratios are %+v, want %+v", study.Ratios, want)
	}
	r, err := slotRun(&study, result.Slot{Block: 1, Position: 1, Cell: "log.tuned"})
	if err != nil || r.Procs != 3 {
		t.Errorf("run of a slot: %d processors, %v; want 3", r.Procs, err)
	}
}

// Goal: a ratio that no run can have is refused before the study costs its time.
func TestPlanRefusesRatiosOfWhatIsNotMeasured(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"cell: log.tuned", "cell: append.tuned", `ratios[0]: cell "append.tuned" does not exist; want one of [log.tuned roll.tuned]`},
		{"log.tuned, metric: append.period", "log.tuned, metric: roll.service.p50", "scenario append times no roll"},
		{"roll.tuned, metric: append.period", "roll.tuned, metric: roll.period", "the rate of scenario roll is that of append"},
		{"log.tuned, metric: append.period", "log.tuned, metric: append", `metric "append": want one such as`},
		{"procs: 3", "procs: -1", "procs is -1"},
	} {
		s, err := Parse([]byte(strings.Replace(withRatio, c.old, c.new, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Plan(plenty); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Plan says %v, want an error with %q", c.new, err, c.want)
		}
	}
}

// Goal: a run has the processors that its study says, the manifest tells, and what
// comes after it has those from before.
func TestExecuteSetsProcessors(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	r := smallRun(t, "max", 50*time.Millisecond)
	r.Procs = before + 1
	run, _ := execute(t, t.Context(), r)
	if got := run.Manifest.Host.GOMAXPROCS; got != before+1 {
		t.Errorf("the run had %d processors, want %d", got, before+1)
	}
	if got := runtime.GOMAXPROCS(0); got != before {
		t.Errorf("after the run there are %d processors, want %d", got, before)
	}
}
