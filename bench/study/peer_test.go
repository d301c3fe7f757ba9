package study

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"commitlab/bench/peer"
	"commitlab/bench/peer/peertest"
	"commitlab/bench/result"
)

// beside compares another program with this module's engine.
const beside = `
name: beside
blocks: 2
exploratory: true
warmup: 10ms
duration: 100ms
cooldown: 0s
configs:
  - {name: rocketmq-java}
  - {name: five, base: rocketmq-java, set: {generation: v5, flushIntervalCommitLog: "100"}}
  - {name: small, base: tuned, set: {commitLogFileBytes: 1MiB, maxBodyBytes: 8KiB}}
scenarios: [{scenario: append, rate: 10000}]
`

func TestPlanResolvesTheOptionsOfAPeer(t *testing.T) {
	study := plan(t, beside)
	var five peer.Options
	if err := json.Unmarshal(study.Cells[1].Options, &five); err != nil {
		t.Fatal(err)
	}
	if five.Peer != peer.RocketMQ || five.Generation != "v5" || five.Flush != "async" || five.Dispatch != "off" || five.Store["flushIntervalCommitLog"] != "100" {
		t.Errorf("options of the cell are %+v", five)
	}
	r, err := slotRun(&study, result.Slot{Block: 1, Position: 1, Cell: "append.five"})
	if err != nil || r.Peer == nil || r.Peer.Generation != "v5" {
		t.Errorf("run of the slot: peer %+v, error %v", r.Peer, err)
	}
	if r, err = slotRun(&study, result.Slot{Block: 1, Position: 1, Cell: "append.small"}); err != nil || r.Peer != nil {
		t.Errorf("run of this module's engine: peer %+v, error %v", r.Peer, err)
	}
	if all := Peers(&study); len(all) != 2 || all[0].Generation != "v4" || all[1].Generation != "v5" {
		t.Errorf("peers of the study: %+v, want one of each generation", all)
	}
}

func TestPlanRefusesWhatAPeerCannotDo(t *testing.T) {
	for text, want := range map[string]string{
		"{scenario: append, rate: poisson:5k}": "peer rocketmq keeps a constant rate or a closed loop only",
		"{scenario: lookup_cold}":              "peer rocketmq does only append",
	} {
		s, err := Parse([]byte(strings.Replace(beside, "{scenario: append, rate: 10000}", text, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = s.Plan(plenty); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error that says %q", text, err, want)
		}
	}
}

// Goal: the run of a peer leaves the same files as any other, with what the peer
// is. Method: a study whose cells run in processes of their own, with a fake for
// the program.
func TestPeerRunsBesideTheEngine(t *testing.T) {
	peertest.Use(t, peertest.Measures)
	dir := create(t, beside)
	store := t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := Runner{Launch: (&Process{Program: program, Store: store}).Launch}
	if tally, err := r.Run(t.Context(), dir); err != nil || tally.Failed+tally.Unavailable > 0 {
		t.Fatalf("tally %+v, error %v", tally, err)
	}
	run, err := result.OpenRun(dir.RunPath("append.rocketmq-java", 2))
	if err != nil {
		t.Fatal(err)
	}
	m := run.Manifest
	if m.Status() != result.OK || m.End.Target["store"] != "fake" || m.End.Due != 1000 || m.End.Done != 1000 || m.End.Counters == nil || m.End.Steadiness == "" {
		t.Errorf("end is %+v", m.End)
	}
	if !peer.Has(m.Options) || !strings.HasPrefix(m.Durability, "async flush") || m.Scenario != "append" || m.Block != 2 {
		t.Errorf("manifest is %+v", m)
	}
	merged, err := run.Merge()
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{"append.service", "append.response", "append.slip", "append.lag", "hiccup"} {
		if d := merged.Tags[tag]; d == nil || d.Count() != 1000 {
			t.Errorf("%s holds %v, want 1000 values", tag, d)
		}
	}
	if d := merged.Tags["append.service"]; d.Extremes.MaxNs != 1001 {
		t.Errorf("exact maximum is %d, want 1001", d.Extremes.MaxNs)
	}
	outliers := 0
	for _, err := range run.Outliers() {
		if err != nil {
			t.Fatal(err)
		}
		outliers++
	}
	if outliers == 0 {
		t.Error("the outliers of the peer are lost")
	}
	if left, err := filepath.Glob(filepath.Join(store, "*")); err != nil || len(left) > 0 {
		t.Errorf("left in the store's directory: %v, %v", left, err)
	}
}

// What a machine lacks is no failure of what is measured, and is measured once it
// is there.
func TestUnavailablePeerIsRunWhenItIsThere(t *testing.T) {
	dir := create(t, beside)
	here := Runner{Launch: func(ctx context.Context, dir *result.Dir, slot result.Slot) error {
		return RunSlot(ctx, dir, slot, filepath.Join(dir.Path, "store"))
	}}
	peertest.Use(t, peertest.Missing)
	tally, err := here.Run(t.Context(), dir)
	if err != nil || tally.Unavailable != 6 || tally.Failed != 0 || tally.OK+tally.Invalid != 2 {
		t.Fatalf("without Java: tally %+v, error %v; want 6 of 8 runs unavailable", tally, err)
	}
	if !strings.Contains(strings.Join(tally.Reasons, "\n"), "append.five, block 1: unavailable: peer unavailable: fake: no java on the PATH") {
		t.Errorf("reasons are %q", tally.Reasons)
	}
	peertest.Use(t, peertest.Measures)
	tally, err = here.Run(t.Context(), dir)
	if err != nil || tally.Unavailable != 0 || tally.OK+tally.Invalid != 8 || tally.Resumed != 2 {
		t.Errorf("with Java: tally %+v, error %v; want the six that were missing, and two that stand", tally, err)
	}
}

// The built-in study can be planned, runs the real store in every scenario, and
// has blocks enough for its claims.
func TestPlanOfPeer(t *testing.T) {
	spec, ok := FindNamed("peer")
	if !ok {
		t.Fatal("there is no built-in study peer")
	}
	study, err := spec.Plan(Room{Disk: 60 << 30, Memory: 20 << 30})
	if err != nil {
		t.Fatal(err)
	}
	peers, cells := map[string]int{}, map[string]int{}
	for _, c := range study.Cells {
		cells[c.Scenario+" "+c.Pace]++
		if peer.Has(c.Options) {
			peers[c.Scenario+" "+c.Pace]++
		}
	}
	if len(cells) != 8+3 {
		t.Errorf("loads are %v, want 8 and 3 baselines", cells)
	}
	for load, n := range cells {
		if strings.HasPrefix(load, "baseline_") {
			if n != 1 {
				t.Errorf("%s: %d cells, want 1", load, n)
			}
			continue
		}
		if peers[load] < 2 || n-peers[load] < 2 {
			t.Errorf("%s: %d of %d cells are the peer's, want it twice for the noise floor, and two of the engine", load, peers[load], n)
		}
	}
	if len(study.Ratios) != 5+3 {
		t.Errorf("%d ratios, want five targets and three limits", len(study.Ratios))
	}
	if got, want := len(study.Order), (39+2+3)*8; got != want {
		t.Errorf("%d runs, want %d", got, want)
	}
}
