package measure

import (
	"errors"
	"time"
)

// work is the life of one worker. It is the operation path: between two Ops it
// takes no lock and allocates nothing.
func (r *run) work(w *Worker) {
	due, start, ok := r.begin(w)
	for ok {
		w.measuring = due >= time.Duration(r.cut.Load())
		w.noteCount = 0
		w.inside = gateInside(due)
		w.rec.gate.Store(w.inside)
		err := r.inst.Op(w)
		end := r.clock.Now()
		w.ideal = max(due, w.ideallyFree)
		w.ideallyFree = w.ideal + end - start

		b := w.rec.open()
		if r.abandoned.Load() {
			w.rec.gate.Store(gateAbandoned(due))
			return
		}
		if err == nil {
			r.record(w, b, due, start, end)
		} else if r.endsRun(w, b, err) {
			break
		}
		due, start, ok = r.begin(w)
	}
	w.rec.gate.Store(gateIdle)
}

// begin takes the worker's next operation and returns when it may start; ok is
// false when there is none. What the target wants prepared for it is, first.
//
// The gate may still say "recording" from the operation before; it is set to
// idle before anything that takes long.
func (r *run) begin(w *Worker) (due, start time.Duration, ok bool) {
	if r.preparer != nil {
		w.rec.gate.Store(gateIdle)
		r.preparer.Prepare(w)
	}
	if r.closed {
		start = r.clock.Now()
		w.N = w.taken
		w.taken++
		return start, start, start < time.Duration(r.end.Load())
	}
	w.N, due, start, ok = r.tickets.draw(w, &r.end, r.stop)
	return due, start, ok && start < time.Duration(r.sendUntil.Load())
}

// record books an operation that ended well. b is open.
func (r *run) record(w *Worker, b *buffer, due, start, end time.Duration) {
	cut, limit := time.Duration(r.cut.Load()), time.Duration(r.end.Load())
	if end >= cut {
		b.busy += min(end, limit) - min(max(start, cut), limit)
		if end <= limit {
			b.ended++
		}
	}
	if !w.measuring {
		w.warmed.Store(w.N + 1)
		return
	}
	if end <= limit {
		b.done++
	} else {
		b.late++
	}
	if w.split != nil && w.split[0] >= 0 {
		w.rec.span(w.split[0], start, end)
	}
	ops := &b.ops[0]
	ops[service].record(int64(end - start))
	worst := end - start
	if !r.closed {
		ops[response].record(int64(end - due))
		ops[slip].record(int64(start - due))
		ops[lag].record(int64(start - w.ideal))
		worst = end - due
	}
	if r.plan.OutlierOver > 0 && worst >= r.plan.OutlierOver {
		b.keepOutlier(w, due, start, end)
	}
}

// keepOutlier copies the operation's facts, up to the capacity that newBuffer
// made.
func (b *buffer) keepOutlier(w *Worker, due, start, end time.Duration) {
	if len(b.outliers) == cap(b.outliers) {
		b.dropped++
		return
	}
	b.outliers = append(b.outliers, rawOutlier{
		n: w.N, due: due, start: start, end: end, notes: w.notes, noteCount: w.noteCount,
	})
}

// endsRun books an operation that returned an error, and ends the run when there
// are too many, or when the target says so. Errors before the window count against
// the limit, too.
func (r *run) endsRun(w *Worker, b *buffer, err error) bool {
	if !errors.Is(err, ErrEnd) {
		if w.measuring {
			b.failed++
		}
		if r.errors.Add(1) <= r.plan.MaxErrors {
			return false
		}
	}
	w.rec.gate.Store(gateIdle)
	r.fail(err)
	return true
}
