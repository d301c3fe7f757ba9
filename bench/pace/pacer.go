package pace

import (
	"math"
	"sort"
	"time"
)

// Never is the due time of an operation that a finite schedule does not hold.
const Never = time.Duration(math.MaxInt64)

// Pacer is a schedule of operations. Implementations are immutable and safe
// for concurrent use.
type Pacer interface {
	// Due is the moment at which operation n (from 0) is due, measured from the
	// start of the run. It depends on n alone and never falls as n grows.
	Due(n uint64) time.Duration
	// Rate is the offered rate at time t of the run, in operations per second.
	Rate(t time.Duration) float64
	// String is the notation that Parse reads back into an equal Pacer.
	String() string
}

// Closed is the schedule without due times: the next operation starts when the
// last one ends. It measures service time and capacity, never response time.
type Closed struct{}

// Due is 0: every operation may start at once.
func (Closed) Due(uint64) time.Duration { return 0 }

// Rate is 0: a closed loop offers no rate of its own.
func (Closed) Rate(time.Duration) float64 { return 0 }

func (Closed) String() string { return "max" }

// IsClosed reports whether p has no due times. A nil Pacer is a closed loop.
func IsClosed(p Pacer) bool {
	if p == nil {
		return true
	}
	_, closed := p.(Closed)
	return closed
}

// Count is the number of operations due before t, that is the smallest n with
// Due(n) >= t. It takes a few dozen calls of Due and must not be used with a
// closed loop.
func Count(p Pacer, t time.Duration) uint64 {
	const farthest = 1 << 52 // float64 still tells neighbouring numbers apart
	limit := 1
	for limit < farthest && p.Due(uint64(limit)) < t {
		limit *= 2
	}
	return uint64(sort.Search(limit, func(n int) bool { return p.Due(uint64(n)) >= t }))
}

// duration converts seconds to a Duration, saturating at Never.
func duration(seconds float64) time.Duration {
	ns := seconds * 1e9
	if ns >= math.MaxInt64 || math.IsNaN(ns) {
		return Never
	}
	return time.Duration(ns)
}
