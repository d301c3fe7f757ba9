package study

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"commitlab/bench/result"
)

// Launch runs one slot of a study whose directory is open, in a process of its
// own or wherever it likes, and returns when the slot's run has ended. When
// ctx is cancelled it ends the run early, so that what was measured is kept.
// A run that was measured and came out failed or invalid is no error.
type Launch func(ctx context.Context, dir *result.Dir, slot result.Slot) error

// Runner works through the order of a study.
type Runner struct {
	Launch   Launch
	Cooldown time.Duration
	Limit    time.Duration // for this call of Run; see Spec.Limit. 0 for none
	// Begin is called before each slot that is run, with how many of the order
	// are behind it, skipped ones included. Nil is allowed.
	Begin func(slot result.Slot, behind int)
	// Ended is called after each slot that was run. Nil is allowed.
	Ended func(slot result.Slot, m result.Manifest)
}

// Tally counts the slots of a study by how their runs ended.
type Tally struct {
	OK, Invalid, Failed int
	Unavailable         int // nothing was measured: something is not on this machine
	Resumed             int // of these, those that an earlier call ran
	Left                int // not run, because of the limit
	Reasons             []string
}

// Run runs every slot that has no ended run yet, in the order of the study.
// Interrupted runs are repeated, and those for which something was not on the
// machine: it may be there now. All others stand. It returns ctx.Err() when
// it was interrupted; runs that failed or are invalid are in the tally only.
func (r *Runner) Run(ctx context.Context, dir *result.Dir) (Tally, error) {
	var tally Tally
	watch := blockWatch{limit: r.Limit, start: time.Now()}
	for i, slot := range dir.Study.Order {
		m, err := result.ReadManifest(dir.RunPath(slot.Cell, slot.Block))
		if err == nil && m.Status() != result.Interrupted && m.Status() != result.Unavailable {
			tally.Resumed++
			tally.count(slot, m)
			continue
		}
		if err := ctx.Err(); err != nil {
			return tally, err
		}
		if !watch.mayBegin(slot.Block, time.Since(watch.start)) {
			tally.Left++
			continue
		}
		if r.Begin != nil {
			r.Begin(slot, i)
		}
		if m, err = r.run(ctx, dir, slot); err != nil {
			return tally, err
		}
		if r.Ended != nil {
			r.Ended(slot, m)
		}
		if m.Status() == result.Interrupted {
			// The run knows of the interrupt at its end; the context may not yet.
			if err := ctx.Err(); err != nil {
				return tally, err
			}
			return tally, fmt.Errorf("cell %s, block %d: %s", slot.Cell, slot.Block, m.Reason())
		}
		tally.count(slot, m)
		if err := r.rest(ctx); err != nil {
			return tally, err
		}
	}
	return tally, nil
}

// blockWatch decides whether there is time for another block, from the longest
// one so far.
type blockWatch struct {
	limit   time.Duration
	start   time.Time
	block   int // under way; 0 before the first
	begun   time.Duration
	longest time.Duration
	over    bool
}

// mayBegin is asked before each slot that is to be run. Once it has refused a
// block it refuses all.
func (w *blockWatch) mayBegin(block int, elapsed time.Duration) bool {
	if block == w.block || w.limit == 0 || w.over {
		return !w.over
	}
	if w.block > 0 {
		w.longest = max(w.longest, elapsed-w.begun)
		w.over = elapsed+w.longest > w.limit
	}
	w.block, w.begun = block, elapsed
	return !w.over
}

func (r *Runner) run(ctx context.Context, dir *result.Dir, slot result.Slot) (result.Manifest, error) {
	launchErr := r.Launch(ctx, dir, slot)
	m, err := result.ReadManifest(dir.RunPath(slot.Cell, slot.Block))
	if err := errors.Join(launchErr, err); err != nil {
		return m, fmt.Errorf("cell %s, block %d: %w", slot.Cell, slot.Block, err)
	}
	return m, nil
}

// rest brings the machine back to where the last run found it: everything is
// written back, then nothing happens for a while. The page cache of the run's
// files went when they were removed.
func (r *Runner) rest(ctx context.Context) error {
	syscall.Sync()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(r.Cooldown):
		return nil
	}
}

func (t *Tally) count(slot result.Slot, m result.Manifest) {
	switch m.Status() {
	case result.OK:
		t.OK++
		return
	case result.Invalid:
		t.Invalid++
	case result.Unavailable:
		t.Unavailable++
	default:
		t.Failed++
	}
	t.Reasons = append(t.Reasons, fmt.Sprintf("%s, block %d: %s: %s", slot.Cell, slot.Block, m.Status(), m.Reason()))
}

// StoreDir is where the run of a slot keeps its files while it runs: in a fresh
// directory below root.
func StoreDir(root string, slot result.Slot) string {
	return filepath.Join(root, fmt.Sprintf("%s-%03d", slot.Cell, slot.Block))
}

// removeStore removes a run's files. Removing a file also drops its pages from
// the page cache.
func removeStore(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the run's files: %w", err)
	}
	return nil
}
