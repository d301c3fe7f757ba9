package measure

import (
	"fmt"
	"time"

	"commitlab/bench/pace"
)

// Status says how a run ended.
type Status string

const (
	OK          Status = "ok"
	Interrupted Status = "interrupted"        // the context was cancelled; what was measured is kept
	Failed      Status = "failed"             // the target or the sink returned an error
	Invalid     Status = "invalid: generator" // the load was not the load that was asked for
)

// Outcome is the result of a run. Every count is of operations whose due time (in
// a closed loop: whose start) lies in the measured window.
//
//	Due = Done + Late + Failed + Unfinished + NeverSent
type Outcome struct {
	Status Status
	Reason string // why the status is not ok, or why an ok run ended early; empty otherwise
	Closed bool   // closed loop: no response time, slip or lag exists

	Start   time.Time     // date at which the window opened; zero if it never did
	Warmup  time.Duration // what came before the window
	Window  time.Duration // actual length of the window; 0 if it never opened
	Drained time.Duration // from the end of the window to the last operation or the drain limit

	OfferedPerS  float64 // Due / Window; 0 in a closed loop
	AchievedPerS float64 // operations ended well in the window, whenever due, / Window

	Due        uint64 // due in the window
	Done       uint64 // ended well, in the window
	Late       uint64 // ended well, during the drain
	Failed     uint64 // returned an error
	Unfinished uint64 // still inside Op when the run gave up
	NeverSent  uint64 // due, but no worker was free until the drain limit, or the run ended early

	Ops []OpOutcome // in the order of the plan's names, the primary one first
	// Bystanders are InsideName and OutsideName of each of Plan.Bystanders, with a
	// service time only; Disturbed what they were sorted by, nil without any.
	Bystanders []OpOutcome
	Disturbed  *Disturbed
	// Backlog holds, for each operation never sent, how long it had been due when
	// the run gave up: a lower bound of its response time. It is not part of any
	// response distribution.
	Backlog *Dist
	Hiccup  *Dist // how late a thread that only sleeps woke up
	// Busy is the share of the workers' time in the window spent inside Op.
	Busy float64

	Steadiness      Steadiness
	OutliersDropped uint64
	// WallStep is the largest difference seen between the wall clock and the
	// run's start date plus monotonic time. Durations do not depend on it; from
	// about a second on, dates of this run and of other logs do not match.
	WallStep time.Duration
}

// OpOutcome is one operation's merged distributions; each is nil when nothing
// was recorded. See OpTick for the kinds.
type OpOutcome struct {
	Name                         string
	Service, Response, Slip, Lag *Dist
}

// outcome sums up a run whose workers have returned or been given up.
func (r *run) outcome() Outcome {
	o := Outcome{
		Status:          OK,
		Closed:          r.closed,
		Done:            r.sum.done,
		Late:            r.sum.late,
		Failed:          r.sum.failed,
		Unfinished:      r.left,
		Hiccup:          r.hiccups.dist(),
		Steadiness:      steadiness(r.intervals),
		OutliersDropped: r.sum.dropped,
		WallStep:        r.wallStep,
	}
	for i, name := range r.plan.names() {
		sums := &r.ops[i]
		o.Ops = append(o.Ops, OpOutcome{
			Name:     name,
			Service:  sums[service].dist(),
			Response: sums[response].dist(),
			Slip:     sums[slip].dist(),
			Lag:      sums[lag].dist(),
		})
	}
	if r.sorter != nil {
		r.sorter.outcome(&o)
	}
	o.Due = o.Done + o.Late + o.Failed + o.Unfinished
	if r.opened >= 0 {
		r.addWindow(&o)
	}
	r.judge(&o)
	return o
}

// addWindow adds what is relative to the window.
func (r *run) addWindow(o *Outcome) {
	end := time.Duration(r.end.Load())
	o.Start = r.date(r.opened)
	o.Warmup = r.opened
	o.Window = end - r.opened
	o.Drained = max(0, r.drained-end)
	if o.Window > 0 {
		o.AchievedPerS = float64(r.sum.ended) / o.Window.Seconds()
		o.Busy = r.sum.busy.Seconds() / (o.Window.Seconds() * float64(r.plan.Workers))
	}
	if r.closed {
		return
	}
	last := pace.Count(r.plan.Pacer, end)
	due := last - pace.Count(r.plan.Pacer, r.opened)
	// A cancelled run can have started an operation in the same instant.
	if due > o.Due {
		o.NeverSent = due - o.Due
		o.Due = due
	}
	if o.Window > 0 {
		o.OfferedPerS = float64(o.Due) / o.Window.Seconds()
	}
	o.Backlog = r.backlog(last-o.NeverSent, last)
}

// backlog is the waiting time so far of the operations [first, last), which were
// never sent. Numbers are drawn in order, so those not sent are the last ones.
// Beyond some millions, evenly spaced ones stand for their neighbours: a rate far
// above what the generator can do must not make the end of a run last.
func (r *run) backlog(first, last uint64) *Dist {
	const most = 4 << 20
	stride := (last-first)/most + 1
	var sum totals
	for n := first; n < last; n += stride {
		waited := r.drained - r.plan.Pacer.Due(n)
		sum.record(int64(waited), int64(min(stride, last-n)))
	}
	return sum.dist()
}

func (r *run) judge(o *Outcome) {
	switch {
	case r.hasFailed():
		o.Status, o.Reason = Failed, r.failure.Error()
	case r.hasEnded() && r.opened < 0:
		o.Status, o.Reason = Failed, fmt.Sprintf("in the warm-up: %v", r.failure)
	case r.cancelled:
		o.Status, o.Reason = Interrupted, fmt.Sprintf("interrupted %v into a window of %v", o.Window, r.plan.Duration)
	default:
		if fault := generatorFault(o); fault != "" {
			o.Status, o.Reason = Invalid, fault
		} else if r.hasEnded() {
			o.Reason = fmt.Sprintf("%v into a window of %v: %v", o.Window, r.plan.Duration, r.failure)
		}
	}
}
