package study

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"commitlab/bench/peer/peertest"
	"commitlab/bench/result"
)

// TestMain lets the test binary be the program of Process.
func TestMain(m *testing.M) {
	peertest.Main()
	if len(os.Args) > 1 && os.Args[1] == "cell" {
		if err := cellProgram(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// cellProgram takes --dir STORE RESULT CELL BLOCK POSITION.
func cellProgram(args []string) error {
	dir, err := result.Open(args[2])
	if err != nil {
		return err
	}
	block, blockErr := strconv.Atoi(args[4])
	position, positionErr := strconv.Atoi(args[5])
	if err := errors.Join(blockErr, positionErr); err != nil {
		return err
	}
	if os.Getenv("STUDY_TEST_BREAK") != "" {
		return errors.New("broken on purpose")
	}
	return RunSlot(UntilClosed(context.Background(), os.Stdin), dir, result.Slot{Block: block, Position: position, Cell: args[3]}, args[1])
}

// tiny is a study whose runs take a fraction of a second.
const tiny = `
name: tiny
blocks: 2
exploratory: true
warmup: 10ms
duration: 100ms
cooldown: 0s
configs:
  - {name: small, base: tuned, set: {commitLogFileBytes: 1MiB, maxBodyBytes: 8KiB}}
  - {name: sparse, base: rocketmq, set: {commitLogFileBytes: 1MiB, maxBodyBytes: 8KiB}}
scenarios: [{scenario: append, rate: 1000}]
`

func create(t *testing.T, text string) *result.Dir {
	t.Helper()
	dir, err := result.CreateStudy(t.TempDir(), plan(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// pretend is a Launch that writes a run without doing it.
func pretend(status result.Status) Launch {
	return func(_ context.Context, dir *result.Dir, slot result.Slot) error {
		w, err := dir.CreateRun(result.Manifest{Cell: slot.Cell, Block: slot.Block, Position: slot.Position})
		if err != nil {
			return err
		}
		return w.End(result.End{Status: status, Reason: "pretended"})
	}
}

func TestRunnerFollowsTheOrder(t *testing.T) {
	dir := create(t, tiny)
	var begun []result.Slot
	ended := 0
	r := Runner{
		Launch: pretend(result.OK),
		Begin: func(slot result.Slot, behind int) {
			if behind != len(begun) {
				t.Errorf("slot %d begins with %d behind it", len(begun), behind)
			}
			begun = append(begun, slot)
		},
		Ended: func(result.Slot, result.Manifest) { ended++ },
	}
	tally, err := r.Run(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(begun) != fmt.Sprint(dir.Study.Order) || ended != len(begun) {
		t.Errorf("ran %v, ended %d; want the study's order %v", begun, ended, dir.Study.Order)
	}
	if tally.OK != 6 || tally.Resumed != 0 {
		t.Errorf("tally is %+v, want 6 ok", tally)
	}
}

// Goal: an interrupted study goes on where it was: ended runs stand, the
// interrupted one is repeated, whatever process it was.
func TestRunnerResumes(t *testing.T) {
	dir := create(t, tiny)
	ctx, cancel := context.WithCancel(t.Context())
	launched := 0
	interrupted := Runner{Launch: func(ctx context.Context, dir *result.Dir, slot result.Slot) error {
		if launched++; launched < 3 {
			return pretend(result.OK)(ctx, dir, slot)
		}
		cancel()
		return pretend(result.Interrupted)(ctx, dir, slot)
	}}
	if _, err := interrupted.Run(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted study ends with %v, want context.Canceled", err)
	}
	if launched != 3 {
		t.Errorf("%d runs were launched, want none after the interrupted one", launched)
	}

	again, err := result.Open(dir.Path)
	if err != nil {
		t.Fatal(err)
	}
	launched = 0
	tally, err := (&Runner{Launch: func(ctx context.Context, dir *result.Dir, slot result.Slot) error {
		launched++
		return pretend(result.OK)(ctx, dir, slot)
	}}).Run(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	if launched != 4 || tally.Resumed != 2 || tally.OK != 6 {
		t.Errorf("launched %d, tally %+v; want 4 launched after 2 that stand", launched, tally)
	}
	runs, err := again.Runs()
	if err != nil || len(runs) != 6 {
		t.Errorf("%d runs, %v; want 6", len(runs), err)
	}
	if aside, err := again.Superseded(); err != nil || len(aside) != 1 {
		t.Errorf("moved aside: %v, %v; want the interrupted attempt", aside, err)
	}
}

func TestRunnerGoesOnAfterFailedAndInvalidRuns(t *testing.T) {
	dir := create(t, tiny)
	statuses := []result.Status{result.Failed, result.OK, result.Invalid, result.OK, result.OK, result.OK}
	n := 0
	r := Runner{Launch: func(ctx context.Context, dir *result.Dir, slot result.Slot) error {
		n++
		return pretend(statuses[n-1])(ctx, dir, slot)
	}}
	tally, err := r.Run(t.Context(), dir)
	if err != nil || tally.OK != 4 || tally.Failed != 1 || tally.Invalid != 1 || len(tally.Reasons) != 2 {
		t.Errorf("tally is %+v, %v; want 4 ok, 1 failed, 1 invalid, with two reasons", tally, err)
	}
}

func TestBlockWatchLetsNoBlockOverrunTheLimit(t *testing.T) {
	at := func(s int) time.Duration { return time.Duration(s) * time.Second }
	w := blockWatch{limit: at(30)}
	for _, c := range []struct {
		block, elapsed int
		want           bool
	}{
		{1, 0, true}, {1, 4, true}, // the first block is always run, and never cut
		{2, 8, true}, {2, 14, true},
		{3, 18, true},                  // 18 + the longest, 10, is within 30
		{4, 21, false},                 // 21 + 10 is not
		{4, 22, false}, {5, 22, false}, // nor is anything later begun
	} {
		if got := w.mayBegin(c.block, at(c.elapsed)); got != c.want {
			t.Errorf("block %d after %d s: %v, want %v", c.block, c.elapsed, got, c.want)
		}
	}
	long := blockWatch{}
	for block := range 5 {
		if !long.mayBegin(block+1, time.Duration(block)*time.Hour) {
			t.Errorf("without a limit block %d is refused", block+1)
		}
	}
}

func TestRunnerLeavesWhatTheLimitForbids(t *testing.T) {
	dir := create(t, tiny)
	r := Runner{Launch: pretend(result.OK), Limit: time.Nanosecond}
	tally, err := r.Run(t.Context(), dir)
	if err != nil || tally.OK != 3 || tally.Left != 3 {
		t.Errorf("tally is %+v, %v; want one block of three cells run and one left", tally, err)
	}
	r.Limit = 0
	tally, err = r.Run(t.Context(), dir)
	if err != nil || tally.OK != 6 || tally.Resumed != 3 || tally.Left != 0 {
		t.Errorf("going on: tally is %+v, %v; want the other block run", tally, err)
	}
}

func TestRunnerStopsWhenARunLeavesNothing(t *testing.T) {
	dir := create(t, tiny)
	r := Runner{Launch: func(context.Context, *result.Dir, result.Slot) error { return nil }}
	if _, err := r.Run(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "block 1") {
		t.Errorf("a run without a manifest: %v, want an error that names it", err)
	}
}

func process(t *testing.T) *Process {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &Process{Program: program, Store: t.TempDir()}
}

// Goal: each slot runs in a process of its own and leaves a run, no store and
// no process.
func TestProcessRunsEverySlot(t *testing.T) {
	dir := create(t, tiny)
	p := process(t)
	tally, err := (&Runner{Launch: p.Launch}).Run(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if tally.OK+tally.Invalid != 6 { // a busy machine makes invalid runs
		t.Errorf("tally is %+v, want 6 measured runs", tally)
	}
	runs, err := dir.Runs()
	if err != nil || len(runs) != 6 {
		t.Fatalf("%d runs, %v; want 6", len(runs), err)
	}
	for _, run := range runs {
		if s, err := run.Summary(); err != nil || s.Ops["append"].Count != 100 {
			t.Errorf("%s: %d operations, %v; want 100", run.Dir, s.Ops["append"].Count, err)
		}
	}
	if left, err := os.ReadDir(p.Store); err != nil || len(left) > 0 {
		t.Errorf("stores left behind: %v, %v", left, err)
	}
}

// B-141: the cell that runs when the study is interrupted is kept, marked and
// closed cleanly.
func TestB141_InterruptReachesTheCellProcess(t *testing.T) {
	dir := create(t, strings.Replace(tiny, "duration: 100ms", "duration: 1m", 1))
	slot := dir.Study.Order[0]
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		// The first line of counters says that the window is open.
		path := filepath.Join(dir.RunPath(slot.Cell, slot.Block), result.CountersFile)
		for {
			if info, err := os.Stat(path); ctx.Err() != nil || err == nil && info.Size() > 0 {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
	}()
	p := process(t)
	if err := p.Launch(ctx, dir, slot); err != nil {
		t.Fatal(err)
	}
	m, err := result.ReadManifest(dir.RunPath(slot.Cell, slot.Block))
	if err != nil {
		t.Fatal(err)
	}
	if m.End == nil || m.Status() != result.Interrupted || m.End.Done == 0 {
		t.Errorf("the run's end is %+v, want interrupted with what was done", m.End)
	}
	if left, err := os.ReadDir(p.Store); err != nil || len(left) > 0 {
		t.Errorf("stores left behind: %v, %v", left, err)
	}
}

func TestProcessTellsWhyACellFailed(t *testing.T) {
	t.Setenv("STUDY_TEST_BREAK", "1")
	dir := create(t, tiny)
	if err := process(t).Launch(t.Context(), dir, dir.Study.Order[0]); err == nil || !strings.Contains(err.Error(), "broken on purpose") {
		t.Errorf("Launch says %v, want what the process wrote to stderr", err)
	}
}

func TestUntilClosedEndsWithItsReader(t *testing.T) {
	r, w := io.Pipe()
	ctx := UntilClosed(t.Context(), r)
	if _, err := w.Write([]byte("ignored")); err != nil {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatal("cancelled while the reader is open")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
}
