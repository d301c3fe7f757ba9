package study

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"commitlab/bench/host"
	"commitlab/bench/measure"
	"commitlab/bench/pace"
	"commitlab/bench/peer"
	"commitlab/bench/pressure"
	"commitlab/bench/profile"
	"commitlab/bench/result"
	"commitlab/bench/scenario"
)

// outlierOver is the time from which an operation leaves a record of its own.
const outlierOver = time.Millisecond

// outliersPerTick bounds those records over all workers, as far as each may leave
// some: of synchronous puts every one may be an outlier.
const outliersPerTick = 256

// Run is one run of one cell, complete: no default is left open.
type Run struct {
	Scenario scenario.Scenario
	Spec     scenario.Spec // resolved; its Dir is made for the run and removed after it
	Config   string        // name of the configuration
	// Peer, if set, is measured in the place of this module's engine. It is
	// resolved; Spec.Options have no meaning then.
	Peer     *peer.Options
	Pacer    pace.Pacer
	Warmup   time.Duration
	Duration time.Duration
	Seed     uint64         // of the workers' random sources
	Profiles []profile.Kind // taken of exactly the window; marks the run as profiled
	Pressure pressure.Set   // put on beside the load
	Procs    int            // GOMAXPROCS while it is measured; 0 leaves it as it is

	// Where the run belongs; zero outside of a study.
	Cell     string
	Block    int
	Position int
	Command  []string // repeats the run

	// Observe sees every interval as it ends; nil is allowed.
	Observe func(measure.Tick)
}

// Execute measures the run and writes it with the writer that create returns.
// Whatever happens after that call, the run's files are given an end and its
// store is removed. The error is of those files or that store: that a run was
// interrupted, failed or is invalid is said by its End.
func (r Run) Execute(ctx context.Context, create func(result.Manifest) (*result.Writer, error)) (end result.End, err error) {
	if r.Procs > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(r.Procs))
	}
	log := &warningLog{}
	r.Spec.Options.Logger = log.logger()
	instance, measured, err := r.measured()
	if err != nil {
		return result.End{}, err
	}
	manifest, err := r.manifest()
	if err != nil {
		return result.End{}, err
	}
	w, err := create(manifest)
	if err != nil {
		return result.End{}, err
	}
	defer func() { err = errors.Join(err, w.Close(), removeStore(r.Spec.Dir)) }()

	out := &sink{writer: w, opened: r.Warmup, observe: r.Observe}
	plan := r.plan(w.Dir())
	var underPressure []result.Pressure
	plan.Beside = r.beside(instance, &underPressure)
	outcome, facts, runErr := measured(ctx, plan, out)
	flushErr := out.flush()
	end, err = r.end(outcome, out.last)
	end.Target = facts
	if err = errors.Join(flushErr, err); err != nil {
		end.Status, end.Reason = result.Failed, err.Error()
		return end, errors.Join(err, w.End(end))
	}
	end.Pressure = underPressure
	for _, p := range underPressure {
		for _, note := range p.Notes {
			end.Warnings = append(end.Warnings, "pressure "+p.Kind+": "+note)
		}
	}
	end.Warnings = append(end.Warnings, log.warnings()...)
	if runErr != nil && errors.Is(runErr, context.Canceled) {
		end.Status = result.Interrupted // while it was being set up
	}
	if errors.Is(runErr, peer.ErrUnavailable) {
		end.Status = result.Unavailable
	}
	return end, w.End(end)
}

// measuring measures a run by its plan.
type measuring func(context.Context, measure.Plan, measure.Sink) (measure.Outcome, peer.Facts, error)

// measured is what measures the run: this process and its instance, or that of a
// peer without one.
func (r Run) measured() (measure.Instance, measuring, error) {
	if r.Peer != nil {
		job := peer.Job{
			Options: *r.Peer, Scenario: r.Scenario.Name,
			Workload: r.Spec.Workload, MaxBytes: r.Spec.MaxBytes, Dir: r.Spec.Dir,
		}
		return nil, func(ctx context.Context, p measure.Plan, s measure.Sink) (measure.Outcome, peer.Facts, error) {
			var o measure.Outcome
			var facts peer.Facts
			err := besidePeer(ctx, p, func() (err error) {
				job.Plan, job.Plan.Beside = p, nil
				o, facts, err = peer.Run(ctx, job, s)
				return err
			})
			if err != nil && o.Status != measure.Interrupted {
				o.Status, o.Reason = measure.Failed, err.Error()
			}
			return o, facts, err
		}, nil
	}
	instance, err := r.Scenario.New(r.Spec)
	return instance, func(ctx context.Context, p measure.Plan, s measure.Sink) (measure.Outcome, peer.Facts, error) {
		o, err := measure.Run(ctx, instance, p, s)
		return o, nil, err
	}, err
}

// options is what was set, as the manifest and the report have it, and what of
// the data a crash would then lose.
func (r Run) options() (options any, durability string) {
	if r.Peer != nil {
		return r.Peer, r.Peer.Durability(r.Scenario.Name)
	}
	return r.Spec.Options, r.Scenario.Durability(r.Spec.Options)
}

func (r Run) manifest() (result.Manifest, error) {
	spec, specErr := json.Marshal(r.Spec)
	set, durability := r.options()
	options, optionsErr := json.Marshal(set)
	m := result.Manifest{
		Cell: r.Cell, Block: r.Block, Position: r.Position,
		Scenario: r.Scenario.Name, Config: r.Config, Primary: r.Scenario.Primary,
		Spec: spec, Options: options,
		Pace: r.Pacer.String(), Closed: pace.IsClosed(r.Pacer),
		Workers: r.Spec.Writers, Seed: r.Seed,
		Durability: durability,
		Pressure:   r.Pressure.String(),
		Command:    r.Command,
		WarmupNs:   r.Warmup.Nanoseconds(), DurationNs: r.Duration.Nanoseconds(), TickNs: r.tick().Nanoseconds(),
		Host: host.Collect(existing(r.Spec.Dir)),
	}
	for _, k := range r.Profiles {
		m.Profiles = append(m.Profiles, string(k))
	}
	return m, errors.Join(specErr, optionsErr)
}

// existing is the nearest directory at or above dir that exists.
func existing(dir string) string {
	for !exists(dir) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
	}
	return dir
}

// tick gives about twenty intervals to a run, none shorter than a tenth of a
// second.
func (r Run) tick() time.Duration {
	return min(max(r.Duration/20, 100*time.Millisecond), time.Second)
}

func (r Run) plan(dir string) measure.Plan {
	p := measure.Plan{
		Primary:      r.Scenario.Ops[0],
		Ops:          r.Scenario.Ops[1:],
		Bystanders:   r.Scenario.Bystanders,
		Workers:      r.Spec.Writers,
		Pacer:        r.Pacer,
		Warmup:       r.Warmup,
		Duration:     r.Duration,
		Tick:         r.tick(),
		Seed:         r.Seed,
		OutlierOver:  outlierOver,
		OutlierLimit: min(max(outliersPerTick/r.Spec.Writers, 4), 64),
	}
	if len(r.Profiles) > 0 {
		label := profile.Label{Scenario: r.Scenario.Name, Config: r.Config}
		p.Window = profile.Window(dir, label, r.Profiles)
	}
	return p
}

// shortfall is the share of the offered rate below which a run gets a warning
// even where the target is to blame.
const shortfall = 0.99

func (r Run) end(o measure.Outcome, counters any) (result.End, error) {
	e := result.End{
		Status: status(o.Status), Reason: o.Reason,
		WindowNs: o.Window.Nanoseconds(),
		Done:     o.Done + o.Late, Errors: o.Failed,
		Steadiness: o.Steadiness.Verdict,
	}
	if o.Window > 0 && !tooShort(o) {
		e.AchievedPerSecond = &o.AchievedPerS
	}
	if !o.Closed {
		e.Due, e.Late, e.NeverSent = o.Due, o.Late, o.NeverSent+o.Unfinished
		if o.Window > 0 {
			e.OfferedPerSecond = &o.OfferedPerS
		}
	}
	if d := o.Disturbed; d != nil {
		e.Disturbed = &result.Disturbed{
			MarginNs: d.Margin.Nanoseconds(), Count: d.Count, TimeNs: d.Time.Nanoseconds(),
			UnsortedNs: d.Unsorted.Nanoseconds(), Lost: d.Lost,
		}
	}
	e.Warnings = warnings(o)
	if counters == nil {
		return e, nil
	}
	var err error
	e.Counters, err = json.Marshal(counters)
	return e, err
}

func status(s measure.Status) result.Status {
	switch s {
	case measure.OK:
		return result.OK
	case measure.Interrupted:
		return result.Interrupted
	case measure.Invalid:
		return result.Invalid
	default:
		return result.Failed
	}
}

// warnings lists what a reader must know before using the figures of a run
// whose status does not say it.
func warnings(o measure.Outcome) []string {
	var w []string
	add := func(format string, args ...any) { w = append(w, fmt.Sprintf(format, args...)) }
	if !o.Closed && o.Window > 0 && o.AchievedPerS < shortfall*o.OfferedPerS {
		add("achieved %.1f %% of the offered rate: of %d operations due, %d were done in time, %d late, %d failed, %d never ended, %d were never sent",
			100*o.AchievedPerS/o.OfferedPerS, o.Due, o.Done, o.Late, o.Failed, o.Unfinished, o.NeverSent)
	}
	if tooShort(o) {
		add("no operation ended within the window of %s, so that there is no rate; those that began in it are timed", o.Window)
	}
	if len(o.Ops) > 0 {
		if p99, ok := o.Ops[0].Lag.Percentile(99); ok && time.Duration(p99) > lagWarning {
			add("the generator itself was late: lag p99 %s, with %.0f %% of %d CPUs busy in operations",
				time.Duration(p99), 100*o.Busy, runtime.NumCPU())
		}
	}
	if d := o.Disturbed; d != nil && d.Unsorted > d.Time/100 {
		add("%s of %s of disturbance became known too late: operations meanwhile are counted as outside of it", d.Unsorted, d.Time)
	}
	if d := o.Disturbed; d != nil && d.Lost > 0 {
		add("%d operations were too many at once to be sorted into inside and outside of a disturbance", d.Lost)
	}
	if o.WallStep > time.Second || o.WallStep < -time.Second {
		add("the wall clock was set by %s during the run: dates do not match other logs", o.WallStep.Round(time.Millisecond))
	}
	return w
}

// tooShort says that the window of a closed loop passed within its first
// operation, which has ended since: there is a time, and no rate.
func tooShort(o measure.Outcome) bool {
	return o.Closed && o.Late > 0 && o.AchievedPerS == 0
}

// lagWarning is the generator's own lateness from which a reader is told.
const lagWarning = 50 * time.Microsecond
