package measure

import (
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// kinds of time recorded of one operation.
const (
	service = iota
	response
	slip
	lag
	kindCount
)

// series is the recording side of one operation of one worker. A closed loop
// and observed operations have service only; the others are nil.
type series [kindCount]*counts

// buffer is everything a worker records within one interval.
type buffer struct {
	ops []series // in the order of the plan's names

	// Of primary operations that belong to the window:
	done   uint64 // ended well, inside the window
	late   uint64 // ended well, after it
	failed uint64 // returned an error

	// Of whatever a worker did in the window, also for operations due before it:
	ended uint64        // operations that ended well
	busy  time.Duration // spent in Op

	outliers []rawOutlier // len bounded by its capacity
	dropped  uint64       // outliers beyond it
}

// rawOutlier is an Outlier as the worker leaves it, without pointers to follow.
type rawOutlier struct {
	n               uint64
	due, start, end time.Duration
	notes           [maxNotes]Note
	noteCount       int
}

// newBuffer has no room for the operations beside, which no worker does.
func newBuffer(ops int, open bool, outliers int, beside ...int) *buffer {
	b := &buffer{ops: make([]series, ops), outliers: make([]rawOutlier, 0, outliers)}
	for i := range b.ops {
		if !slices.Contains(beside, i) {
			b.ops[i][service] = touched()
		}
	}
	if open {
		for kind := response; kind < kindCount; kind++ {
			b.ops[0][kind] = touched()
		}
	}
	return b
}

// reset empties b but for its histograms, which totals.take has emptied.
func (b *buffer) reset() {
	*b = buffer{ops: b.ops, outliers: b.outliers[:0]}
}

// touched allocates counts and writes to all their pages, so that the first
// values do not fault them in on the operation path.
func touched() *counts {
	c := new(counts)
	for i := 0; i < len(c.cell); i += 512 {
		c.cell[i] = 1
	}
	*c = counts{}
	return c
}

// A recorder's gate says where its worker is. Inside an Op it is positive and
// holds the due time.
const (
	gateIdle      = 0  // outside Op, not recording
	gateRecording = -1 // the worker may write to the active buffer
)

func gateInside(due time.Duration) int64 { return int64(due) + 1 }

// gateAbandoned says that an Op returned after the run had given it up.
func gateAbandoned(due time.Duration) int64 { return -2 - int64(due) }

// unfinished is the due time of an Op that the run has given up, if gate says
// that there is one.
func unfinished(gate int64) (due time.Duration, ok bool) {
	switch {
	case gate > gateIdle:
		return time.Duration(gate - 1), true
	case gate < gateRecording:
		return time.Duration(-2 - gate), true
	}
	return 0, false
}

// recorder hands a worker's buffers over while the worker goes on.
//
//	worker    gate = recording -> load active -> write to it -> gate = something else
//	run       active = other -> wait while gate is recording -> the old buffer is ours
//
// Either the worker sees the new buffer, or the run sees the gate and waits for
// the few nanoseconds that recording takes: both the gate and active are
// sequentially consistent. The run never waits for an Op, so an interval is
// complete even while a worker is stuck inside one; and the worker never waits.
type recorder struct {
	gate   atomic.Int64           // written by the worker only
	active atomic.Pointer[buffer] // written by the run only
	spare  *buffer                // the run's; empty between exchanges

	// The same for the spans of bystanders, exchanged by the sorter; nil without
	// bystanders.
	spans      atomic.Pointer[spanBuffer]
	spareSpans *spanBuffer // the sorter's
}

// spanBuffer is the operations of bystander kinds that one worker did since the
// last exchange.
type spanBuffer struct {
	spans []span // len bounded by its capacity
	lost  uint64 // beyond it
}

func newSpanBuffer(capacity int) *spanBuffer {
	b := &spanBuffer{spans: make([]span, capacity)}
	// Written to once, as in touched, as far as a busy worker gets.
	for i := 0; i < min(capacity, fewestKept); i++ {
		b.spans[i].bystander = 1
	}
	b.reset()
	return b
}

func (b *spanBuffer) reset() { b.spans, b.lost = b.spans[:0], 0 }

// keepSpans makes the recorder keep spans of up to capacity operations.
func (r *recorder) keepSpans(capacity int) {
	r.spareSpans = newSpanBuffer(capacity)
	r.spans.Store(newSpanBuffer(capacity))
}

// span keeps one operation of a bystander kind. The worker has opened the
// recorder.
func (r *recorder) span(bystander int, start, end time.Duration) {
	b := r.spans.Load()
	if len(b.spans) == cap(b.spans) {
		b.lost++
		return
	}
	b.spans = append(b.spans, span{bystander, start, end})
}

// exchangeSpans takes the spans so far from the worker, by the rules of exchange.
func (r *recorder) exchangeSpans() *spanBuffer {
	full := r.spans.Load()
	r.spans.Store(r.spareSpans)
	r.settled()
	r.spareSpans = full
	return full
}

func newRecorder(ops int, open bool, outliers int, beside ...int) *recorder {
	r := &recorder{spare: newBuffer(ops, open, outliers, beside...)}
	r.active.Store(newBuffer(ops, open, outliers, beside...))
	return r
}

// open makes the active buffer the worker's until the gate is set again.
func (r *recorder) open() *buffer {
	r.gate.Store(gateRecording)
	return r.active.Load()
}

// exchange takes the buffer written so far from the worker. The caller reads and
// empties it, and must have done so before the next exchange.
func (r *recorder) exchange() *buffer {
	full := r.active.Load()
	r.active.Store(r.spare)
	r.settled()
	r.spare = full
	return full
}

// settled waits until the worker is not recording and returns the gate. It takes
// long only if the worker lost its processor just there.
func (r *recorder) settled() int64 {
	for tries := 0; ; tries++ {
		if gate := r.gate.Load(); gate != gateRecording {
			return gate
		}
		if tries < 100 {
			runtime.Gosched()
		} else {
			time.Sleep(50 * time.Microsecond)
		}
	}
}
