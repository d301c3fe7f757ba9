package torture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// asChild makes the test binary a child of the run that a test does.
const asChild = "TORTURE_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(asChild) != "" {
		if err := Child(os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// childCommand starts the test binary as a child. What a power cut leaves of bytes
// that are just being stored is a race by nature, so races are not reported there.
func childCommand() *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asChild+"=1", "GORACE=report_bugs=0")
	return cmd
}

// memoryDir is where Linux keeps files in memory.
const memoryDir = "/dev/shm"

// scratch is a fresh directory in memory where the system offers that, else on disk.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(memoryDir, "torture")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// run does a run of a test and fails it on an error, which is not a violation.
func run(t *testing.T, o Options) *Report {
	t.Helper()
	o.Command = childCommand
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// mustPass demands that nothing was found.
func mustPass(t *testing.T, r *Report) {
	t.Helper()
	if len(r.Violations) > 0 {
		t.Fatal(text(t, r))
	}
}

func text(t *testing.T, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Goal: over all option sets and deaths nothing that was acknowledged is lost, and
// nothing is found that is wrong. Method: a tenth of what `loadgen torture
// --rounds 200` does; the figures show that it was not idle.
func TestStoresSurviveTwentyRounds(t *testing.T) {
	t.Parallel()
	const rounds = 20
	r := run(t, Options{Dir: scratch(t), Seed: 1, Rounds: rounds})
	mustPass(t, r)
	t.Log(text(t, r))
	for _, d := range deaths {
		if r.Lives[d] < rounds/len(deaths) {
			t.Errorf("death %s: %d times, want %d at least", d, r.Lives[d], rounds/len(deaths))
		}
	}
	for _, s := range sets {
		if !slices.ContainsFunc(r.Windows, func(w *Window) bool { return w.Set == s.name && w.Lives > 0 }) {
			t.Errorf("option set %s was not used", s.name)
		}
	}
	for name, n := range map[string]int64{
		"acknowledged": r.Acked, "records read": r.Checks.Records - r.Stored, "found by queue": r.Checks.ByQueue - r.Stored,
		"queries by key": r.Checks.ByKey - r.Stored, "found by tag": r.Checks.ByTag, "audits": r.Checks.Audits - rounds,
		"refused on a full disk": r.Refusals.DiskFull, "refused after a failed sync": r.Refusals.Sync, "delayed": r.Delivered,
	} {
		if n < 1 {
			t.Errorf("%s: too few by %d", name, 1-n)
		}
	}
	for _, w := range r.Windows {
		if strings.HasPrefix(w.Set, "async-") && !strings.Contains(w.Set, "transient") && w.Left == "pages" && w.Lost > 0 {
			t.Errorf("%s lost %d messages though the page cache survived", w.Set, w.Lost)
		}
	}
}

// Goal: the run finds what it is for. Method: a fault is put into a round that
// would pass; the same round passes without it, from the same store.
func TestFaultsAreFound(t *testing.T) {
	for _, c := range []struct {
		fault Fault
		round int // sync-pwrite with power, sync-fdatasync with kill, sync-msync-crc closed in order
	}{{FaultLie, 1}, {FaultDrop, 5}, {FaultDrop, 19}} {
		t.Run(fmt.Sprintf("%s in round %d", c.fault, c.round), func(t *testing.T) {
			t.Parallel()
			dir := scratch(t)
			o := Options{Dir: dir, Seed: 1, From: c.round, Rounds: 3, Fault: c.fault}
			found := run(t, o)
			if len(found.Violations) != 1 || found.Rounds != 1 || found.Next != c.round {
				t.Fatalf("violations not found, or no end made of it: %s", text(t, found))
			}
			v := found.Violations[0]
			// The store may notice by itself: its checkpoint knows what was durable.
			text := strings.Join(v.Found, "\n")
			if lost, refused := "is lost: acknowledged at offset", "but the log was durable up to"; !strings.Contains(text, lost) && !strings.Contains(text, refused) {
				t.Errorf("found %q, want %q or %q", v.Found, lost, refused)
			}
			if _, err := os.Stat(filepath.Join(v.Store, "commitlog")); err != nil {
				t.Errorf("the store was not kept: %v", err)
			}
			o.Fault, o.Rounds = FaultNone, 1
			mustPass(t, run(t, o))
		})
	}
}

// Goal: with a limit on the size of the log its oldest files go, in all ways of
// taking files down, and nothing else.
func TestOldFilesGoAndNothingElse(t *testing.T) {
	t.Parallel()
	r := run(t, Options{Dir: scratch(t), Seed: 3, Rounds: 12, MaxLogBytes: 2 << 20})
	mustPass(t, r)
	if r.Deleted == 0 || r.Stored == 0 || r.LogBytes > 4<<20 {
		t.Errorf("%d records deleted, %d left in %d bytes", r.Deleted, r.Stored, r.LogBytes)
	}
}

// Goal: a run goes on where it stood, or repeats its last round, and nothing else.
func TestARunGoesOn(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	o := Options{Dir: dir, Seed: 3, Rounds: 2, Acks: 20}
	mustPass(t, run(t, o))
	second := run(t, o)
	mustPass(t, second)
	if second.From != 3 || second.Next != 5 {
		t.Errorf("went on from round %d up to %d, want 3 up to 5", second.From, second.Next)
	}
	o.From, o.Rounds = 4, 1
	again := run(t, o)
	mustPass(t, again)
	if again.From != 4 || again.Stored == 0 {
		t.Errorf("repeated round %d, want 4, with %d records", again.From, again.Stored)
	}
	for name, bad := range map[string]Options{
		"round before the last": {Dir: dir, Seed: 3, From: 2, Rounds: 1},
		"round to come":         {Dir: dir, Seed: 3, From: 9, Rounds: 1},
		"other seed":            {Dir: dir, Seed: 4, Rounds: 1},
		"foreign directory":     {Dir: filepath.Join(dir, "store"), Seed: 3, Rounds: 1},
	} {
		bad.Command = childCommand
		if _, err := Run(t.Context(), bad); !errors.Is(err, ErrDirectory) {
			t.Errorf("%s: %v, want %v", name, err, ErrDirectory)
		}
	}
	o.From = 0
	if r := run(t, o); r.From != 5 || len(r.Violations) > 0 {
		t.Errorf("what was refused left traces: %s", text(t, r))
	}
}

// Goal: what is interrupted in the middle of a round goes on with this round.
func TestAnInterruptedRunGoesOn(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	ctx, cancel := context.WithCancel(t.Context())
	o := Options{Dir: dir, Seed: 5, Rounds: 10, Acks: 50, Command: childCommand}
	o.Progress = func(done int, _ Round) {
		if done == 1 {
			time.AfterFunc(20*time.Millisecond, cancel)
		}
	}
	r, err := Run(ctx, o)
	if !errors.Is(err, context.Canceled) || r == nil {
		t.Fatalf("got %v and %v, want the report and %v", r, err, context.Canceled)
	}
	o.Progress, o.Rounds = nil, 1
	next := run(t, o)
	mustPass(t, next)
	if next.From != r.Next {
		t.Errorf("went on from round %d, want %d", next.From, r.Next)
	}
}

// A run ends in time.
func TestNoRoundBeginsAfterTheDuration(t *testing.T) {
	t.Parallel()
	r := run(t, Options{Dir: scratch(t), Seed: 5, Rounds: 1000, Acks: 5, Duration: time.Millisecond})
	mustPass(t, r)
	if r.Rounds != 1 {
		t.Errorf("%d rounds, want the one that began in time", r.Rounds)
	}
}
