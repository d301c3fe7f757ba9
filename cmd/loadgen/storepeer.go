package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"

	"commitlab/bench/answers"
	"commitlab/bench/bytewise"
	"commitlab/bench/plan"
	"commitlab/bench/workload"
	"commitlab/engine"
)

// storePlanCommand writes a plan.
type storePlanCommand struct {
	Seed       uint64 `default:"1" help:"The same seed gives the same plan."`
	Operations int    `default:"400" help:"Puts and batches."`
	FileBytes  string `default:"64KiB" help:"Size of the commit log files of the store, like 1MiB."`
	NoDelayed  bool   `help:"Leave delayed messages out, whose properties each store writes in its own way."`
	Format     string `default:"json" enum:"json" help:"json: one object on each line."`
}

// Run prints the plan.
func (c *storePlanCommand) Run(con console) error {
	fileBytes, err := workload.ParseBytes(c.FileBytes)
	if err == nil && (fileBytes < 64<<10 || c.Operations < 1) {
		err = fmt.Errorf("--file-bytes %s --operations %d: want at least 64KiB and 1", c.FileBytes, c.Operations)
	}
	if err != nil {
		return usage(err)
	}
	return plan.Generate(plan.Spec{Seed: c.Seed, Operations: c.Operations, CommitLogFileBytes: fileBytes, NoDelayed: c.NoDelayed}).Write(con.stdout)
}

// A planFile is a plan on the command line, with the release that it is for.
type planFile struct {
	Plan    string `arg:"" help:"File that store plan wrote; its sizes are those of the store."`
	Dir     string `arg:"" help:"Directory of the store."`
	Release string `default:"v5" enum:"v4,v5" help:"Generation of RocketMQ that must be able to read it: v4 or v5."`
}

func (f *planFile) read() (*plan.Plan, error) {
	in, err := os.Open(f.Plan)
	if err != nil {
		return nil, usage(err)
	}
	defer in.Close()
	p, err := plan.Read(bufio.NewReader(in))
	if err != nil {
		return nil, usage(fmt.Errorf("%s: %w", f.Plan, err))
	}
	return p, nil
}

// storeApplyCommand puts a plan into a store.
type storeApplyCommand struct {
	planFile `embed:""`
	End      string `default:"close" enum:"close,kill" help:"close: an orderly end. kill: SIGKILL right after the last put."`
}

// Run prints what the store said about each operation.
func (c *storeApplyCommand) Run(ctx context.Context, con console) (err error) {
	p, err := c.read()
	if err != nil {
		return err
	}
	s, err := engine.Open(c.Dir, p.Head.Options(engine.Options{}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	out := bufio.NewWriter(con.stdout)
	e := json.NewEncoder(out)
	err = p.Apply(ctx, s, plan.Release(c.Release), func(r plan.Result) error { return e.Encode(r) })
	if err = errors.Join(err, out.Flush()); err != nil || c.End == "close" {
		return err
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		return err
	}
	select {} // the signal is on its way
}

// storeAnswersCommand opens a store and asks it everything.
type storeAnswersCommand struct {
	planFile `embed:""`
}

// Run prints the answers. Opening recovers, so the directory changes.
func (c *storeAnswersCommand) Run(ctx context.Context, con console) (err error) {
	p, err := c.read()
	if err != nil {
		return err
	}
	s, err := engine.Open(c.Dir, p.Head.Options(engine.Options{}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return answers.Write(ctx, s, plan.Release(c.Release), con.stdout)
}

// storeCompareCommand compares two texts of answers.
type storeCompareCommand struct {
	A string `arg:"" help:"File that store answers wrote, or RocketMQ's peer."`
	B string `arg:"" help:"Another one."`

	Release string `default:"v5" enum:"v4,v5" help:"Generation of RocketMQ that wrote one of them. For v4 units of delayed messages without a time of delivery are forgiven: 4.9 makes them when it recovers."`
}

// Run prints how many lines are the same; a difference makes it exit with 1.
func (c *storeCompareCommand) Run(con console) error {
	a, errA := os.Open(c.A)
	b, errB := os.Open(c.B)
	defer a.Close()
	defer b.Close()
	if err := errors.Join(errA, errB); err != nil {
		return usage(err)
	}
	outcome, err := answers.Compare(a, b, plan.Release(c.Release))
	switch {
	case err != nil:
		return err
	case outcome.First != nil:
		return errors.New(outcome.First.String(c.A, c.B))
	case outcome.Lines == 0:
		return errors.New("both are empty")
	}
	fmt.Fprintf(con.stdout, "%d lines are the same\n", outcome.Lines)
	if outcome.Untimed > 0 {
		fmt.Fprintf(con.stdout, "%d units of delayed messages have no time of delivery on one side\n", outcome.Untimed)
	}
	return nil
}

// storeHoldsCommand checks answers against what was put.
type storeHoldsCommand struct {
	Plan    string `arg:"" help:"File that store plan wrote."`
	Results string `arg:"" help:"What store apply, or RocketMQ's peer, printed for it."`
	Answers string `arg:"" help:"What store answers, or RocketMQ's peer, printed afterwards."`
}

// Run prints how many messages are there; one that is not makes it exit with 1.
func (c *storeHoldsCommand) Run(con console) error {
	p, err := (&planFile{Plan: c.Plan}).read()
	if err != nil {
		return err
	}
	results, errR := os.Open(c.Results)
	text, errA := os.Open(c.Answers)
	defer results.Close()
	defer text.Close()
	if err := errors.Join(errR, errA); err != nil {
		return usage(err)
	}
	n, err := answers.Holds(p, bufio.NewReader(results), text)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(con.stdout, "%d messages are there as they were put\n", n)
	return err
}

// storeBytesCommand compares the bytes of two stores.
type storeBytesCommand struct {
	A string `arg:"" help:"Directory of a store that was made from a plan."`
	B string `arg:"" help:"Another one, made from the same plan."`
}

// Run prints what a plan cannot fix; any other difference makes it exit with 1.
func (c *storeBytesCommand) Run(con console) error {
	r, err := bytewise.Compare(c.A, c.B)
	if err != nil {
		return err
	}
	if r.Records == 0 {
		return fmt.Errorf("%s and %s hold no records", c.A, c.B)
	}
	_, err = fmt.Fprint(con.stdout, r)
	return err
}
