package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"commitlab/bench/torture"
)

// Goal: a run that finds nothing says so, in both formats, and goes on where it
// stood. Method: the command in process; the processes that die are this test binary.
func TestTortureThatFindsNothing(t *testing.T) {
	t.Setenv(asProgram, "1")
	dir := filepath.Join(t.TempDir(), "torture")
	stdout, stderr, code := call(t, time.Nanosecond, "torture", dir, "--rounds", "2", "--acks", "30")
	if code != exitOK || !strings.Contains(stdout, "no violation") || !strings.Contains(stdout, "rounds 1 to 2") {
		t.Fatalf("exit code is %d; stdout:\n%s\nstderr:\n%s", code, stdout, stderr)
	}
	if !strings.Contains(stderr, "round 1 (1 of 2): sync-pwrite: power") {
		t.Errorf("no progress on stderr: %s", stderr)
	}
	stdout, stderr, code = call(t, time.Hour, "torture", dir, "--rounds", "1", "--acks", "30", "--format", "json", "--quiet")
	var r torture.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != exitOK {
		t.Fatalf("exit code is %d, %v; stdout:\n%s\nstderr:\n%s", code, err, stdout, stderr)
	}
	if r.Schema != torture.Schema || r.From != 3 || r.Rounds != 1 || len(r.Violations) != 0 || r.Checks.Audits != 2 {
		t.Errorf("got %+v", r)
	}
	if stderr != "" {
		t.Errorf("quiet, but stderr is %s", stderr)
	}
	if _, stderr, code = call(t, time.Hour, "torture", dir, "--seed", "2"); code != exitUsage || !strings.Contains(stderr+dir, dir) {
		t.Errorf("another seed: exit code is %d; stderr: %s", code, stderr)
	}
}

// Goal: a violation makes the command fail, and what it says repeats the round.
func TestTortureThatFindsSomething(t *testing.T) {
	t.Setenv(asProgram, "1")
	dir := filepath.Join(t.TempDir(), "torture")
	c := console{stdin: strings.NewReader(""), stdout: &syncBuffer{}, stderr: &syncBuffer{}, statusEvery: time.Hour}
	err := c.run(t.Context(), []string{"torture", dir, "--fault", "drop", "--rounds", "9", "-q"})
	if exitCode(err) != exitFailed {
		t.Fatalf("exit code is %d: %v", exitCode(err), err)
	}
	_, command, found := strings.Cut(err.Error(), "to repeat it: loadgen ")
	if !found {
		t.Fatalf("no command in %q", err)
	}
	stdout, _, code := call(t, time.Hour, strings.Fields(command)...)
	if code != exitFailed || !strings.Contains(stdout, "VIOLATION in round 1 ") {
		t.Errorf("repeated: exit code is %d; stdout:\n%s", code, stdout)
	}
}
