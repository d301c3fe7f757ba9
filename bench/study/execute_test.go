package study

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"commitlab/bench/measure"
	"commitlab/bench/pace"
	"commitlab/bench/profile"
	"commitlab/bench/result"
	"commitlab/bench/scenario"
	"commitlab/engine"
)

// smallRun is a run that takes a moment on any machine.
func smallRun(t *testing.T, rate string, duration time.Duration) Run {
	t.Helper()
	s, err := scenario.Find("append")
	if err != nil {
		t.Fatal(err)
	}
	pacer, err := pace.Parse(rate)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := s.Resolve(scenario.Spec{
		Dir:      filepath.Join(t.TempDir(), "store"),
		MaxBytes: 8 << 20,
		Options:  engine.Options{CommitLogFileBytes: 1 << 20, MaxBodyBytes: 8 << 10},
	})
	if err != nil {
		t.Fatal(err)
	}
	return Run{Scenario: s, Spec: spec, Config: "tuned", Pacer: pacer, Duration: duration, Seed: 1}
}

// execute runs r into a fresh directory and reads back what it left.
func execute(t *testing.T, ctx context.Context, r Run) (*result.Run, result.Summary) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "run")
	end, err := r.Execute(ctx, func(m result.Manifest) (*result.Writer, error) { return result.CreateRun(out, m) })
	if err != nil {
		t.Fatal(err)
	}
	run, err := result.OpenRun(out)
	if err != nil {
		t.Fatal(err)
	}
	if run.Manifest.Status() != end.Status {
		t.Errorf("Execute says %s, the manifest %s", end.Status, run.Manifest.Status())
	}
	s, err := run.Summary()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(r.Spec.Dir); err == nil {
		t.Error("the store was not removed")
	}
	return run, s
}

func TestExecuteWritesWhatWasMeasured(t *testing.T) {
	run, s := execute(t, t.Context(), smallRun(t, "2000", 300*time.Millisecond))
	if s.Status != result.OK && s.Status != result.Invalid { // a busy machine is told so
		t.Fatalf("run is %s: %s", s.Status, s.Reason)
	}
	op := s.Ops["append"]
	if s.Due != 600 || s.Done != 600 || op.Count != 600 || op.Response.Count != 600 || op.Slip.Count != 600 {
		t.Errorf("due %d, done %d, counted %d, with response %d, with slip %d; want 600 of each",
			s.Due, s.Done, op.Count, op.Response.Count, op.Slip.Count)
	}
	m := run.Manifest
	if m.Durability == "" || len(m.Options) == 0 || len(m.Spec) == 0 || m.Pace != "2000" || m.Workers != 1 || m.End.Counters == nil {
		t.Errorf("manifest lacks a condition: %+v", m)
	}
}

func TestExecuteInAClosedLoopHasNoResponseTime(t *testing.T) {
	_, s := execute(t, t.Context(), smallRun(t, "max", 10*time.Second))
	if s.Status != result.OK || !strings.Contains(s.Reason, "byte budget used") {
		t.Errorf("run is %s: %q, want ok with the budget used", s.Status, s.Reason)
	}
	if !s.Closed || s.OfferedPerSecond != nil || s.Ops["append"].Response.P50 != nil || s.Ops["append"].Service.P50 == nil {
		t.Errorf("closed loop shows %+v; want service time only", s)
	}
}

// B-141: interrupting a run lost all results. What was measured until then
// must be kept and marked, and the store closed.
func TestB141_InterruptKeepsWhatWasMeasured(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := smallRun(t, "1000", time.Minute)
	r.Observe = func(tick measure.Tick) {
		if tick.To > 300*time.Millisecond {
			cancel()
		}
	}
	run, s := execute(t, ctx, r)
	if s.Status != result.Interrupted || s.Reason == "" {
		t.Errorf("run is %s: %q, want interrupted with a reason", s.Status, s.Reason)
	}
	if s.Done < 100 || s.Ops["append"].Count != int64(s.Done) || s.Due >= 60_000 {
		t.Errorf("%d of %d operations were kept and %d counted; want those of the time before the interrupt", s.Done, s.Due, s.Ops["append"].Count)
	}
	if run.Manifest.End == nil || run.Manifest.End.WindowNs >= time.Minute.Nanoseconds() {
		t.Error("the manifest's window is not that which was measured")
	}
}

func TestInterruptWhileSettingUpIsNoFailure(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := smallRun(t, "1000", time.Minute)
	s, err := scenario.Find("baseline_mmap")
	if err != nil {
		t.Fatal(err)
	}
	r.Scenario = s
	if _, summary := execute(t, ctx, r); summary.Status != result.Interrupted {
		t.Errorf("run is %s: %s, want interrupted", summary.Status, summary.Reason)
	}
}

// A store that cannot be opened is a failed run with a reason, not a missing
// one: a study must show it.
func TestExecuteKeepsAFailure(t *testing.T) {
	r := smallRun(t, "1000", time.Second)
	r.Spec.Workload.Topics = 1
	r.Spec.Options.MaxBodyBytes = 100 // the bodies have 1024
	_, s := execute(t, t.Context(), r)
	if s.Status != result.Failed || !strings.Contains(s.Reason, "1024") {
		t.Errorf("run is %s: %q, want failed for bodies of 1024 bytes", s.Status, s.Reason)
	}
}

// B-100: results of two machines with different huge-page settings were taken
// for a difference in the code. The setting is part of every run.
func TestB100_HugePageSettingIsRecorded(t *testing.T) {
	b, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil {
		t.Skipf("this kernel does not tell its huge-page setting: %v", err)
	}
	_, after, _ := strings.Cut(string(b), "[")
	want, _, _ := strings.Cut(after, "]")
	run, _ := execute(t, t.Context(), smallRun(t, "1000", 100*time.Millisecond))
	if got := run.Manifest.Host.THP; got != want {
		t.Errorf("the run says huge pages are %q, the kernel %q", got, want)
	}
}

// B-104: the tool fell short of the rate and the run looked fine. All
// operations that were due must be accounted for, and a shortfall be a warning
// even where the target is to blame.
func TestB104_EverythingDueIsAccountedFor(t *testing.T) {
	o := measure.Outcome{
		Status: measure.OK, Window: 10 * time.Second,
		OfferedPerS: 1000, AchievedPerS: 500,
		Due: 10_000, Done: 5000, Late: 2000, Failed: 3, Unfinished: 7, NeverSent: 2990,
	}
	e, err := Run{}.end(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if e.Due != e.Done+e.Errors+e.NeverSent || e.Late != 2000 {
		t.Errorf("due %d is not done %d + failed %d + never sent %d", e.Due, e.Done, e.Errors, e.NeverSent)
	}
	if len(e.Warnings) != 1 || !strings.Contains(e.Warnings[0], "achieved 50.0 % of the offered rate") || !strings.Contains(e.Warnings[0], "2990 were never sent") {
		t.Errorf("warnings are %q, want one on the shortfall", e.Warnings)
	}
	o.AchievedPerS = 995
	if e, _ := (Run{}).end(o, nil); len(e.Warnings) != 0 {
		t.Errorf("warnings at 99.5 %% are %q, want none", e.Warnings)
	}
}

// B-140: profiling makes latency spikes. A profiled run says so, so that it is
// never compared with one that was not.
func TestB140_ProfiledRunIsMarked(t *testing.T) {
	r := smallRun(t, "1000", 200*time.Millisecond)
	r.Profiles = []profile.Kind{profile.CPU, profile.Wall}
	run, _ := execute(t, t.Context(), r)
	if got := strings.Join(run.Manifest.Profiles, ","); got != "cpu,wall" {
		t.Errorf("the manifest says profiles %q, want cpu,wall", got)
	}
	for _, kind := range []string{"cpu", "wall"} {
		if found, err := filepath.Glob(filepath.Join(run.Dir, "*."+kind+".pprof")); err != nil || len(found) != 1 {
			t.Errorf("%s profiles in the run: %v, %v; want one", kind, found, err)
		}
	}
}

func TestWarningsOfTheStoreAreKeptOnce(t *testing.T) {
	l := &warningLog{}
	for range 3 {
		l.logger().Warn("lock failed", "errno", "ENOMEM")
		l.logger().Info("opened")
	}
	l.logger().With("file", "a").Warn("populate failed")
	got := l.warnings()
	want := []string{`store: msg="lock failed" errno=ENOMEM`, `store: msg="populate failed" file=a`}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("warnings are %q, want %q", got, want)
	}
}

// An operation that is longer than the window has a time and no rate; a rate of 0
// would say that nothing was done.
func TestWindowWithinAnOperationHasNoRate(t *testing.T) {
	r := smallRun(t, "max", time.Second)
	e, err := r.end(measure.Outcome{Status: measure.OK, Closed: true, Window: time.Second, Late: 1}, nil)
	if err != nil || e.AchievedPerSecond != nil || e.Done != 1 || len(e.Warnings) != 1 || !strings.Contains(e.Warnings[0], "no operation ended within the window of 1s") {
		t.Errorf("rate %v, done %d, warnings %q, error %v; want no rate, one done, and a warning", e.AchievedPerSecond, e.Done, e.Warnings, err)
	}
	e, err = r.end(measure.Outcome{Status: measure.OK, Closed: true, Window: time.Second, Done: 2, AchievedPerS: 2, Late: 1}, nil)
	if err != nil || e.AchievedPerSecond == nil || *e.AchievedPerSecond != 2 || len(e.Warnings) != 0 {
		t.Errorf("rate %v, warnings %q, error %v; want 2 per second", e.AchievedPerSecond, e.Warnings, err)
	}
}
