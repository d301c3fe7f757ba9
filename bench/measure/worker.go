package measure

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"commitlab/bench/pace"
)

// maxNotes bounds the notes of one operation; Note drops those beyond.
const maxNotes = 8

// Worker is one caller of Op. An Op uses the fields and methods of the Worker it
// was given, from its own goroutine and only until it returns.
type Worker struct {
	ID   int        // from 0
	Rand *rand.Rand // seeded from the plan's seed and ID
	// N is the number of the current operation: in an open loop its place in the
	// schedule, shared by all workers; in a closed loop a count of this worker.
	N uint64

	names  []string // immutable
	split  []int    // immutable; of each name its place among the bystanders, or -1
	clock  *pace.Clock
	rec    *recorder
	waiter *pace.Waiter
	// ideallyFree is when the worker would have ended its last operation if the
	// generator had never been late; see package comment on lag.
	ideallyFree time.Duration
	ideal       time.Duration // start of the current operation in that course
	taken       uint64        // operations begun in a closed loop
	measuring   bool          // the current operation belongs to the window
	inside      int64         // gate value while inside the current Op
	notes       [maxNotes]Note
	noteCount   int
	warmed      atomic.Uint64 // operations done before the window of a closed loop
	_           [64]byte      // workers do not share cache lines
}

// NewWorker makes a worker outside of a run, for drivers that count instead of
// timing, such as a testing.B loop: set N, call Op, read Observed. The names are
// those that Observe may use besides primary.
func NewWorker(id int, seed uint64, primary string, ops ...string) *Worker {
	names := append([]string{primary}, ops...)
	w := newWorker(id, seed, names, pace.NewClock(), newRecorder(len(names), false, 0))
	w.measuring = true
	return w
}

func newWorker(id int, seed uint64, names []string, clock *pace.Clock, rec *recorder) *Worker {
	return &Worker{
		ID:    id,
		Rand:  rand.New(rand.NewPCG(seed, uint64(id))),
		names: names,
		clock: clock,
		rec:   rec,
	}
}

// Now is the run's monotonic clock, for the durations given to Observe. One
// reading costs some 35 ns.
func (w *Worker) Now() time.Duration { return w.clock.Now() }

// Observe records the duration of an operation inside the current Op under a
// name of its own, which must be one of the plan's: anything else is a mistake in
// the program and panics. Like the Op itself it counts only inside the measured
// window. It does not allocate.
func (w *Worker) Observe(op string, d time.Duration) {
	if !w.measuring {
		return
	}
	for i, name := range w.names {
		if name == op {
			w.rec.open().ops[i][service].record(int64(d))
			w.rec.gate.Store(w.inside)
			return
		}
	}
	panic(fmt.Sprintf("measure: operation %q observed, plan has %q", op, w.names))
}

// ObserveSpan is Observe of an operation by when it began and ended on the run's
// clock, which need not be just now. It is how a bystander is observed.
func (w *Worker) ObserveSpan(op string, start, end time.Duration) {
	w.Observe(op, end-start)
	if !w.measuring || w.split == nil {
		return
	}
	if by := w.split[slices.Index(w.names, op)]; by >= 0 {
		w.rec.gate.Store(gateRecording)
		w.rec.span(by, start, end)
		w.rec.gate.Store(w.inside)
	}
}

// Note attaches a number to the current operation, to be kept if it becomes an
// Outlier: an offset, a stage time, a file crossing. At most eight per operation
// are kept. It does not allocate when name is a constant.
func (w *Worker) Note(name string, value int64) {
	if w.noteCount < maxNotes {
		w.notes[w.noteCount] = Note{Name: name, Value: value}
		w.noteCount++
	}
}

// Do prepares for an operation, if the target is a Preparer, and calls Op once. For
// workers made by NewWorker.
func (w *Worker) Do(inst Instance) error {
	w.prepare(inst)
	return inst.Op(w)
}

func (w *Worker) prepare(inst Instance) {
	if p, ok := inst.(Preparer); ok {
		p.Prepare(w)
	}
}

// Timed is Do that records the service time of the Op under the primary name: two
// clock readings and one record.
func (w *Worker) Timed(inst Instance) error {
	w.noteCount = 0
	w.prepare(inst)
	start := w.clock.Now()
	err := inst.Op(w)
	end := w.clock.Now()
	if err == nil {
		w.rec.open().ops[0][service].record(int64(end - start))
		w.rec.gate.Store(gateIdle)
	}
	return err
}

// Observed returns what a worker made by NewWorker has recorded since the last
// call, in the order of its names, and starts anew.
func (w *Worker) Observed() []OpOutcome {
	full := w.rec.exchange()
	outcomes := make([]OpOutcome, len(w.names))
	for i, name := range w.names {
		var sum totals
		sum.take(full.ops[i][service])
		outcomes[i] = OpOutcome{Name: name, Service: sum.dist()}
	}
	return outcomes
}
