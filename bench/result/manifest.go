package result

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"commitlab/bench/host"
)

// Schema is the version of a run's files. It changes when a reader of the old
// version would misread the new.
const Schema = "commitlab.result/1"

// Names of the files of a run.
const (
	ManifestFile = "manifest.json"
	LatencyFile  = "latency.hlog"
	CountersFile = "counters.jsonl"
	OutliersFile = "outliers.jsonl"
)

// Status says how a run ended.
type Status string

// The statuses of a run.
const (
	OK          Status = "ok"
	Interrupted Status = "interrupted" // by a signal, or no end was ever written
	Failed      Status = "failed"      // an operation, the set-up or the verification failed
	Invalid     Status = "invalid"     // measured, but the figures do not show what they should (generator too slow, …)
	Unavailable Status = "unavailable" // not measured: what the configuration needs is not on this machine
)

// Manifest describes one run: everything needed to understand the figures and
// to repeat them. It is written when the run begins, without End, and replaced
// atomically when it ends.
type Manifest struct {
	Schema string `json:"schema"`

	// Where the run belongs. Block counts from 1; Position is the place in the
	// order of its block, from 1, or 0 outside of a study.
	Study    string `json:"study"`
	Cell     string `json:"cell"`
	Block    int    `json:"block"`
	Position int    `json:"position,omitempty"`

	// What was run.
	Scenario string          `json:"scenario"`
	Config   string          `json:"config"`
	Primary  string          `json:"primary"`           // the operation that the run is about
	Spec     json.RawMessage `json:"spec,omitempty"`    // scenario parameters as run
	Options  json.RawMessage `json:"options,omitempty"` // resolved engine options
	Pace     string          `json:"pace"`              // as given: "max", "200000", "ramp:1k-100k/10s"
	Closed   bool            `json:"closed"`            // closed loop: no due times, no response time
	Workers  int             `json:"workers"`
	Seed     uint64          `json:"seed"`
	// Durability says what a crash would lose: "async flush, up to 500 ms".
	Durability string `json:"durability,omitempty"`
	// Profiles names the profiles taken in this run. A profiled run is never
	// compared with one that is not.
	Profiles []string `json:"profiles,omitempty"`
	// Pressure is what was asked for beside the load, as given:
	// "held-readers=8,page-writer=200MB/s".
	Pressure string `json:"pressure,omitempty"`
	// Command repeats the run.
	Command []string `json:"command,omitempty"`

	WarmupNs   int64 `json:"warmup_ns,omitempty"`
	DurationNs int64 `json:"duration_ns,omitempty"` // asked for
	TickNs     int64 `json:"tick_ns,omitempty"`

	Host  host.Facts `json:"host"`
	Start time.Time  `json:"start"` // wall clock, RFC 3339 with zone

	// End is nil until the run has ended. A run whose manifest has none was
	// interrupted; its other files hold what was measured until then.
	End *End `json:"end,omitempty"`
}

// End is what is known only afterwards.
type End struct {
	Time   time.Time `json:"time"` // wall clock
	Status Status    `json:"status"`
	Reason string    `json:"reason,omitempty"` // why the status is not ok

	WindowNs          int64    `json:"window_ns"`     // measured window, monotonic clock
	OfferedPerSecond  *float64 `json:"offered_per_s"` // null in closed loop
	AchievedPerSecond *float64 `json:"achieved_per_s"`

	// What was due in the window: Due = Done + NeverSent + Errors. Late counts
	// those of Done that ended after the window, in the drain; NeverSent also
	// those that had begun and not ended when the drain was over. In closed loop
	// only Done and Errors are known.
	Due       uint64 `json:"due"`
	Done      uint64 `json:"done"`
	Late      uint64 `json:"late"`
	NeverSent uint64 `json:"never_sent"`
	Errors    uint64 `json:"errors"`

	Steadiness string `json:"steadiness,omitempty"` // label, for example "steady" or "drifting: p99 +12 %/min"
	// Extremes holds exact maxima and over-range counts per tag. Writer fills it
	// from the ticks.
	Extremes map[string]Extremes `json:"extremes,omitempty"`
	// Disturbed tells what bystanders were sorted by; nil without any.
	Disturbed *Disturbed `json:"disturbed,omitempty"`
	// Pressure tells what was really done of Manifest.Pressure.
	Pressure []Pressure `json:"pressure,omitempty"`
	// Target says what was measured where that is not this program: the peer's
	// store and version, its runtime and the flags of that.
	Target map[string]string `json:"target,omitempty"`
	// Counters is the instance's last snapshot.
	Counters json.RawMessage `json:"counters,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
}

// Status returns how the run ended; a manifest without an end is of an
// interrupted run.
func (m *Manifest) Status() Status {
	if m.End == nil {
		return Interrupted
	}
	return m.End.Status
}

// Reason says why the status is not ok; "" if it is.
func (m *Manifest) Reason() string {
	if m.End == nil {
		return "the run has no end: its process was killed or is still at work"
	}
	return m.End.Reason
}

// ReadManifest reads the manifest of the run in dir. A manifest of another
// schema is an error.
func ReadManifest(dir string) (Manifest, error) {
	path := filepath.Join(dir, ManifestFile)
	var m Manifest
	if err := readJSON(path, &m); err != nil {
		return Manifest{}, err
	}
	if m.Schema != Schema {
		return Manifest{}, fmt.Errorf("read %s: schema is %q, want %q", path, m.Schema, Schema)
	}
	return m, nil
}
