package study

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"commitlab/bench/result"
)

// killAfter is how long a cell's process may take to end in order once it was
// told to: the drain, the verification and the removal of its files.
const killAfter = time.Minute

// Process launches each slot in a fresh process of a program that takes
//
//	program cell --dir STORE RESULT CELL BLOCK POSITION
//
// and runs it with RunSlot. The process is told to end early by closing its
// standard input, which also happens when this process dies: a cell never
// outlives its study. It has a process group of its own, so that a ^C reaches
// it through the study only.
type Process struct {
	Program string
	Store   string // directory for the stores of all slots
}

// Launch is a Launch.
func (p *Process) Launch(ctx context.Context, dir *result.Dir, slot result.Slot) error {
	cmd := exec.CommandContext(ctx, p.Program, "cell", "--dir", p.Store,
		dir.Path, slot.Cell, strconv.Itoa(slot.Block), strconv.Itoa(slot.Position))
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
	if cmd.ProcessState == nil && ctx.Err() != nil {
		return ctx.Err() // cancelled before it began
	}
	if errors.Is(err, context.Canceled) && cmd.ProcessState.Success() {
		return nil // ended as it was told to
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", cmd, err, said)
	}
	return nil
}

// UntilClosed returns a context that is cancelled when r ends: what a cell's
// process does with its standard input. It leaves a goroutine that reads.
func UntilClosed(ctx context.Context, r io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, r) // whatever ended it, it has ended
		cancel()
	}()
	return ctx
}

// tail keeps the end of what a process wrote to its standard error: the reason
// why it failed.
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

func (t *tail) String() string { return string(bytes.TrimSpace(t.text)) }
