package peer

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"commitlab/bench/measure"
	"commitlab/bench/workload"
)

// Schema is the version of the files that are exchanged with a peer.
const Schema = "commitlab.peer/1"

// Names of the files in the directory of a run.
const (
	planFile     = "plan.json"
	latencyFile  = "latency.hlog"
	ticksFile    = "ticks.jsonl"
	outliersFile = "outliers.jsonl"
	outcomeFile  = "outcome.json"
)

// Job is one run of a peer.
type Job struct {
	Options  Options // resolved for the scenario
	Scenario string
	Workload workload.Spec // resolved
	MaxBytes int64         // byte budget of the run
	// Plan is what bench/measure would be given: its Wait, Window, Wall, WarmupOps
	// and MaxErrors have no meaning here.
	Plan measure.Plan
	// Dir is a directory for the run alone, or none yet. The store and the files
	// of the exchange are left there.
	Dir string
}

// plan is plan.json.
type plan struct {
	Schema   string   `json:"schema"`
	Scenario string   `json:"scenario"`
	Ops      []string `json:"ops"` // the primary one first
	Workers  int      `json:"workers"`

	RatePerSecond float64 `json:"ratePerSecond"` // 0 for a closed loop
	WarmupNs      int64   `json:"warmupNs"`
	DurationNs    int64   `json:"durationNs"`
	DrainNs       int64   `json:"drainNs"`
	TickNs        int64   `json:"tickNs"`
	OutlierOverNs int64   `json:"outlierOverNs"` // 0 for no outliers
	OutlierLimit  int     `json:"outlierLimit"`  // per worker and tick
	Seed          uint64  `json:"seed"`          // of the workers' random sources

	Workload workload.Spec `json:"workload"`
	MaxBytes int64         `json:"maxBytes"`

	Flush    string            `json:"flush"`
	Dispatch string            `json:"dispatch"`
	Store    map[string]string `json:"store"`
}

func (j Job) plan(p measure.Plan) (plan, error) {
	rate, ok := ratePerSecond(p.Pacer)
	if !ok {
		return plan{}, fmt.Errorf("peer: rate %s is no constant rate and no closed loop", p.Pacer)
	}
	if p.Beside != nil || len(p.Bystanders) > 0 {
		return plan{}, errors.New("peer: nothing can go on beside a load in another process, and bystanders cannot be sorted there")
	}
	return plan{
		Schema: Schema, Scenario: j.Scenario, Ops: append([]string{p.Primary}, p.Ops...), Workers: p.Workers,
		RatePerSecond: rate, WarmupNs: int64(p.Warmup), DurationNs: int64(p.Duration), DrainNs: int64(p.Drain), TickNs: int64(p.Tick),
		OutlierOverNs: int64(p.OutlierOver), OutlierLimit: p.OutlierLimit, Seed: p.Seed,
		Workload: j.Workload, MaxBytes: j.MaxBytes,
		Flush: j.Options.Flush, Dispatch: j.Options.Dispatch, Store: j.Options.Store,
	}, nil
}

// write makes the directory of the run with the plan in it.
func (p plan) write(dir string) error {
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("peer: plan: %w", err)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("peer: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, planFile), append(b, '\n'), 0o666)
}
