package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"commitlab/bench/measure"
	"commitlab/bench/pace"
	"commitlab/bench/pressure"
	"commitlab/bench/profile"
	"commitlab/bench/result"
	"commitlab/bench/scenario"
	"commitlab/bench/study"
	"commitlab/bench/workload"
)

// runCommand measures one cell once, in this process.
type runCommand struct {
	Scenario string         `default:"append" help:"What is done; see list."`
	Config   string         `default:"tuned" help:"Named configuration to start from; see list."`
	Set      []string       `sep:"none" placeholder:"KEY=VALUE" help:"Put an option over the configuration: --set populate=none --set commitLogFileBytes=256MiB. Repeatable."`
	Size     workload.Sizes `default:"1024" placeholder:"SIZES" help:"Body sizes: 1024, 256-4KiB, 128x6,1KiBx3,16KiB (default 1024)."`
	Topics   int            `default:"1" help:"Number of topics."`
	Queues   int            `default:"1" help:"Queues of each topic."`
	Tags     int            `help:"Number of distinct tags; 0 for none."`
	Keys     int            `help:"Number of distinct keys; 0 for none."`
	Writers  int            `help:"Concurrent writers; 0 for the scenario's default."`
	Rate     string         `default:"max" help:"Schedule: 200000, 200k, ramp:1k-100k/10s, step:1k,5k/10s, poisson:5k, burst:100/10ms, or max for a closed loop."`
	Duration time.Duration  `default:"10s" help:"Measured window."`
	Warmup   *time.Duration `placeholder:"1s" help:"Warm-up before it; default 1s, in a closed loop 100ms, none for an operation of seconds."`
	MaxBytes string         `placeholder:"SIZE" help:"Byte budget at which the run ends early, such as 8GiB; default what the schedule needs, in a closed loop the scenario's."`
	Seed     uint64         `default:"1" help:"Of everything random."`
	Dir      string         `placeholder:"DIR" help:"Where the store lives while it is measured; default inside --out. Choose the disk with it."`
	Out      string         `placeholder:"DIR" help:"Directory for the result; must not hold one yet. Default results/<utc>-<scenario>-<config>."`
	Format   string         `default:"text" enum:"text,json,csv,md,bench" help:"Of the result on stdout: text, json, csv, md or bench."`
	Unit     string         `default:"us" enum:"ns,us,ms" help:"Unit of latencies in csv and md: ns, us or ms."`
	Pressure string         `placeholder:"KINDS" help:"Put on beside the load: held-readers=8,page-writer=200MB/s; see list."`
	Profile  string         `placeholder:"KINDS" help:"Run once more with these profiles: cpu, wall, heap, mutex, block, trace or all. That run is kept apart."`
	Quiet    bool           `short:"q" help:"No progress."`
}

// Run measures, prints the result and, if asked for, measures again with
// profiles.
func (c *runCommand) Run(ctx context.Context, con console) error {
	r, err := c.plan()
	if err != nil {
		return usage(err)
	}
	profiles, err := profile.ParseKinds(c.Profile)
	if err == nil && len(profiles) > 0 && r.Peer != nil {
		err = fmt.Errorf("--profile: %s is measured in a process of its own, whose profile this program cannot take", c.Config)
	}
	if err != nil {
		return usage(err)
	}
	out := c.Out
	if out == "" {
		out = filepath.Join("results", fmt.Sprintf("%s-%s-%s", time.Now().UTC().Format("20060102T150405Z"), c.Scenario, c.Config))
	}
	if _, err := os.Stat(filepath.Join(out, result.ManifestFile)); !errors.Is(err, fs.ErrNotExist) {
		return usage(fmt.Errorf("--out %s: it holds a result already", out))
	}
	end, err := c.measure(ctx, con, r, out)
	if err != nil {
		return err
	}
	if err := c.print(con.stdout, out); err != nil {
		return err
	}
	if len(profiles) > 0 && end.Status != result.Interrupted {
		r.Profiles = profiles
		if _, err := c.measure(ctx, con, r, filepath.Join(out, result.ProfiledDir)); err != nil {
			return err
		}
	}
	return statusError(end.Status, end.Reason)
}

// plan turns the flags into a run; every error is the user's.
func (c *runCommand) plan() (study.Run, error) {
	found, scenarioErr := scenario.Find(c.Scenario)
	options, peerOptions, setErr := study.FindOptions(c.Config, c.Set...)
	pacer, rateErr := pace.Parse(c.Rate)
	if rateErr != nil {
		rateErr = fmt.Errorf("--rate: %w", rateErr)
	}
	var durationErr error
	if c.Duration <= 0 || c.Warmup != nil && *c.Warmup < 0 {
		durationErr = fmt.Errorf("--duration and --warmup: want a duration above 0 and no negative warm-up")
	}
	beside, pressureErr := pressure.Parse(c.Pressure)
	if err := errors.Join(scenarioErr, setErr, rateErr, durationErr, pressureErr); err != nil {
		return study.Run{}, err
	}
	warmup := study.DefaultWarmup(found, pacer)
	if c.Warmup != nil {
		warmup = *c.Warmup
	}
	spec := scenario.Spec{
		Options: options,
		Writers: c.Writers,
		Workload: workload.Spec{
			Seed: c.Seed, Body: c.Size, Topics: c.Topics, Queues: c.Queues, Tags: c.Tags, Keys: c.Keys,
		},
	}
	var err error
	if spec.MaxBytes, err = c.budget(found, spec.Workload, pacer, warmup+c.Duration); err != nil {
		return study.Run{}, err
	}
	if spec, err = found.Resolve(spec); err != nil {
		return study.Run{}, err
	}
	if peerOptions != nil {
		resolved, err := peerOptions.Resolve(found.Name, pacer)
		if err != nil {
			return study.Run{}, err
		}
		peerOptions = &resolved
	}
	return study.Run{
		Scenario: found, Spec: spec, Config: c.configName(), Peer: peerOptions, Pacer: pacer,
		Warmup: warmup, Duration: c.Duration, Seed: c.Seed, Pressure: beside, Command: c.command(),
	}, nil
}

func (c *runCommand) budget(s scenario.Scenario, w workload.Spec, p pace.Pacer, length time.Duration) (int64, error) {
	if c.MaxBytes != "" {
		n, err := workload.ParseBytes(c.MaxBytes)
		if err != nil || n == 0 {
			return 0, fmt.Errorf("--max-bytes: got %q, want a size such as 8GiB", c.MaxBytes)
		}
		return n, nil
	}
	dir := c.Dir
	if dir == "" {
		dir = "."
	}
	room, err := study.RoomAt(dir)
	if err != nil {
		return 0, err
	}
	return study.Budget(s, w, p, length, room)
}

// configName tells a configuration with settings of its own from the named one.
func (c *runCommand) configName() string {
	if len(c.Set) == 0 {
		return c.Config
	}
	return c.Config + "+" + strings.Join(c.Set, "+")
}

// command is the command line that repeats the run: what decides the figures,
// not where they go.
func (c *runCommand) command() []string {
	words := commandOf("run", "--scenario", c.Scenario, "--config", c.Config)
	for _, s := range c.Set {
		words = append(words, "--set", s)
	}
	words = append(words, "--size", c.Size.String(), "--rate", c.Rate, "--duration", c.Duration.String())
	number := func(flag string, n, byDefault int) {
		if n != byDefault {
			words = append(words, flag, fmt.Sprint(n))
		}
	}
	number("--topics", c.Topics, 1)
	number("--queues", c.Queues, 1)
	number("--tags", c.Tags, 0)
	number("--keys", c.Keys, 0)
	number("--writers", c.Writers, 0)
	if c.Warmup != nil {
		words = append(words, "--warmup", c.Warmup.String())
	}
	if c.MaxBytes != "" {
		words = append(words, "--max-bytes", c.MaxBytes)
	}
	if c.Pressure != "" {
		words = append(words, "--pressure", c.Pressure)
	}
	return append(words, "--seed", fmt.Sprint(c.Seed))
}

// measure does one run into out.
func (c *runCommand) measure(ctx context.Context, con console, r study.Run, out string) (result.End, error) {
	store := c.Dir
	if store == "" {
		store = out
	}
	if err := os.MkdirAll(store, 0o777); err != nil {
		return result.End{}, err
	}
	var err error
	if r.Spec.Dir, err = os.MkdirTemp(store, "store-"); err != nil {
		return result.End{}, err
	}
	what := r.Scenario.Name + " " + r.Config
	if len(r.Profiles) > 0 {
		what += " with profiles"
	}
	whole := r.Warmup + r.Duration
	p := newProgress(con.stderr, c.Quiet, whole.Milliseconds(), con.statusEvery)
	defer p.close()
	p.note("%s: rate %s for %s after %s of warm-up, into %s", what, r.Pacer, r.Duration, r.Warmup, out)
	if r.Peer != nil {
		askPeer(ctx, p, *r.Peer)
	}
	missing, err := r.PressureMissing()
	if err != nil {
		return result.End{}, err
	}
	for _, m := range missing {
		p.note("warning: pressure %s", m)
	}
	p.at(0, "%s: set-up and warm-up", what)
	r.Observe = func(t measure.Tick) {
		p.at((r.Warmup + t.To).Milliseconds(), "%s: %s of %s, %s", what, t.To.Round(100*time.Millisecond), r.Duration, figures(t))
	}
	end, err := r.Execute(ctx, func(m result.Manifest) (*result.Writer, error) { return result.CreateRun(out, m) })
	for _, w := range end.Warnings {
		p.note("warning: %s", w)
	}
	if end.Status == result.OK && end.Reason != "" {
		p.note("ended early: %s", end.Reason)
	}
	return end, err
}

// figures says what an interval shows, for a status line.
func figures(t measure.Tick) string {
	op := t.Ops[0]
	if op.Service == nil {
		return "no operation ended"
	}
	rate := float64(op.Service.TotalCount()) / (t.To - t.From).Seconds()
	return fmt.Sprintf("%.0f/s, service p50 %s, p99.9 %s", rate,
		time.Duration(op.Service.ValueAtPercentile(50)), time.Duration(op.Service.ValueAtPercentile(99.9)))
}
