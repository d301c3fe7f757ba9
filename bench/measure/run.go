package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"commitlab/bench/pace"
)

// Run drives inst through plan and feeds sink, which may be nil. It returns what
// was measured also when ctx is cancelled (status Interrupted, nil error) and
// when an Op, the sink, Verify or Close fails (status Failed and that error).
//
// An Op that never returns does not keep Run: it is counted as unfinished, its
// goroutine is left behind, Verify is not called, and the run has failed. In the
// worst case Run takes the warm-up and the window, the drain limit three times
// (backlog, operations under way, Close; of the last two each at least 1 s), and
// what Setup, Verify and the sink take.
func Run(ctx context.Context, inst Instance, plan Plan, sink Sink) (Outcome, error) {
	plan, err := plan.Resolve()
	if err != nil {
		return Outcome{Status: Failed, Reason: err.Error()}, err
	}
	if err := inst.Setup(ctx); err != nil {
		err = fmt.Errorf("set up: %w", err)
		return Outcome{Status: Failed, Reason: err.Error()}, err
	}
	ended, err := beside(ctx, inst, plan)
	if err != nil {
		err = errors.Join(err, inst.Close())
		return Outcome{Status: Failed, Reason: err.Error()}, err
	}
	ended = sync.OnceValue(ended)
	defer ended() // also when something panics
	r := newRun(inst, plan, sink)
	r.start()
	r.control(ctx)
	if err = ended(); err != nil {
		err = fmt.Errorf("end what went on beside: %w", err)
	}
	outcome := r.outcome()
	if err = errors.Join(err, r.finish(ctx)); err != nil {
		outcome.Status, outcome.Reason = Failed, err.Error()
		return outcome, err
	}
	return outcome, nil
}

// beside checks the target against the plan and starts what is to go on beside.
func beside(ctx context.Context, inst Instance, plan Plan) (ended func() error, err error) {
	if source, ok := inst.(EventSource); ok {
		if err := source.Events().check(plan); err != nil {
			return nil, err
		}
	}
	if plan.Beside == nil {
		return func() error { return nil }, nil
	}
	if ended, err = plan.Beside(ctx); err != nil {
		return nil, fmt.Errorf("start what is to go on beside: %w", err)
	}
	return ended, nil
}

// run is one run. Fields without a remark are immutable after newRun.
type run struct {
	inst     Instance
	preparer Preparer // nil if the target is none
	plan     Plan
	closed   bool
	clock    *pace.Clock // its zero is the pacer's
	crew     []*Worker
	hiccup   *recorder
	events   *Events // nil if the target has none
	sorter   *sorter // nil without bystanders

	workers sync.WaitGroup
	helpers sync.WaitGroup // the hiccup meter
	gone    chan struct{}  // closed when all workers have returned
	stop    chan struct{}  // closed by halt: ends waits

	tickets *tickets // of an open loop

	_ [64]byte
	// Limits of the run's clock, in nanoseconds; written by the controlling
	// goroutine, read by workers for each operation.
	cut       atomic.Int64 // start of the window; MaxInt64 until a closed loop has done its WarmupOps
	end       atomic.Int64 // end of the window; operations due later do not exist
	sendUntil atomic.Int64 // no operation starts later
	abandoned atomic.Bool  // what ends now is no longer recorded
	_         [64]byte

	errors   atomic.Uint64
	failOnce sync.Once
	failure  error         // written before failed is closed
	failed   chan struct{} // closed at the first failure or orderly end

	progress // of the controlling goroutine
}

func newRun(inst Instance, plan Plan, sink Sink) *run {
	r := &run{
		inst:   inst,
		plan:   plan,
		closed: pace.IsClosed(plan.Pacer),
		hiccup: newRecorder(1, false, 0),
		gone:   make(chan struct{}),
		stop:   make(chan struct{}),
		failed: make(chan struct{}),
	}
	r.preparer, _ = inst.(Preparer)
	var beside []int
	if source, ok := inst.(EventSource); ok {
		r.events = source.Events()
		beside = r.events.places(plan)
	}
	recorders := make([]*recorder, plan.Workers)
	for i := range recorders {
		recorders[i] = newRecorder(len(plan.Ops)+1, !r.closed, plan.OutlierLimit, beside...)
	}
	r.progress = newProgress(sink, len(plan.Ops)+1)
	r.clock = pace.NewClock()
	r.wallStart = plan.Wall()
	for i, rec := range recorders {
		w := newWorker(i, plan.Seed, plan.names(), r.clock, rec)
		w.waiter = pace.NewWaiter(r.clock, plan.Wait, plan.Workers, r.stop)
		r.crew = append(r.crew, w)
	}
	if len(plan.Bystanders) > 0 {
		r.sortBystanders()
	}
	if !r.closed {
		r.tickets = newTickets(plan.Pacer)
	}
	if r.closed && plan.WarmupOps > 0 {
		r.setWindow(math.MaxInt64, math.MaxInt64) // until they are done
		return r
	}
	cut := plan.Warmup
	if plan.WarmupOps > 0 {
		cut = max(cut, plan.Pacer.Due(plan.WarmupOps))
	}
	r.setWindow(cut, cut+plan.Duration)
	return r
}

// sortBystanders prepares the workers and the sorter.
func (r *run) sortBystanders() {
	for _, w := range r.crew {
		w.rec.keepSpans(max(spansKept/len(r.crew), fewestKept))
		for _, name := range w.names {
			w.split = append(w.split, slices.Index(r.plan.Bystanders, name))
		}
	}
	r.sorter = newSorter(r.crew, r.events, r.plan)
}

// setWindow fixes the window. The end is stored first: a worker that sees the cut
// sees the end.
func (r *run) setWindow(cut, end time.Duration) {
	r.sendUntil.Store(int64(end))
	if !r.closed {
		r.sendUntil.Store(int64(end + r.plan.Drain))
	}
	r.end.Store(int64(end))
	r.cut.Store(int64(cut))
}

func (r *run) start() {
	r.helpers.Go(func() { meterHiccups(r.clock, r.plan.Wait, r.hiccup, r.stop) })
	for _, w := range r.crew {
		r.workers.Go(func() { r.work(w) })
	}
	go func() {
		r.workers.Wait()
		close(r.gone)
	}()
}

// fail ends the run with err; only the first call counts.
func (r *run) fail(err error) {
	r.failOnce.Do(func() {
		r.failure = err
		close(r.failed)
	})
}

// halt ends sending now: what is due and not yet started stays undone.
func (r *run) halt() {
	now := r.clock.Now()
	r.sendUntil.Store(min(r.sendUntil.Load(), int64(now)))
	r.end.Store(min(r.end.Load(), int64(now)))
	if !isClosed(r.stop) {
		close(r.stop)
	}
}

// control is the run's own goroutine, from the start of the workers until all
// have returned or been given up.
func (r *run) control(ctx context.Context) {
	if r.warmUp(ctx) {
		r.window(ctx)
	}
	r.drain(ctx)
}

// finish checks and closes the target.
func (r *run) finish(ctx context.Context) error {
	var err error
	switch {
	case r.hasFailed():
		err = r.failure
	case r.hung > 0:
		err = fmt.Errorf("%d operations did not return within %v after the last one was started", r.hung, r.grace())
	default:
		// A cancelled context ends the load, not the check of what was done.
		if err = r.inst.Verify(context.WithoutCancel(ctx)); err != nil {
			err = fmt.Errorf("verify: %w", err)
		}
	}
	return errors.Join(err, r.closeInstance())
}

// closeInstance bounds Close when operations hang inside the target, since then
// Close may hang as well.
func (r *run) closeInstance() error {
	closing := make(chan error, 1)
	go func() { closing <- r.inst.Close() }()
	var limit <-chan time.Time
	if r.hung > 0 {
		limit = time.After(r.grace())
	}
	select {
	case err := <-closing:
		if err != nil {
			return fmt.Errorf("close: %w", err)
		}
		return nil
	case <-limit:
		return fmt.Errorf("close did not return within %v", r.grace())
	}
}

// hasFailed tells a failure from an orderly end by the target: see ErrEnd.
func (r *run) hasFailed() bool { return isClosed(r.failed) && !errors.Is(r.failure, ErrEnd) }

func (r *run) hasEnded() bool { return isClosed(r.failed) && errors.Is(r.failure, ErrEnd) }
