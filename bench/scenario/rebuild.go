package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"commitlab/bench/measure"
	"commitlab/engine"
)

// rebuilder times how long the store takes to build queues and index from the
// log it finds: one operation is the whole log.
type rebuilder struct {
	filled
}

func newRebuilder(spec Spec) (measure.Instance, error) {
	return &rebuilder{filled{spec: spec}}, nil
}

// Setup fills a store and closes it.
func (r *rebuilder) Setup(ctx context.Context) error {
	if err := r.fill(ctx); err != nil {
		return err
	}
	return r.store.Close()
}

// Op removes queues and index, opens the store, and observes the part of it
// that was spent on dispatch, and the opening by the size of the log. The operation
// itself is all of this.
func (r *rebuilder) Op(w *measure.Worker) error {
	for _, derived := range []string{"consumequeue", "index"} {
		if err := os.RemoveAll(filepath.Join(r.spec.Dir, derived)); err != nil {
			return err
		}
	}
	start := w.Now()
	s, err := engine.Open(r.spec.Dir, r.spec.Options)
	if err != nil {
		return err
	}
	open := w.Now() - start
	snap := s.Snapshot()
	w.Note(noteMessages, snap.Dispatched)
	if snap.Dispatched < int64(len(r.put)) {
		err = fmt.Errorf("%w: dispatched %d of %d messages", errAnswer, snap.Dispatched, len(r.put))
	} else {
		w.Observe(opDispatchMessage, time.Duration(snap.Recovery.DispatchNs/snap.Dispatched))
		w.Observe(opRebuildMiB, perMiB(open, snap.Recovery.EndOffset))
	}
	if closeErr := s.Close(); err == nil {
		err = closeErr
	}
	return err
}

// noteMessages is the name under which a rebuild notes how many messages it
// dispatched.
const noteMessages = "messages"

// Verify opens the store once more and compares a sample.
func (r *rebuilder) Verify(ctx context.Context) (err error) {
	if r.store, err = engine.Open(r.spec.Dir, r.spec.Options); err != nil {
		return err
	}
	return errors.Join(r.filled.Verify(ctx), r.store.Close())
}

// Counters is nil: the store is open only within an Op.
func (r *rebuilder) Counters() any { return nil }

// Close has nothing to close: every Op closes what it opened.
func (r *rebuilder) Close() error { return nil }
