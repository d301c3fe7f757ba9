package peer_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"commitlab/bench/measure"
	"commitlab/bench/pace"
	"commitlab/bench/peer"
	"commitlab/bench/peer/peertest"
	"commitlab/bench/workload"
)

func TestMain(m *testing.M) {
	peertest.Main()
	os.Exit(m.Run())
}

// collector is a measure.Sink that keeps everything, in order.
type collector struct {
	ticks    []measure.Tick
	outliers []measure.Outlier
	order    string // t for a tick, o for an outlier
}

func (c *collector) Tick(t measure.Tick) error {
	c.ticks, c.order = append(c.ticks, t), c.order+"t"
	return nil
}

func (c *collector) Outlier(o measure.Outlier) error {
	c.outliers, c.order = append(c.outliers, o), c.order+"o"
	return nil
}

// job is a run of half a second, appended to at the rate; "max" is a closed loop.
func job(t *testing.T, rate string) peer.Job {
	t.Helper()
	pacer, err := pace.Parse(rate)
	if err != nil {
		t.Fatal(err)
	}
	options, err := peer.Configs[0].Options.Resolve("append", pacer)
	if err != nil {
		t.Fatal(err)
	}
	data, err := workload.New(workload.Spec{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return peer.Job{
		Options: options, Scenario: "append", Workload: data.Spec(), MaxBytes: 64 << 20, Dir: filepath.Join(t.TempDir(), "run"),
		Plan: measure.Plan{
			Primary: "append", Pacer: pacer, Warmup: 100 * time.Millisecond, Duration: 500 * time.Millisecond,
			Tick: 100 * time.Millisecond, OutlierOver: time.Millisecond,
		},
	}
}

func TestRunIsWhatThePeerMeasured(t *testing.T) {
	peertest.Use(t, peertest.Measures)
	sink := &collector{}
	o, facts, err := peer.Run(t.Context(), job(t, "2000"), sink)
	if err != nil || o.Status != measure.OK {
		t.Fatalf("status %s: %s, error %v", o.Status, o.Reason, err)
	}
	if o.Due != 1000 || o.Done != 1000 || o.OfferedPerS != 2000 || o.AchievedPerS != 2000 {
		t.Errorf("due %d, done %d, offered %v/s, achieved %v/s: want 1000 and 2000/s", o.Due, o.Done, o.OfferedPerS, o.AchievedPerS)
	}
	op := o.Ops[0]
	for kind, d := range map[string]*measure.Dist{"service": op.Service, "response": op.Response, "slip": op.Slip, "lag": op.Lag, "hiccup": o.Hiccup} {
		if d.Count() != 1000 {
			t.Errorf("%s holds %d values, want 1000", kind, d.Count())
		}
	}
	if op.Service.Max != 1001 || op.Lag.Max != 1004 {
		t.Errorf("exact maxima are %d and %d, want 1001 and 1004", op.Service.Max, op.Lag.Max)
	}
	if facts["store"] != "fake" || !strings.Contains(facts["flags"], "-Xmx2g") {
		t.Errorf("facts are %v", facts)
	}
	if sink.order != strings.Repeat("ot", 5) {
		t.Errorf("the sink saw %q, want each tick behind its outliers", sink.order)
	}
	first := sink.ticks[0]
	if first.From != 0 || first.To != 100*time.Millisecond || first.End.Sub(first.Start) != first.To || first.Counters == nil {
		t.Errorf("first tick spans %v to %v, dates %v to %v, counters %v", first.From, first.To, first.Start, first.End, first.Counters)
	}
	if got := sink.outliers[0]; got.End-got.Start != time.Millisecond || got.Notes[0] != (measure.Note{Name: "offset", Value: 4096}) {
		t.Errorf("first outlier is %+v", got)
	}
}

func TestClosedLoopHasNoDueTimes(t *testing.T) {
	peertest.Use(t, peertest.Measures)
	o, _, err := peer.Run(t.Context(), job(t, "max"), &collector{})
	if err != nil || !o.Closed || o.Ops[0].Response != nil || o.OfferedPerS != 0 || o.AchievedPerS != 10_000 {
		t.Errorf("closed %v, response %v, offered %v/s, achieved %v/s, error %v", o.Closed, o.Ops[0].Response, o.OfferedPerS, o.AchievedPerS, err)
	}
}

// A peer is believed only as far as what it left agrees with itself and its plan.
func TestRunFindsWhatIsWrong(t *testing.T) {
	for behaviour, want := range map[peertest.Behaviour]string{
		peertest.Crashes:       "fake: a fatal error has been detected",
		peertest.Fails:         "put: the disk is full",
		peertest.Miscounts:     "holds 1000 operations of 1001 that were done",
		peertest.WrongTag:      `no such operation, only ["append"]`,
		peertest.WrongRange:    "histogram of 1 to 1000000",
		peertest.MissingLines:  `tag is "hiccup", want "append.lag"`,
		peertest.SpareLines:    `"hiccup" belongs to no tick`,
		peertest.OtherSchema:   `schema is "commitlab.peer/0", want "commitlab.peer/1"`,
		peertest.NothingIsLeft: "outcome.json",
	} {
		t.Run(string(behaviour), func(t *testing.T) {
			peertest.Use(t, behaviour)
			o, _, err := peer.Run(t.Context(), job(t, "2000"), &collector{})
			if err == nil || !strings.Contains(err.Error(), want) || o.Status != measure.Failed || !strings.Contains(o.Reason, want) {
				t.Errorf("status %s: %q, error %v; want failed: %q", o.Status, o.Reason, err, want)
			}
			if errors.Is(err, peer.ErrUnavailable) {
				t.Errorf("%v: says that it could not run", err)
			}
		})
	}
}

func TestMissingRuntimeIsNoFailureOfTheStore(t *testing.T) {
	peertest.Use(t, peertest.Missing)
	j := job(t, "2000")
	_, _, err := peer.Run(t.Context(), j, &collector{})
	_, askErr := j.Options.Ask(t.Context())
	_, checkErr := j.Options.Check(t.Context())
	t.Setenv(peer.ProgramVariable, filepath.Join(t.TempDir(), "nothing"))
	_, _, goneErr := peer.Run(t.Context(), j, &collector{})
	for what, err := range map[string]error{"run": err, "ask": askErr, "check": checkErr} {
		if !errors.Is(err, peer.ErrUnavailable) || !strings.Contains(err.Error(), "no java on the PATH") {
			t.Errorf("%s: %v; want that it is unavailable, and why", what, err)
		}
	}
	if !errors.Is(goneErr, peer.ErrUnavailable) || !strings.Contains(goneErr.Error(), peer.ProgramVariable) {
		t.Errorf("without a program: %v", goneErr)
	}
}

func TestInterruptedPeerKeepsWhatItMeasured(t *testing.T) {
	peertest.Use(t, peertest.Waits)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	o, _, err := peer.Run(ctx, job(t, "2000"), &collector{})
	if o.Status == measure.Failed && errors.Is(err, context.Canceled) {
		t.Skip("the machine took longer than 50 ms to begin a process")
	}
	if err != nil || o.Status != measure.Interrupted || o.Done != 500 {
		t.Errorf("status %s, done %d, error %v: want interrupted with 500 done", o.Status, o.Done, err)
	}
}

func TestResolveFillsInWhatAScenarioNeeds(t *testing.T) {
	closed := pace.Closed{}
	steady, err := pace.NewConstant(1000)
	if err != nil {
		t.Fatal(err)
	}
	java := peer.Configs[0]
	synced, err := java.With("flush=sync", "dispatch=off")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		options         peer.Options
		scenario        string
		pacer           pace.Pacer
		flush, dispatch string
		problems        []string
	}{
		{java.Options, "append", steady, "async", "off", nil},
		{java.Options, "append_sync", closed, "sync", "off", nil},
		{java.Options, "dispatch", closed, "async", "on", nil},
		{java.Options, "lookup", nil, "async", "on", nil},
		{synced, "append", closed, "", "", []string{"option flush: got sync, want async"}},
		{synced, "lookup", pace.Pacer(mustParse(t, "poisson:5k")), "", "", []string{"constant rate or a closed loop", "option dispatch: got off, want on"}},
		{java.Options, "baseline_map", closed, "", "", []string{"peer rocketmq does only append, append_sync"}},
	} {
		got, err := c.options.Resolve(c.scenario, c.pacer)
		if len(c.problems) == 0 && (err != nil || got.Flush != c.flush || got.Dispatch != c.dispatch) {
			t.Errorf("%s: flush %q, dispatch %q, error %v; want %q and %q", c.scenario, got.Flush, got.Dispatch, err, c.flush, c.dispatch)
		}
		for _, problem := range c.problems {
			if err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("%s: error %v, want one that says %q", c.scenario, err, problem)
			}
		}
	}
}

func mustParse(t *testing.T, rate string) pace.Pacer {
	t.Helper()
	p, err := pace.Parse(rate)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSettingsAreTheProgramsOrTheStores(t *testing.T) {
	o, err := peer.Configs[0].With("generation=v5", "jvm=-Xmx1g", "mappedFileSizeCommitLog=64MiB", "flushIntervalCommitLog=100")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"useReentrantLockWhenPutMessage": "true", "mappedFileSizeCommitLog": "67108864", "flushIntervalCommitLog": "100"}
	if o.Generation != "v5" || o.JVM != "-Xmx1g" || !maps.Equal(o.Store, want) {
		t.Errorf("options are %+v", o)
	}
	if len(peer.Configs[0].Options.Store) != 1 {
		t.Errorf("the named configuration has changed: %v", peer.Configs[0].Options.Store)
	}
	_, err = peer.Configs[0].With("generation=v6", "flush", "Flush=sync", "mappedFileSizeCommitLog=64mb", "dispatch=maybe")
	for _, problem := range []string{`generation: got "v6", want v4 or v5`, `"flush": want key=value`, `option "Flush"`, `"64mb" is not a size`, `got "maybe", want on or off`} {
		if err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("error %v does not say %q", err, problem)
		}
	}
}

func TestDurabilityFollowsTheSettings(t *testing.T) {
	for i, want := range []string{"async flush every 500 ms of 4 pages", "async flush every 500 ms", "transient buffers, committed every 200 ms"} {
		o, err := peer.Configs[i].Options.Resolve("append", nil)
		if got := o.Durability("append"); err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", peer.Configs[i].Name, got, want)
		}
	}
	o, _ := peer.Configs[2].Options.Resolve("append_sync", nil)
	if got := o.Durability("append_sync"); !strings.Contains(got, "leaves its transient pool out") {
		t.Errorf("synchronous with a transient pool: %q", got)
	}
	if got := o.Durability("lookup"); got != "nothing is written while it is measured" {
		t.Errorf("lookup: %q", got)
	}
}

func TestConfigsAreNamedOnce(t *testing.T) {
	var names []string
	for _, c := range peer.Configs {
		names = append(names, c.Name)
		if found, ok := peer.FindConfig(c.Name); !ok || found.Doc != c.Doc {
			t.Errorf("%s is not found", c.Name)
		}
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(peer.Configs) {
		t.Errorf("names %q repeat", names)
	}
}
