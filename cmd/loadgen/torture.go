package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"time"

	"commitlab/bench/torture"
	"commitlab/bench/workload"
)

// tortureCommand kills stores and checks what is left.
type tortureCommand struct {
	Dir      string        `arg:"" help:"Directory for the run: absent, empty, or of an earlier run with this seed, which then goes on. Needs a disk with room for three times what is written."`
	Rounds   int           `default:"20" help:"Number of rounds."`
	Duration time.Duration `help:"Begin no round after this time; 0 for no limit."`
	Seed     uint64        `default:"1" help:"Of everything random."`
	From     int           `help:"First round. Default: where the directory stands. The last round may be repeated; in an empty directory any may be the first."`
	Acks     int           `default:"400" help:"Puts of a process before it dies, at most."`
	MaxLog   string        `placeholder:"SIZE" help:"Delete the oldest files of a log that is larger, such as 16MiB, while it is written; it must be more than a round writes. Default: delete nothing."`
	Format   string        `default:"text" enum:"text,json" help:"text or json."`
	Quiet    bool          `short:"q" help:"No progress."`
	Fault    torture.Fault `hidden:"" default:"" enum:",lie,drop" help:"Put in a fault that must be found."`
}

// Run tortures and prints the report. A violation makes it exit with 1.
func (c *tortureCommand) Run(ctx context.Context, con console) error {
	if c.Rounds < 1 || c.From < 0 || c.Acks < 1 || c.Duration < 0 {
		return usage(fmt.Errorf("--rounds %d, --from %d, --acks %d, --duration %v: want at least one round and one put, and nothing negative", c.Rounds, c.From, c.Acks, c.Duration))
	}
	var maxLogBytes int64
	if c.MaxLog != "" {
		var err error
		if maxLogBytes, err = workload.ParseBytes(c.MaxLog); err != nil {
			return usage(fmt.Errorf("--max-log: %w", err))
		}
	}
	p := newProgress(con.stderr, c.Quiet, int64(c.Rounds), con.statusEvery)
	r, err := torture.Run(ctx, torture.Options{
		Dir: c.Dir, Seed: c.Seed, From: c.From, Rounds: c.Rounds, Duration: c.Duration, Acks: c.Acks, MaxLogBytes: maxLogBytes, Fault: c.Fault,
		Command: func() *exec.Cmd { return exec.Command(program(), "torture-child") },
		Progress: func(done int, r torture.Round) {
			p.at(int64(done), "round %d (%d of %d): %s", r.Number, done+1, c.Rounds, r)
		},
	})
	p.close()
	if errors.Is(err, torture.ErrDirectory) {
		return usage(err)
	}
	if r == nil {
		return err
	}
	if c.Format == "json" {
		e := json.NewEncoder(con.stdout)
		e.SetIndent("", "  ")
		err = errors.Join(err, e.Encode(r))
	} else {
		err = errors.Join(err, r.Text(con.stdout))
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w; to go on: %s", err, quoteCommand(c.words(r.Next, c.Rounds)))
	case len(r.Violations) > 0:
		round := r.Violations[0].Round.Number
		return fmt.Errorf("round %d: something is lost or wrong; to repeat it: %s", round, quoteCommand(c.words(round, 1)))
	}
	return nil
}

// words is the command for some rounds of this run.
func (c *tortureCommand) words(from, rounds int) []string {
	words := commandOf("torture", c.Dir, "--seed", strconv.FormatUint(c.Seed, 10), "--acks", strconv.Itoa(c.Acks),
		"--from", strconv.Itoa(from), "--rounds", strconv.Itoa(rounds))
	if c.MaxLog != "" {
		words = append(words, "--max-log", c.MaxLog)
	}
	if c.Fault != torture.FaultNone {
		words = append(words, "--fault", string(c.Fault))
	}
	return words
}

// tortureChildCommand is the program of a process that is to die.
type tortureChildCommand struct{}

// Run lives one life.
func (tortureChildCommand) Run(con console) error { return torture.Child(con.stdin, con.stdout) }
