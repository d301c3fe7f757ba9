package scenario

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"commitlab/bench/measure"
	"commitlab/bench/workload"
	"commitlab/engine"
	"commitlab/engine/message"
)

// retainer appends to a log that may only be so large, so that files are made at
// one end and taken down at the other for as long as it runs:
//
//	    DeleteExpired of the store itself        dispatch        put
//	log ├────────────┼───────────────────────────────┼────────────┤─►
//	      destroyed           maxLogBytes             ▲
//	                                              lookup by key, at a low fixed rate
//
// Append, dispatch and lookup are bystanders of the destructions: each is compared
// inside and outside of them.
type retainer struct {
	*appender
	*destructions
	data *workload.Workload

	recent  recent
	follows bool        // dispatch is on; immutable after Setup
	mostAt  int64       // bytes of the log at which the run ends: deletion does not keep up
	behind  atomic.Bool // it got there

	stop    context.CancelFunc
	lookers sync.WaitGroup
	failure atomic.Pointer[error]
}

const (
	// followEvery is how many puts of a worker come to one whose dispatch is
	// followed: to follow all would be a part of the put's own time.
	followEvery = 64
	// lookupPeriod is the time between two lookups beside the load.
	lookupPeriod = 5 * time.Millisecond
	// rollingFiles is how many files the log may have.
	rollingFiles = 4
	// mostBehind is how much larger than maxLogBytes the log may get.
	mostBehind = 2 << 30
)

// errFellBehind ends a run in order.
var errFellBehind = fmt.Errorf("%w: deletion does not keep up with the writers", measure.ErrEnd)

func newRetainer(spec Spec) (measure.Instance, error) {
	if spec.Options.Dispatch != engine.Off {
		spec.Workload.UniqueKeys = true // what lookups ask for
	}
	r := &retainer{
		destructions: newDestructions(spec.Dir, opLookup),
		mostAt:       min(spec.Options.MaxLogBytes, math.MaxInt64-mostBehind) + mostBehind,
	}
	r.recent.first.Store(math.MaxInt64)
	spec.Options.OnDestroy = r.took
	var err error
	r.appender, err = newAppender(spec)
	return r, err
}

// needRolling keeps the log to a few small files, unless their sizes were set.
func needRolling(o *engine.Options, flush string) error {
	if o.Flush != "" && o.Flush != flush {
		return fmt.Errorf("option flush: got %s, want %s: that is what the scenario measures", o.Flush, flush)
	}
	o.Flush = flush
	if o.CommitLogFileBytes == 0 {
		o.CommitLogFileBytes = 64 << 20
	}
	if o.MaxLogBytes == 0 {
		o.MaxLogBytes = rollingFiles * o.CommitLogFileBytes
	}
	if o.DeleteFileIntervalMs == 0 {
		o.DeleteFileIntervalMs = 10
	}
	if o.Dispatch == engine.Off {
		return nil // then append is the only bystander
	}
	return needDispatch(o)
}

// Setup opens the store and starts the lookups, if messages can be found.
func (r *retainer) Setup(ctx context.Context) (err error) {
	if r.data, err = workload.New(r.spec.Workload); err != nil {
		return err
	}
	if err := r.appender.Setup(ctx); err != nil {
		return err
	}
	ctx, r.stop = context.WithCancel(context.Background())
	if r.spec.Options.Dispatch == engine.Off {
		return nil
	}
	r.follows = true
	r.lookers.Go(func() {
		if err := r.lookUp(ctx); err != nil {
			err = fmt.Errorf("lookup beside the load: %w", err)
			r.failure.Store(&err)
		}
	})
	return nil
}

// Events are the steps of the store's destructions, and the lookups.
func (r *retainer) Events() *measure.Events { return r.events }

// Op puts the worker's next message. When it is the first of a file it is observed
// as a roll, too; what of the followed ones has been dispatched is observed.
func (r *retainer) Op(w *measure.Worker) error {
	if err := r.failure.Load(); err != nil {
		return *err
	}
	if r.behind.Load() {
		return errFellBehind
	}
	writer := r.writers[w.ID]
	start := w.Now()
	result, err := r.put(writer)
	if err != nil {
		return err
	}
	w.Note(noteOffset, result.PhysicalOffset)
	if result.PhysicalOffset > 0 && result.PhysicalOffset%r.spec.Options.CommitLogFileBytes == 0 {
		w.Observe(opRoll, w.Now()-start)
	}
	if !r.follows {
		return nil
	}
	if writer.last.sequence%followEvery == 0 {
		r.recent.add(recentMessage{awaited{end: result.End(), at: w.Now()}, w.ID, writer.last})
	}
	if dispatched := r.store.Dispatched(); r.recent.first.Load() <= dispatched {
		r.recent.observe(w, dispatched)
	}
	return nil
}

// lookUp asks for a message of late at each period, until the context ends.
func (r *retainer) lookUp(ctx context.Context) error {
	random := rand.New(rand.NewPCG(r.spec.Workload.Seed, 1))
	var generators []*workload.Generator // of this goroutine
	for id := range r.spec.Writers {
		generators = append(generators, r.data.Generator(id))
	}
	var found []engine.View
	tick := time.NewTicker(lookupPeriod)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		m, ok := r.recent.pick(random, r.store.Dispatched())
		if !ok {
			continue
		}
		asked := generators[m.worker].At(m.sequence)
		unique, _ := asked.Properties.Get(message.PropertyUniqueKey)
		topic, key := strings.Clone(asked.Topic), string(unique)
		start := time.Now()
		var err error
		if found, err = r.store.AppendQuery(found[:0], topic, key, 1, 0, math.MaxInt64); err != nil {
			return err
		}
		offset := int64(-1)
		for i := range found {
			offset = found[i].PhysicalOffset
			found[i].Release()
		}
		took := time.Since(start)
		switch {
		case offset == m.physicalOffset:
			r.events.Record(opLookup, start, took)
		case m.physicalOffset >= r.store.Snapshot().CommitLog.MinOffset:
			return fmt.Errorf("%w: key %s led to offset %d, want %d", errAnswer, key, offset, m.physicalOffset)
		}
	}
}

// Counters are the store's own account. It is also where a log is found to grow.
func (r *retainer) Counters() any {
	snap := r.store.Snapshot()
	if log := &snap.CommitLog; log.AppendedOffset-log.MinOffset > r.mostAt {
		r.behind.Store(true)
	}
	return snap
}

// Verify compares what is left of the log.
func (r *retainer) Verify(ctx context.Context) error {
	if err := r.failure.Load(); err != nil {
		return *err
	}
	return r.verifyLeft(ctx)
}

// Close ends the lookups and closes the store.
func (r *retainer) Close() error {
	r.stop()
	r.lookers.Wait()
	return r.appender.Close()
}
