package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"commitlab/bench/measure"
	"commitlab/bench/workload"
	"commitlab/engine"
)

// appender puts messages into a store. It is the instance of append,
// append_sync and roll.
//
// Concurrency: the store is shared, everything else belongs to one worker.
type appender struct {
	spec    Spec
	store   *engine.Store
	writers []*appendWriter
}

// appendWriter is the state of one worker.
type appendWriter struct {
	generator *workload.Generator
	written   sample[appended]
	last      appended // zero before the first put
	full      bool     // the last put reached the end of the byte budget
}

// appended is what the store said about one message.
type appended struct {
	sequence       uint64
	physicalOffset int64
	queueOffset    int64
}

func newAppender(spec Spec) (*appender, error) {
	if spec.MaxBytes <= 0 {
		return nil, fmt.Errorf("maxBytes is %d, want a positive number of bytes", spec.MaxBytes)
	}
	return &appender{spec: spec}, nil
}

// Setup opens the store, puts one message, which makes the first file, and waits
// until the file after it is prepared. A run is shorter than a store's life: it
// would contain these two far too often. Rolls have a scenario of their own.
func (a *appender) Setup(ctx context.Context) error {
	data, err := workload.New(a.spec.Workload)
	if err != nil {
		return err
	}
	for id := range a.spec.Writers {
		a.writers = append(a.writers, &appendWriter{generator: data.Generator(id), written: newSample[appended]()})
	}
	if a.store, err = engine.Open(a.spec.Dir, a.spec.Options); err != nil {
		return err
	}
	if err = a.prepare(ctx); err != nil {
		return errors.Join(err, a.store.Close())
	}
	return nil
}

func (a *appender) prepare(ctx context.Context) error {
	first := func() (engine.PutResult, error) { return a.put(a.writers[0]) }
	if _, err := settingUp.put(ctx, first); err != nil {
		return err
	}
	const poll = time.Millisecond
	for !a.store.Snapshot().CommitLog.Prepared {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(poll):
		}
	}
	return nil
}

// Op puts the worker's next message.
func (a *appender) Op(w *measure.Worker) error {
	r, err := a.put(a.writers[w.ID])
	if err == nil {
		w.Note(noteOffset, r.PhysicalOffset)
	}
	return err
}

func (a *appender) put(w *appendWriter) (engine.PutResult, error) {
	if w.full {
		return engine.PutResult{}, errVolumeFull
	}
	sequence := w.generator.Sequence()
	r, err := a.store.Put(w.generator.Next())
	if err != nil {
		return r, err
	}
	w.last = appended{sequence: sequence, physicalOffset: r.PhysicalOffset, queueOffset: r.QueueOffset}
	w.written.offer(w.last)
	w.full = r.PhysicalOffset+int64(r.Size) >= a.spec.MaxBytes
	return r, nil
}

// Counters is the store's own account of the run so far.
func (a *appender) Counters() any { return a.store.Snapshot() }

// Verify reads a sample of the messages back by physical offset and compares
// them with what the generator made, or what is left of it in a log that is bounded.
func (a *appender) Verify(ctx context.Context) error {
	if a.spec.Options.MaxLogBytes > 0 {
		return a.verifyLeft(ctx)
	}
	var errs []error
	for id, w := range a.writers {
		for _, p := range w.written.kept {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := a.verify(w, p); err != nil {
				errs = append(errs, fmt.Errorf("verify worker %d at offset %d: %w", id, p.physicalOffset, err))
				break // one per worker tells enough
			}
		}
	}
	return errors.Join(errs...)
}

func (a *appender) verify(w *appendWriter, p appended) error {
	view, err := a.store.At(p.physicalOffset)
	if err != nil {
		return err
	}
	defer view.Release()
	r := &view.Record
	if r.PhysicalOffset != p.physicalOffset || r.QueueOffset != p.queueOffset {
		return fmt.Errorf("record says physical offset %d and queue offset %d, want %d and %d",
			r.PhysicalOffset, r.QueueOffset, p.physicalOffset, p.queueOffset)
	}
	return w.generator.Check(p.sequence, r.Topic, r.QueueID, r.Body)
}

// Close closes the store, so that it needs no recovery.
func (a *appender) Close() error { return a.store.Close() }

// roller is an appender that times the puts that go to a new file.
type roller struct{ *appender }

// Op puts the worker's next message and, when it is the first record of a file
// other than the first, observes it as a roll: it waited for the file to
// become ready. The two clock reads are part of the append's service time.
func (r roller) Op(w *measure.Worker) error {
	start := w.Now()
	result, err := r.put(r.writers[w.ID])
	if err == nil {
		w.Note(noteOffset, result.PhysicalOffset)
	}
	if err == nil && result.PhysicalOffset > 0 && result.PhysicalOffset%r.spec.Options.CommitLogFileBytes == 0 {
		w.Observe(opRoll, w.Now()-start)
	}
	return err
}
