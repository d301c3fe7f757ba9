package scenario

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"commitlab/bench/measure"
	"commitlab/engine"
)

// destroyer fills some files and takes them down, with nothing else going on but
// what pressure does:
//
//	put ─► N files full ─► flush ─► DeleteExpired ─► every step of each file ─► gone
//	                                ├──────────────────── expire ───────────────┤
//
// One operation is one such round. All files but the last expire: their records
// are older than a millisecond.
type destroyer struct {
	*appender
	*destructions
	fill int64 // bytes put in a round
}

// goneWithin is how long a round waits for its files, readers who hold them
// included.
const goneWithin = time.Minute

func newDestroyer(spec Spec) (measure.Instance, error) {
	d := &destroyer{destructions: newDestructions(spec.Dir), fill: max(spec.MaxBytes, spec.Options.CommitLogFileBytes)}
	spec.MaxBytes = math.MaxInt64 // what the log may grow to; a run ends by time or count
	spec.Options.OnDestroy = d.took
	var err error
	d.appender, err = newAppender(spec)
	return d, err
}

// needDestroy makes files expire at once, and only when that is asked for.
func needDestroy(o *engine.Options) error {
	if o.CommitLogFileBytes == 0 {
		o.CommitLogFileBytes = 256 << 20
	}
	if o.Dispatch == "" {
		o.Dispatch = engine.Off
	}
	if o.FileReservedMs == 0 {
		o.FileReservedMs = 1
	}
	if o.DeleteWhen == "" { // not while a run of some hours lasts
		o.DeleteWhen = fmt.Sprintf("%02d", (time.Now().Hour()+12)%24)
	}
	if o.DeleteFileIntervalMs == 0 {
		o.DeleteFileIntervalMs = 1
	}
	if o.CleanIntervalMs == 0 { // how often files are looked after that readers hold
		o.CleanIntervalMs = 100
	}
	if o.DestroyForceMs == 0 {
		o.DestroyForceMs = 500
	}
	return nil
}

// Events are the steps of the store's destructions.
func (d *destroyer) Events() *measure.Events { return d.events }

// Op is one round.
func (d *destroyer) Op(w *measure.Worker) error {
	writer := d.writers[w.ID]
	for filled := int64(0); filled < d.fill; {
		r, err := d.put(writer)
		if err != nil {
			return err
		}
		filled += int64(r.Size)
	}
	if err := d.store.Flush(); err != nil { // only what is durable goes
		return err
	}
	before := d.files.Load()
	start := w.Now()
	deleted, err := d.store.DeleteExpired()
	if err != nil {
		return err
	}
	for d.files.Load()-before < int64(deleted.Files) {
		if w.Now()-start > goneWithin {
			return fmt.Errorf("%d of %d deleted files are still there after %v", before+int64(deleted.Files)-d.files.Load(), deleted.Files, goneWithin)
		}
		time.Sleep(100 * time.Microsecond)
	}
	w.Observe(opExpire, w.Now()-start)
	return nil
}

// Verify compares what is left of the log.
func (d *destroyer) Verify(ctx context.Context) error { return d.verifyLeft(ctx) }

// verifyLeft compares those of the sample that have not been deleted, and the last
// message of each worker. The very last one never is.
func (a *appender) verifyLeft(ctx context.Context) error {
	var errs []error
	verified := 0
	for id, w := range a.writers {
		if w.written.seen == 0 {
			continue
		}
		for _, p := range slices.Concat(w.written.kept, []appended{w.last}) {
			if err := ctx.Err(); err != nil {
				return err
			}
			err := a.verify(w, p)
			if err != nil && p.physicalOffset < a.store.Snapshot().CommitLog.MinOffset {
				continue
			}
			verified++
			if err != nil {
				errs = append(errs, fmt.Errorf("verify worker %d at offset %d: %w", id, p.physicalOffset, err))
				break // one per worker tells enough
			}
		}
	}
	if verified == 0 {
		errs = append(errs, errors.New("verify: of all that was put nothing is left"))
	}
	return errors.Join(errs...)
}
