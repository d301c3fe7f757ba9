package study

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"commitlab/bench/measure"
	"commitlab/bench/pressure"
	"commitlab/bench/result"
	"commitlab/bench/scenario"
)

// beside puts the run's pressure on between Setup and Verify. What it really did
// is added to reports when it has ended.
func (r Run) beside(instance measure.Instance, reports *[]result.Pressure) func(context.Context) (func() error, error) {
	if len(r.Pressure) == 0 {
		return nil
	}
	return func(ctx context.Context) (func() error, error) {
		session, err := r.Pressure.Start(ctx, pressureOn(instance, r.Spec.Dir))
		if err != nil {
			return nil, err
		}
		return func() error {
			did, err := session.Stop()
			for _, d := range did {
				*reports = append(*reports, result.Pressure(d))
			}
			return err
		}, nil
	}
}

// besidePeer measures with a peer, with what goes on beside it started before the
// peer's process, which then has it from its beginning.
func besidePeer(ctx context.Context, p measure.Plan, measured func() error) error {
	if p.Beside == nil {
		return measured()
	}
	ended, err := p.Beside(ctx)
	if err != nil {
		return err
	}
	return errors.Join(measured(), ended())
}

// pressureOn is where pressure on a run is put: on the disk of its store.
func pressureOn(instance measure.Instance, storeDir string) pressure.Env {
	env := pressure.Env{Dir: existing(filepath.Dir(storeDir))}
	if h, ok := instance.(scenario.Holder); ok {
		env.Holder = holder{h}
	}
	return env
}

// PressureMissing says what will not be as it was asked for of a run's pressure,
// and why.
func (r Run) PressureMissing() ([]string, error) {
	instance, _, err := r.measured()
	if err != nil {
		return nil, err
	}
	return r.Pressure.Missing(pressureOn(instance, r.Spec.Dir)), nil
}

// PressureMissing is Run.PressureMissing of all cells of a study whose stores will
// be below root, each complaint once.
func PressureMissing(study *result.Study, root string) ([]string, error) {
	var all []string
	spec, err := SpecOf(study)
	if err != nil {
		return nil, err
	}
	for _, c := range study.Cells {
		if c.Pressure == "" {
			continue
		}
		r, err := cellRun(spec, c)
		if err != nil {
			return nil, err
		}
		r.Spec.Dir = filepath.Join(root, c.Name)
		missing, err := r.PressureMissing()
		if err != nil {
			return nil, err
		}
		all = append(all, missing...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// holder gives readers of package pressure records of a scenario.
type holder struct{ scenario.Holder }

// Hold implements pressure.Holder.
func (h holder) Hold() (pressure.Held, error) {
	view, err := h.HoldOldest()
	if err != nil {
		return nil, err
	}
	return &view, nil
}
