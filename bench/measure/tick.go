package measure

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Sink takes a run's data as it comes. It is called from one goroutine, never
// concurrently; an error ends the run.
type Sink interface {
	// Tick takes one interval. The histograms belong to the sink from then on.
	Tick(Tick) error
	// Outlier takes one slow operation; all of an interval come just before its
	// Tick.
	Outlier(Outlier) error
}

// Tick is what was recorded within one interval of the measured window. The last
// one of a run also holds what ended during the drain.
//
// An operation belongs to the interval in which it ended. Interval limits are
// those of the actual exchange of histograms, on one monotonic clock; the dates
// are the date of the run's start plus monotonic time, so that they never run
// backwards, whatever the wall clock does.
type Tick struct {
	Start, End time.Time
	From, To   time.Duration // the same limits, from the start of the window
	Ops        []OpTick      // in the order of the plan's names, the primary one first
	// Bystanders are the operations of Plan.Bystanders whose verdict fell in the
	// interval, a second after they ended: two for each, InsideName and
	// OutsideName, with a service time only.
	Bystanders []OpTick
	Hiccup     *hdrhistogram.Histogram
	Counters   any // of CounterSource, sampled at End; nil if there is none
}

// OpTick is one operation's part of a Tick, in nanoseconds. Each histogram is nil
// when it would be empty. Only the primary operation of an open loop has
// Response, Slip and Lag.
type OpTick struct {
	Name     string
	Service  *hdrhistogram.Histogram // end - start
	Response *hdrhistogram.Histogram // end - due
	Slip     *hdrhistogram.Histogram // start - due
	Lag      *hdrhistogram.Histogram // start - the later of due and worker free
	Failed   uint64                  // operations that returned an error; they are in no histogram
	// Values above HighestNs, counted in each histogram's last cell, and the
	// exact maxima of the interval.
	Over, Max OpValues
}

// OpValues holds one number for each kind of time.
type OpValues struct{ Service, Response, Slip, Lag int64 }

// Outlier is one operation at or above the plan's threshold. Times are monotonic,
// from the start of the run (the pacer's zero).
type Outlier struct {
	Op              string
	Worker          int
	N               uint64 // number of the operation
	Due, Start, End time.Duration
	Date            time.Time // of End, by the rule of Tick
	Notes           []Note    // what Op noted; nil if nothing
}

// Note is a number that an Op attached to itself with Worker.Note.
type Note struct {
	Name  string
	Value int64
}
