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

// follower is an appender that also times how long each message takes until it
// can be found by queue and key. Whether it can is looked at after every put of
// the same worker, so at a low rate the times are no finer than the pause
// between puts.
type follower struct {
	*appender
	pending []awaiting // by worker
}

// awaited is a message that is not known to be dispatched.
type awaited struct {
	end int64         // log offset behind it
	at  time.Duration // when its put returned
}

// awaiting is a ring of messages of one worker, oldest first. When it is full,
// further messages are not followed.
type awaiting struct {
	ring       [maxPending]awaited
	head, tail uint
}

// maxPending bounds what a worker follows at a time; a power of two.
const maxPending = 1 << 14

func (a *awaiting) add(m awaited) {
	if a.tail-a.head < maxPending {
		a.ring[a.tail%maxPending] = m
		a.tail++
	}
}

// next returns the oldest message if it lies below an offset, and drops it.
func (a *awaiting) next(dispatched int64) (m awaited, ok bool) {
	if a.head == a.tail || a.ring[a.head%maxPending].end > dispatched {
		return awaited{}, false
	}
	a.head++
	return a.ring[(a.head-1)%maxPending], true
}

func newFollower(spec Spec) (measure.Instance, error) {
	a, err := newAppender(spec)
	if err != nil {
		return nil, err
	}
	return &follower{appender: a, pending: make([]awaiting, spec.Writers)}, nil
}

// Op puts the worker's next message and observes which earlier ones have become
// readable. The time of the put itself is timed as append.
func (f *follower) Op(w *measure.Worker) error {
	start := w.Now()
	r, err := f.put(f.writers[w.ID])
	if err != nil {
		return err
	}
	now := w.Now()
	w.Observe(opAppend, now-start)
	pending := &f.pending[w.ID]
	pending.add(awaited{end: r.End(), at: now})
	for dispatched := f.store.Dispatched(); ; {
		m, ok := pending.next(dispatched)
		if !ok {
			return nil
		}
		w.Observe(opReadable, now-m.at)
	}
}

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
