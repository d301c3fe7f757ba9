package measure

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"commitlab/bench/pace"
)

// EventSource is an optional part of an Instance: operations that end in
// goroutines of the target and not in Op.
type EventSource interface {
	// Events returns the one Events of the instance, from Setup on.
	Events() *Events
}

// Events takes operations that no worker does: steps of a background job, reads
// of a goroutine beside the load. The run collects them at each tick, so that
// they stand beside the operations of workers, under names of the plan.
//
// No worker may observe an operation of one of these names.
//
// What ends before the measured window opens, or after the drain, is dropped.
//
// All methods are safe for concurrent use and take a mutex: they are for what
// happens some thousand times a second, and not for the path of an Op.
type Events struct {
	names []string // immutable

	mu    sync.Mutex
	clock *pace.Clock // of the run; nil while nothing is recorded
	ops   []*counts   // in the order of names
	split []int       // of each name its place among the bystanders, or -1
	taken eventSpans
}

// eventSpans is what the sorter of bystanders takes from Events.
type eventSpans struct {
	disturbances []interruption
	bystanders   []span
}

// NewEvents returns an Events for operations of these names, which must be among
// those of the plan.
func NewEvents(names ...string) *Events {
	e := &Events{names: names}
	for range names {
		e.ops = append(e.ops, new(counts))
	}
	return e
}

// Record takes an operation that began at start and took d. An unknown name is a
// mistake in the program and panics.
func (e *Events) Record(name string, start time.Time, d time.Duration) {
	i := slices.Index(e.names, name)
	if i < 0 {
		panic(fmt.Sprintf("measure: event %q recorded, want one of %q", name, e.names))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.clock == nil {
		return
	}
	e.ops[i].record(int64(d))
	if by := e.split[i]; by >= 0 {
		from := e.clock.At(start)
		e.taken.bystanders = append(e.taken.bystanders, span{bystander: by, start: from, end: from + d})
	}
}

// Disturb says that something went on from start for d by which bystanders may
// have suffered; see Plan.Bystanders. It is to be called as soon as that is over.
func (e *Events) Disturb(start time.Time, d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.clock == nil {
		return
	}
	from := e.clock.At(start)
	e.taken.disturbances = append(e.taken.disturbances, interruption{from, from + d})
}

// open begins to record, on the clock of a run.
func (e *Events) open(clock *pace.Clock, plan Plan) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.clock, e.split = clock, nil
	for _, name := range e.names {
		e.split = append(e.split, slices.Index(plan.Bystanders, name))
	}
}

// close ends recording.
func (e *Events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.clock = nil
}

// take adds what was recorded since the last call to the totals of the plan's
// operations.
func (e *Events) take(plan Plan, into []opTotals) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, place := range e.places(plan) {
		into[place][service].take(e.ops[i])
	}
}

// places are the indexes of the events among the plan's operations.
func (e *Events) places(plan Plan) []int {
	var places []int
	for _, name := range e.names {
		places = append(places, slices.Index(plan.names(), name))
	}
	return places
}

// takeSpans returns what came together for the sorter since the last call.
func (e *Events) takeSpans() eventSpans {
	e.mu.Lock()
	defer e.mu.Unlock()
	taken := e.taken
	e.taken = eventSpans{}
	return taken
}

// check reports names that the plan has not.
func (e *Events) check(plan Plan) error {
	for _, name := range e.names {
		if !slices.Contains(plan.names(), name) {
			return fmt.Errorf("target has events %q, plan has operations %q", name, plan.names())
		}
	}
	return nil
}
