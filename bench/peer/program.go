package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrUnavailable says that a peer cannot run on this machine; the error that
// wraps it says what is missing.
var ErrUnavailable = errors.New("peer unavailable")

// ProgramVariable names the environment variable that holds the path of another
// program to be used for RocketMQ, by the same command line as
// scripts/rocketmq/run.sh:
//
//	PROGRAM v4|v5 check        prints a line on whether it is built, and builds nothing
//	PROGRAM v4|v5 info         prints what it is as a JSON object of texts; builds itself first if need be
//	PROGRAM v4|v5 bench DIR    does what DIR/plan.json says
//
// Exit code 3 says that it cannot run here, and standard error why.
const ProgramVariable = "COMMITLAB_ROCKETMQ"

// exitMissing is the exit code of a program that lacks what it needs.
const exitMissing = 3

// script is where this repository has the program, from its root.
const script = "scripts/rocketmq/run.sh"

// locate finds the program: by the variable, or in the repository that the
// working directory or the executable is in.
func locate() (string, error) {
	if path := os.Getenv(ProgramVariable); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%w: %s: %w", ErrUnavailable, ProgramVariable, err)
		}
		return path, nil
	}
	var tried []string
	executable, _ := os.Executable() // not found: one place less to look
	working, _ := os.Getwd()
	for _, at := range []string{working, filepath.Dir(executable)} {
		tried = append(tried, at)
		for dir := at; ; dir = filepath.Dir(dir) {
			path := filepath.Join(dir, script)
			if _, err := os.Stat(path); err == nil {
				return path, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", fmt.Errorf("%w: no %s in or above %s; run inside the repository or set %s",
		ErrUnavailable, script, strings.Join(tried, " or "), ProgramVariable)
}

// command is a call of the program with these options.
func (o Options) command(ctx context.Context, words ...string) (*exec.Cmd, error) {
	program, err := locate()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, append([]string{o.Generation}, words...)...)
	cmd.Env = append(os.Environ(), "JAVA_OPTIONS="+o.JVM)
	return cmd, nil
}

// explain makes an error of how a call ended, with the end of what it said.
func explain(err error, said []byte) error {
	text := bytes.TrimSpace(said)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == exitMissing {
		return fmt.Errorf("%w: %s", ErrUnavailable, text)
	}
	return fmt.Errorf("peer: %w: %s", err, text)
}

// Facts is what a peer says about itself: the store and its version, the
// runtime, its flags.
type Facts map[string]string

// Check says in a line what the program would need before it runs. An error that
// wraps ErrUnavailable says what this machine lacks. It takes no longer than a
// moment.
func (o Options) Check(ctx context.Context) (string, error) {
	out, err := o.call(ctx, "check")
	return string(bytes.TrimSpace(out)), err
}

// Ask makes the program ready, which builds it when it is called for the first
// time and may take minutes then, and returns what it says about itself. An
// error that wraps ErrUnavailable says what this machine lacks.
func (o Options) Ask(ctx context.Context) (Facts, error) {
	out, err := o.call(ctx, "info")
	if err != nil {
		return nil, err
	}
	var facts Facts
	if err := json.Unmarshal(out, &facts); err != nil {
		return nil, fmt.Errorf("peer %s: what it says about itself: %w", o.Peer, err)
	}
	return facts, nil
}

// call runs the program and returns what it printed.
func (o Options) call(ctx context.Context, word string) ([]byte, error) {
	cmd, err := o.command(ctx, word)
	if err != nil {
		return nil, err
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, explain(err, said.Bytes())
	}
	return out, nil
}
