package study

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"commitlab/bench/pace"
	"commitlab/bench/peer"
	"commitlab/bench/pressure"
	"commitlab/bench/result"
	"commitlab/bench/scenario"
	"commitlab/engine"
)

// RunSlot runs one slot of a study in this process, with its store below root.
// The run's files tell how it ended; the error is of what kept it from being
// written.
func RunSlot(ctx context.Context, dir *result.Dir, slot result.Slot, root string) error {
	r, err := slotRun(dir.Study, slot)
	if err != nil {
		return err
	}
	r.Spec.Dir = StoreDir(root, slot)
	// An earlier attempt that was killed left its store.
	if err := removeStore(r.Spec.Dir); err != nil {
		return err
	}
	_, err = r.Execute(ctx, dir.CreateRun)
	return err
}

// slotRun makes the run of a slot from the study as it was planned.
func slotRun(study *result.Study, slot result.Slot) (Run, error) {
	spec, err := SpecOf(study)
	if err != nil {
		return Run{}, err
	}
	for _, c := range study.Cells {
		if c.Name != slot.Cell {
			continue
		}
		r, err := cellRun(spec, c)
		if err != nil {
			return Run{}, fmt.Errorf("study %s: cell %s: %w", study.Name, c.Name, err)
		}
		r.Cell, r.Block, r.Position = slot.Cell, slot.Block, slot.Position
		// Another seed for each block, the same for all cells of one: they are
		// compared within it.
		r.Seed = study.Seed + uint64(slot.Block)
		r.Command = study.Command
		return r, nil
	}
	return Run{}, fmt.Errorf("study %s has no cell %q", study.Name, slot.Cell)
}

// SpecOf returns the spec that a study was planned from, defaults filled in.
func SpecOf(study *result.Study) (Spec, error) {
	var s Spec
	if err := strict(study.Spec, &s); err != nil {
		return s, fmt.Errorf("study %s: spec: %w", study.Name, err)
	}
	return s.withDefaults(), nil
}

func cellRun(spec Spec, c result.Cell) (Run, error) {
	found, err := scenario.Find(c.Scenario)
	if err != nil {
		return Run{}, err
	}
	pacer, err := pace.Parse(c.Pace)
	if err != nil {
		return Run{}, err
	}
	beside, err := pressure.Parse(c.Pressure)
	if err != nil {
		return Run{}, err
	}
	var s scenario.Spec
	if err := strict(c.Spec, &s); err != nil {
		return Run{}, fmt.Errorf("spec: %w", err)
	}
	peerOptions, err := cellOptions(c, &s.Options)
	if err != nil {
		return Run{}, fmt.Errorf("options: %w", err)
	}
	if s, err = found.Resolve(s); err != nil {
		return Run{}, err
	}
	return Run{
		Scenario: found, Spec: s, Config: c.Config, Peer: peerOptions, Pacer: pacer, Pressure: beside,
		Warmup: spec.warmup(found, pacer), Duration: time.Duration(spec.Duration), Procs: spec.Procs,
	}, nil
}

// cellOptions reads the options of a cell: of this module's engine into o, or
// those of a peer.
func cellOptions(c result.Cell, o *engine.Options) (*peer.Options, error) {
	if !peer.Has(c.Options) {
		return nil, strict(c.Options, o)
	}
	var p peer.Options
	return &p, strict(c.Options, &p)
}

// Peers lists the peers of a study, one set of options for each program that has
// to be ready.
func Peers(study *result.Study) []peer.Options {
	var all []peer.Options
	for _, c := range study.Cells {
		var o peer.Options
		if !peer.Has(c.Options) || json.Unmarshal(c.Options, &o) != nil {
			continue
		}
		if !slices.ContainsFunc(all, func(p peer.Options) bool { return p.Peer == o.Peer && p.Generation == o.Generation }) {
			all = append(all, o)
		}
	}
	return all
}

// strict decodes JSON and refuses what this version does not know: a study
// that a later version planned must not be continued as something else.
func strict(raw json.RawMessage, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
