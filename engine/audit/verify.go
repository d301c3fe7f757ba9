package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"commitlab/engine/fsutil"
	"commitlab/engine/index"
	"commitlab/engine/message"
	"commitlab/engine/storedir"
)

// Options are what the files of a store do not tell. The zero value suits a store
// of the usual configuration.
type Options struct {
	// IndexSlots and IndexItems are the layout of index files. With zeros it is
	// found from the header and the first and last item of each file.
	IndexSlots, IndexItems int
	// DelayLevels is the table of delays that the store had, as for the engine;
	// message.DefaultDelayLevels if empty. Units of delayed messages depend on it.
	DelayLevels string
	// EvenLocked: go on when somebody has the store open.
	EvenLocked bool
}

// Errors of the caller.
var (
	// ErrNoStore: the directory has no commit log.
	ErrNoStore = errors.New("not a store directory")
	// ErrOptions: no store can have such options.
	ErrOptions = errors.New("bad audit option")
)

// CheckStore fails with ErrNoStore if a directory has no commit log.
func CheckStore(dir string) error {
	if info, err := os.Stat(storedir.Layout(dir).CommitLog()); err != nil || !info.IsDir() {
		return fmt.Errorf("audit: %s: %w: no directory commitlog", dir, ErrNoStore)
	}
	return nil
}

// State is what the files in the root of a store say.
type State struct {
	LockedBy    *int                  `json:"lockedBy"` // process id, 0 if unknown; nil: not locked
	Abort       bool                  `json:"abort"`    // the store is open, or was not closed in order
	Checkpoint  *storedir.Checkpoint  `json:"checkpoint"`
	DelayOffset storedir.DelayOffsets `json:"delayOffset,omitempty"`
	// Skipped are ranges of the log that were found damaged and given up: nothing in
	// them is judged.
	Skipped []storedir.SkippedRange `json:"skipped,omitempty"`
	// DeletedTopics have records before a log offset that belong to no queue.
	DeletedTopics storedir.DeletedTopics `json:"deletedTopics,omitempty"`
}

// Verify audits the store in a directory. It fails with ErrNoStore, ErrOptions, with a
// *fsutil.LockedError unless EvenLocked, with what kept it from reading a file, and
// with the error of ctx. What is wrong with the store is no error but in the report.
func Verify(ctx context.Context, dir string, o Options) (*Report, error) {
	levels := o.DelayLevels
	if levels == "" {
		levels = message.DefaultDelayLevels
	}
	delays, err := message.ParseDelayLevels(levels)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	layout := index.Layout{Slots: o.IndexSlots, Items: o.IndexItems}
	if layout != (index.Layout{}) {
		if err := layout.Check(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOptions, err)
		}
	}
	r := newReport(dir)
	if r.State, err = readState(r, dir, o.EvenLocked); err != nil {
		return nil, err
	}
	l, err := newLogWalk(r, dir)
	if err != nil {
		return nil, err
	}
	queues, err := loadQueues(r, dir, delays)
	if err != nil {
		return nil, err
	}
	items, err := loadIndex(r, dir, layout, l)
	if err != nil {
		return nil, err
	}
	l.visit = func(rec *message.Record) error {
		if err := queues.record(rec); err != nil {
			return err
		}
		return items.record(rec)
	}
	if err := l.run(ctx); err != nil {
		return nil, err
	}
	if err := errors.Join(queues.rest(l), items.rest()); err != nil {
		return nil, err
	}
	r.judgeState(queues)
	return r, nil
}

// readState reads what lies in the root.
func readState(r *Report, dir string, evenLocked bool) (s State, err error) {
	layout := storedir.Layout(dir)
	if err := CheckStore(dir); err != nil {
		return s, err
	}
	err = fsutil.CheckLock(layout.Lock())
	var locked *fsutil.LockedError
	switch {
	case errors.As(err, &locked) && evenLocked:
		s.LockedBy = &locked.HolderPID
		r.note("%v: what changes meanwhile looks like damage", err)
	case err != nil:
		return s, fmt.Errorf("audit: %w", err)
	}
	if s.Abort, err = layout.AbortMarker().Present(); err != nil {
		return s, fmt.Errorf("audit: %w", err)
	}
	if s.Abort && locked == nil {
		r.note("the abort marker is there: the store was not closed in order; opening it cuts a torn end off and builds what is missing behind")
	}
	c, err := layout.ReadCheckpoint()
	switch {
	case err == nil:
		s.Checkpoint = &c
	case errors.Is(err, fs.ErrNotExist):
		r.note("there is no checkpoint")
	default:
		r.fault(Root, "checkpoint", 0, "%v", err)
	}
	if s.DelayOffset, err = layout.LoadDelayOffsets(); err != nil {
		r.fault(Root, "config/delayOffset.json", 0, "%v", err)
	}
	if s.Skipped, err = layout.LoadSkipped(); err != nil {
		r.fault(Root, "config/skippedRanges.json", 0, "%v", err)
	}
	for _, gap := range s.Skipped {
		r.note("the log is damaged from offset %d to %d, which was given up", gap.From, gap.To)
	}
	if s.DeletedTopics, err = layout.LoadDeletedTopics(); err != nil {
		r.fault(Root, "config/deletedTopics.json", 0, "%v", err)
	}
	return s, nil
}

// skipped returns the range that was given up around a log offset.
func (r *Report) skipped(offset int64) (gap storedir.SkippedRange, ok bool) {
	for _, gap := range r.State.Skipped {
		if offset >= gap.From && offset < gap.To {
			return gap, true
		}
	}
	return gap, false
}

// judgeState compares the root with what was found in the parts.
func (r *Report) judgeState(queues *queueTable) {
	if c := r.State.Checkpoint; c != nil && min(c.CommitLogMs, c.ConsumeQueueMs, c.IndexMs) < 0 {
		r.fault(Root, "checkpoint", 0, "times %d, %d, %d: negative", c.CommitLogMs, c.ConsumeQueueMs, c.IndexMs)
	}
	for _, level := range slices.Sorted(maps.Keys(r.State.DelayOffset)) {
		end := int64(0)
		if q := queues.byName[message.ScheduleTopic][int32(level-1)]; q != nil {
			end = q.end
		}
		if offset := r.State.DelayOffset[level]; offset < 0 || offset > end {
			r.fault(Root, "config/delayOffset.json", 0, "level %d was delivered up to %d, but its queue ends at %d", level, offset, end)
		}
	}
}
