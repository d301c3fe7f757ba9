package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"commitlab/bench/pace"
	"commitlab/bench/peer"
	"commitlab/bench/pressure"
	"commitlab/bench/result"
	"commitlab/bench/scenario"
	"commitlab/bench/workload"
	"commitlab/engine"
)

// Room is what the machine can give to one run, in bytes.
type Room struct {
	Disk   int64 // free space below the store
	Memory int64 // memory that is available without paging out; 0 if not known
}

// maxProcs bounds Spec.Procs.
const maxProcs = 1024

// aaSuffix marks the cell that repeats the first configuration.
const aaSuffix = "+aa"

// Plan resolves a spec: it checks every cell, gives each its byte budget and
// draws the order. All problems are joined, each with the place it is at.
// Command, Start and Host of the study are left to the caller.
func (s Spec) Plan(room Room) (result.Study, error) {
	s = s.withDefaults()
	study := result.Study{Name: s.Name, Seed: s.Seed, Blocks: s.Blocks}
	var errs []error
	if s.Blocks < 1 {
		errs = append(errs, fmt.Errorf("blocks is %d, want 1 or more", s.Blocks))
	}
	if s.Duration <= 0 {
		errs = append(errs, fmt.Errorf("duration is %s, want more than 0", s.Duration))
	}
	if s.Procs < 0 || s.Procs > maxProcs {
		errs = append(errs, fmt.Errorf("procs is %d, want 1 to %d, or 0 for the default", s.Procs, maxProcs))
	}
	configs, err := s.resolveConfigs()
	errs = append(errs, err)
	if len(s.Scenarios) == 0 {
		errs = append(errs, errors.New("scenarios: want at least one"))
	}
	var byScenario [][]result.Cell
	for i, sc := range s.Scenarios {
		cells, err := s.cells(sc, configs, room)
		if err != nil {
			errs = append(errs, fmt.Errorf("scenarios[%d]: %w", i, err))
			continue
		}
		byScenario = append(byScenario, cells)
		study.Cells = append(study.Cells, cells...)
		study.Comparisons = append(study.Comparisons, comparisons(cells)...)
	}
	if errors.Join(errs...) == nil { // else cells are missing
		study.Ratios, err = s.ratios(study.Cells)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return result.Study{}, fmt.Errorf("study %s: %w", s.Name, err)
	}
	if len(s.Primary) == 0 {
		s.Primary = []string{defaultPrimary(s.Scenarios[0])}
	}
	study.Primary = s.Primary
	if err := enoughBlocks(study); err != nil && !s.Exploratory {
		return result.Study{}, fmt.Errorf("study %s: %w", s.Name, err)
	}
	study.Order = s.slots(byScenario)
	if study.Spec, err = json.Marshal(s); err != nil {
		return result.Study{}, err
	}
	return study, study.Validate()
}

// resolvedConfig is a column of the study.
type resolvedConfig struct {
	name    string
	options engine.Options // before the scenario's needs and defaults
	peer    *peer.Options  // instead of them; before the scenario's needs
	twin    bool           // repeats the first one
}

func (s Spec) resolveConfigs() ([]resolvedConfig, error) {
	if len(s.Configs) == 0 {
		return nil, errors.New("configs: want at least one")
	}
	var configs []resolvedConfig
	var errs []error
	for i, c := range s.Configs {
		options, peerOptions, err := c.options()
		if err != nil {
			errs = append(errs, fmt.Errorf("configs[%d]: %w", i, err))
		}
		configs = append(configs, resolvedConfig{name: c.Name, options: options, peer: peerOptions})
	}
	if *s.AA {
		first := configs[0]
		first.twin = true
		configs = append(configs, first)
	}
	return configs, errors.Join(errs...)
}

func (c ConfigSpec) options() (engine.Options, *peer.Options, error) {
	base := c.Base
	if base == "" {
		base = c.Name
	}
	var settings []string
	for key, value := range c.Set {
		settings = append(settings, key+"="+value)
	}
	slices.Sort(settings)
	return FindOptions(base, settings...)
}

// FindOptions returns what a named configuration sets, with settings of the form
// key=value put over it: of this module's engine, or, if the second is not nil,
// of a peer. The error names the configurations that exist.
func FindOptions(config string, settings ...string) (engine.Options, *peer.Options, error) {
	if c, ok := peer.FindConfig(config); ok {
		o, err := c.With(settings...)
		return engine.Options{}, &o, err
	}
	c, err := scenario.FindConfig(config)
	if err != nil {
		return engine.Options{}, nil, err
	}
	o, err := c.With(settings...)
	return o, nil, err
}

// cells makes one cell for each configuration.
func (s Spec) cells(sc ScenarioSpec, configs []resolvedConfig, room Room) ([]result.Cell, error) {
	found, err := scenario.Find(sc.Scenario)
	if err != nil {
		return nil, err
	}
	pacer, err := pace.Parse(sc.Rate)
	if err != nil {
		return nil, fmt.Errorf("rate: %w", err)
	}
	beside, err := pressure.Parse(sc.Pressure)
	if err != nil {
		return nil, err
	}
	if configs, err = sc.only(configs, *s.AA); err != nil {
		return nil, err
	}
	spec := sc.spec(s.Seed)
	if spec.MaxBytes == 0 {
		if spec.MaxBytes, err = Budget(found, spec.Workload, pacer, s.warmup(found, pacer)+time.Duration(s.Duration), room); err != nil {
			return nil, err
		}
	}
	name := sc.Name
	if name == "" {
		name = sc.Scenario
	}
	var cells []result.Cell
	var errs []error
	for _, c := range configs {
		var setErr error
		spec.Options, setErr = sc.over(c)
		resolved, err := found.Resolve(spec)
		err = errors.Join(setErr, err)
		var set any = resolved.Options
		if c.peer != nil && err == nil {
			set, err = c.peer.Resolve(found.Name, pacer)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("configuration %s: %w", c.name, err))
			continue
		}
		cell := result.Cell{
			Name: name + "." + c.name, Label: c.name,
			Scenario: sc.Scenario, Config: c.name, Pace: pacer.String(), Pressure: beside.String(),
		}
		if c.twin {
			cell.Name += aaSuffix
			cell.Label += " (again)"
		}
		var specErr, optionsErr error
		cell.Spec, specErr = json.Marshal(resolved)
		cell.Options, optionsErr = json.Marshal(set)
		errs = append(errs, specErr, optionsErr)
		cells = append(cells, cell)
	}
	return cells, errors.Join(errs...)
}

func (sc ScenarioSpec) spec(seed uint64) scenario.Spec {
	return scenario.Spec{
		Writers:  sc.Writers,
		MaxBytes: int64(sc.MaxBytes),
		Workload: workload.Spec{
			Seed: seed, Body: sc.Size, Topics: sc.Topics, Queues: sc.Queues,
			Tags: sc.Tags, Keys: sc.Keys, KeysPerMessage: sc.KeysPerMessage, UniqueKeys: sc.UniqueKeys,
		},
	}
}

// warmup is the spec's, or the default for that kind of load.
func (s Spec) warmup(of scenario.Scenario, p pace.Pacer) time.Duration {
	if s.Warmup != nil {
		return time.Duration(*s.Warmup)
	}
	return DefaultWarmup(of, p)
}

// DefaultWarmup is the warm-up of a run that does not say: short in a closed
// loop, which uses its byte budget up in a second. A slow operation that began in
// it could take all of the window and count nowhere, so that there is none then.
func DefaultWarmup(of scenario.Scenario, p pace.Pacer) time.Duration {
	switch {
	case of.Slow:
		return 0
	case pace.IsClosed(p):
		return 100 * time.Millisecond
	}
	return time.Second
}

// comparisons sets each cell against the first one of its scenario.
func comparisons(cells []result.Cell) []result.Comparison {
	var out []result.Comparison
	for _, c := range cells[1:] {
		kind := result.Claim
		if strings.HasSuffix(c.Name, aaSuffix) {
			kind = result.AA
		}
		out = append(out, result.Comparison{Kind: kind, A: cells[0].Name, B: c.Name})
	}
	return out
}

func defaultPrimary(sc ScenarioSpec) string {
	kind := result.Response
	if p, err := pace.Parse(sc.Rate); err == nil && pace.IsClosed(p) {
		kind = result.Service
	}
	op := sc.Scenario
	if found, err := scenario.Find(sc.Scenario); err == nil {
		op = found.Primary
	}
	return result.Tag(op, kind) + ".p99.9"
}

// only picks the configurations that run the scenario, in the order in which it
// names them. The first of them is the one that runs twice, if there is another to
// compare it with.
func (sc ScenarioSpec) only(configs []resolvedConfig, twin bool) ([]resolvedConfig, error) {
	if len(sc.Only) == 0 {
		return configs, nil
	}
	var picked []resolvedConfig
	var errs []error
	for _, name := range sc.Only {
		i := slices.IndexFunc(configs, func(c resolvedConfig) bool { return c.name == name })
		if i < 0 {
			errs = append(errs, fmt.Errorf("only: configuration %q is none of the study's", name))
			continue
		}
		picked = append(picked, configs[i])
	}
	if twin && len(errs) == 0 && len(picked) > 1 {
		again := picked[0]
		again.twin = true
		picked = append(picked, again)
	}
	return picked, errors.Join(errs...)
}

// over puts the scenario's options over those of a configuration.
func (sc ScenarioSpec) over(c resolvedConfig) (engine.Options, error) {
	if c.peer != nil && len(sc.Set) > 0 {
		return c.options, errors.New("set: the options of a scenario are this engine's, and the configuration is of a peer")
	}
	options := c.options
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(sc.Set)) {
		errs = append(errs, scenario.Set(&options, key, sc.Set[key]))
	}
	return options, errors.Join(errs...)
}

// slots draws the order: in each block every cell once, the configurations of
// one scenario next to each other, both in balanced order.
func (s Spec) slots(cells [][]result.Cell) []result.Slot {
	scenarios := order(rand.New(rand.NewPCG(s.Seed, 0)), len(s.Scenarios), s.Blocks)
	configs := make([][][]int, len(s.Scenarios))
	for i := range configs {
		configs[i] = order(rand.New(rand.NewPCG(s.Seed, uint64(i)+1)), len(cells[i]), s.Blocks)
	}
	var slots []result.Slot
	for b := range s.Blocks {
		position := 0
		for _, i := range scenarios[b] {
			for _, j := range configs[i][b] {
				position++
				slots = append(slots, result.Slot{Block: b + 1, Position: position, Cell: cells[i][j].Name})
			}
		}
	}
	return slots
}
