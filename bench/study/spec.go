package study

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/goccy/go-yaml"

	"commitlab/bench/workload"
)

// Spec is a study file: what is compared, under which load, how often. Every
// field but Configs and Scenarios has a default.
type Spec struct {
	// Name becomes part of the result's directory: letters, digits and ._=+-
	Name string `yaml:"name" json:"name"`
	// Seed decides the order of the cells and, with it, everything random.
	Seed uint64 `yaml:"seed" json:"seed"`
	// Blocks is how often each cell is run. Plan asks for so many that each of the
	// claims that are judged together could be shown. Default 10.
	Blocks int `yaml:"blocks" json:"blocks"`
	// Warmup is measured but not kept. Default 1s, in a closed loop 100ms: it
	// eats into a byte budget there. None where one operation takes seconds.
	Warmup *Duration `yaml:"warmup" json:"warmup,omitempty"`
	// Duration is the measured window of a run. Default 10s.
	Duration Duration `yaml:"duration" json:"duration"`
	// Cooldown is how long the machine rests between two runs, after the old
	// files were removed and everything was written back. Default 500ms.
	Cooldown *Duration `yaml:"cooldown" json:"cooldown,omitempty"`
	// Limit bounds the whole study on a slow machine: no block is begun that
	// would end later. What is then missing can be run by going on with the
	// study. Default: none.
	Limit Duration `yaml:"limit" json:"limit,omitempty"`
	// AA adds the first configuration a second time under another name. The
	// difference between the two is the noise floor. A scenario of which Only names one
	// configuration goes without. Default true.
	AA *bool `yaml:"aa" json:"aa,omitempty"`
	// Exploratory allows fewer blocks than any conclusion needs.
	Exploratory bool `yaml:"exploratory" json:"exploratory,omitempty"`
	// Primary names the metrics that are claims, such as append.service.p99.9.
	// Default: the p99.9 of the first scenario's primary operation, response
	// time in an open loop, service time in a closed one.
	Primary []string `yaml:"primary" json:"primary,omitempty"`
	// Ratios are figures divided by figures, block by block, that no comparison of
	// configurations shows: of different scenarios, of one run, or of runs of which none
	// counts.
	Ratios []RatioSpec `yaml:"ratios" json:"ratios,omitempty"`
	// Procs is GOMAXPROCS of the process of each run. Default: what the environment
	// says, else what the program takes. A peer has a runtime of its own.
	Procs int `yaml:"procs" json:"procs,omitempty"`

	// Configs are compared with the first one.
	Configs   []ConfigSpec   `yaml:"configs" json:"configs"`
	Scenarios []ScenarioSpec `yaml:"scenarios" json:"scenarios"`
}

// ConfigSpec is a named configuration, or one made from it.
type ConfigSpec struct {
	Name string `yaml:"name" json:"name"`
	// Base is the named configuration to start from; Name if empty.
	Base string `yaml:"base" json:"base,omitempty"`
	// Set puts options over it, by JSON name, with the units of --set.
	Set map[string]string `yaml:"set" json:"set,omitempty"`
}

// ScenarioSpec is a scenario under one load.
type ScenarioSpec struct {
	Scenario string `yaml:"scenario" json:"scenario"`
	// Name tells two entries of the same scenario apart. Default: Scenario.
	Name string `yaml:"name" json:"name,omitempty"`
	// Rate is a schedule as pace.Parse reads it; empty or max is a closed loop.
	Rate    string `yaml:"rate" json:"rate,omitempty"`
	Writers int    `yaml:"writers" json:"writers,omitempty"`
	// Size is a distribution of body sizes as workload.ParseSizes reads it.
	Size           workload.Sizes `yaml:"size" json:"size"`
	Topics         int            `yaml:"topics" json:"topics,omitempty"`
	Queues         int            `yaml:"queues" json:"queues,omitempty"`
	Tags           int            `yaml:"tags" json:"tags,omitempty"`
	Keys           int            `yaml:"keys" json:"keys,omitempty"`
	KeysPerMessage int            `yaml:"keysPerMessage" json:"keysPerMessage,omitempty"`
	UniqueKeys     bool           `yaml:"uniqueKeys" json:"uniqueKeys,omitempty"`
	// Pressure is put on beside the load, such as held-readers=8,page-writer=200MB/s;
	// see package pressure.
	Pressure string `yaml:"pressure" json:"pressure,omitempty"`
	// Set puts options over each configuration, as ConfigSpec.Set does.
	Set map[string]string `yaml:"set" json:"set,omitempty"`
	// Only names those of Configs that run this scenario; the first is what the
	// others are compared with. Default: all.
	Only []string `yaml:"only" json:"only,omitempty"`
	// MaxBytes is the byte budget of a run, such as 8GiB. Default: what the load
	// needs; in a closed loop the scenario's default, less on a small machine.
	MaxBytes Bytes `yaml:"maxBytes" json:"maxBytes,omitempty"`
}

// RatioSpec is a result.Ratio.
type RatioSpec struct {
	Name    string         `yaml:"name" json:"name"`
	Of      CellMetricSpec `yaml:"of" json:"of"`
	To      CellMetricSpec `yaml:"to" json:"to"`
	AtLeast float64        `yaml:"atLeast" json:"atLeast,omitempty"`
	AtMost  float64        `yaml:"atMost" json:"atMost,omitempty"`
	Note    string         `yaml:"note" json:"note,omitempty"` // what the ratio tells; printed below it
}

// CellMetricSpec is a result.CellMetric. A cell is named by the name of its
// scenario, a dot, and the name of its configuration.
type CellMetricSpec struct {
	Cell   string `yaml:"cell" json:"cell"`
	Metric string `yaml:"metric" json:"metric"`
}

// Duration is a time.Duration that is written as text: 500ms, 10s.
type Duration time.Duration

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes what UnmarshalText reads.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a non-negative Go duration.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil || parsed < 0 {
		return fmt.Errorf("%q is not a duration such as 500ms or 10s", text)
	}
	*d = Duration(parsed)
	return nil
}

// Bytes is a number of bytes that may be written with a unit: 8GiB.
type Bytes int64

// MarshalText writes plain bytes.
func (b Bytes) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, int64(b), 10), nil }

// UnmarshalText reads what workload.ParseBytes reads.
func (b *Bytes) UnmarshalText(text []byte) error {
	n, err := workload.ParseBytes(string(text))
	if err == nil {
		*b = Bytes(n)
	}
	return err
}

// Load reads a study file. Unknown fields, wrong types and what comes after
// the document are errors that show the line.
func Load(path string) (Spec, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Spec{}, err
	}
	s, err := Parse(text)
	if err != nil {
		return Spec{}, fmt.Errorf("study file %s: %w", path, err)
	}
	return s, nil
}

// Parse reads the text of a study file.
func Parse(text []byte) (Spec, error) {
	var s Spec
	d := yaml.NewDecoder(bytes.NewReader(text), yaml.DisallowUnknownField())
	if err := d.Decode(&s); errors.Is(err, io.EOF) {
		return Spec{}, errors.New("is empty")
	} else if err != nil {
		return Spec{}, err
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return Spec{}, errors.New("holds more than one document")
	}
	return s, nil
}

// withDefaults fills in what a study file left out.
func (s Spec) withDefaults() Spec {
	if s.Name == "" {
		s.Name = "study"
	}
	if s.Blocks == 0 {
		s.Blocks = 10
	}
	if s.Duration == 0 {
		s.Duration = Duration(10 * time.Second)
	}
	if s.Cooldown == nil {
		s.Cooldown = pointer(Duration(500 * time.Millisecond))
	}
	if s.AA == nil {
		s.AA = pointer(true)
	}
	return s
}

func pointer[T any](v T) *T { return &v }
