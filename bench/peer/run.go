package peer

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"commitlab/bench/measure"
)

// killAfter is how long a peer may take to end in order once it was told to: a
// set-up under way, the drain, the removal of what it made.
const killAfter = time.Minute

// Run measures a job and feeds sink, all of it after the peer's process has
// ended. It returns what the peer is and the outcome, under the same rules as
// measure.Run: a run that was told to end early is Interrupted without an error,
// one that failed has an error. An error that wraps ErrUnavailable says that
// this machine cannot run the peer.
func Run(ctx context.Context, job Job, sink measure.Sink) (measure.Outcome, Facts, error) {
	outcome, facts, err := run(ctx, job, sink)
	if err != nil {
		outcome.Status, outcome.Reason = measure.Failed, err.Error()
	} else if outcome.Status == measure.Failed {
		err = errors.New(outcome.Reason)
	}
	return outcome, facts, err
}

func run(ctx context.Context, job Job, sink measure.Sink) (measure.Outcome, Facts, error) {
	resolved, err := job.Plan.Resolve()
	if err != nil {
		return measure.Outcome{}, nil, err
	}
	p, err := job.plan(resolved)
	if err != nil {
		return measure.Outcome{}, nil, err
	}
	if err := p.write(job.Dir); err != nil {
		return measure.Outcome{}, nil, err
	}
	if err := job.launch(ctx); err != nil {
		return measure.Outcome{}, nil, err
	}
	in, err := read(job.Dir, p)
	if err != nil {
		return measure.Outcome{}, nil, fmt.Errorf("peer: what it left: %w", err)
	}
	outcome, err := in.tally.Outcome(job.Plan, in.ticks)
	if err != nil {
		return outcome, in.facts, err
	}
	return outcome, in.facts, in.feed(sink)
}

// launch runs the peer's process to its end. It is told to end early by closing
// its standard input, which also happens when this process dies; it has a process
// group of its own, so that a ^C reaches it through this process only.
func (j Job) launch(ctx context.Context) error {
	cmd, err := j.Options.command(ctx, "bench", j.Dir)
	if err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	said := &tail{}
	cmd.Stderr = said
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	defer stdin.Close()
	cmd.Cancel = stdin.Close
	cmd.WaitDelay = killAfter
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && !errors.As(err, &exit) && (cmd.ProcessState == nil || cmd.ProcessState.Success()):
		if cmd.ProcessState == nil {
			return ctx.Err() // cancelled before it began
		}
		return nil // ended as it was told to
	}
	return explain(err, said.text)
}

// tail keeps the end of what a process wrote to its standard error.
type tail struct{ text []byte }

// maxTail bounds what is kept.
const maxTail = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if over := len(t.text) - maxTail; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}
