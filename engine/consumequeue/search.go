package consumequeue

import (
	"fmt"
	"math"
)

// A Bound says which unit a search by time wants.
type Bound int

const (
	// Lower: the first unit stored at the time or later.
	Lower Bound = iota
	// Upper: the last unit stored at the time or earlier.
	Upper
)

// SearchByTime returns the queue offset that a time leads to, in [Min, Max]. With
// Lower that is the first unit stored at timeMs (epoch milliseconds) or later, or
// Max if all are older. With Upper it is the last unit stored at timeMs or
// earlier, or Min if all are younger.
//
// storeTime gives the store time of a unit's record; false means that it cannot
// be read, and the unit is passed over. It is called about log2(n) times, and
// once for each unreadable record in the way. Store times are taken to ascend;
// where the clock was set back, an offset close by is found. It fails if a file cannot
// be opened at its first use.
func (q *Queue) SearchByTime(timeMs int64, bound Bound, storeTime func(Unit) (ms int64, ok bool)) (int64, error) {
	if err := q.files.Use(); err != nil {
		return 0, fmt.Errorf("search consume queue %s: %w", q.dir, err)
	}
	lo, hi := q.min.Load(), q.max.Load()
	last, first := q.search(lo, hi, func(u Unit) (before, known bool) {
		ms, ok := storeTime(u)
		return ms < timeMs || bound == Upper && ms == timeMs, ok
	})
	if bound == Lower {
		return first, nil
	}
	return max(last, lo), nil
}

// CorrectMin moves Min to the first unit of a record that the log, which starts
// at minPhysical, still has; to Max if there is none. It returns Min, which never
// goes back. It fails, and Min stays, if a file cannot be opened at its first use.
func (q *Queue) CorrectMin(minPhysical int64) (int64, error) {
	lo, hi := q.min.Load(), q.max.Load()
	first := hi
	if lo < hi && q.maxPhysical.Load() > minPhysical {
		if u, ok := q.Read(lo); ok && u.PhysicalOffset >= minPhysical { // mostly, and load has read it
			return q.min.Load(), nil
		}
		if err := q.files.Use(); err != nil { // else all units of the file would be passed over
			return lo, fmt.Errorf("correct the minimum of consume queue %s: %w", q.dir, err)
		}
		_, first = q.search(lo, hi, func(u Unit) (before, known bool) {
			return u.PhysicalOffset < minPhysical, true
		})
	}
	q.raiseMin(first)
	return q.min.Load(), nil
}

// search splits the messages of [lo, hi) in two: those that before is true for
// come first. It returns the last of these, or -1, and the first of the others,
// or hi. Offsets without a message, and those that before does not know, are
// passed over.
func (q *Queue) search(lo, hi int64, before func(Unit) (before, known bool)) (last, first int64) {
	last, first = -1, hi
	for lo < hi {
		mid := lo + (hi-lo)/2
		at, isBefore := q.nextKnown(mid, hi, before)
		switch {
		case at == hi: // nothing to go by in [mid, hi)
			hi = mid
		case isBefore:
			last, lo = at, at+1
		default:
			first, hi = at, mid
		}
	}
	return last, first
}

// nextKnown returns the first offset of [from, to) that before knows, or to.
func (q *Queue) nextKnown(from, to int64, before func(Unit) (before, known bool)) (at int64, isBefore bool) {
	for at = from; at < to; at++ {
		u, ok := q.Read(at)
		if !ok {
			continue
		}
		if isBefore, known := before(u); known {
			return at, isBefore
		}
	}
	return to, false
}

// AddressBounds returns the smallest and the largest extension address in the
// live units, for cutting the extension file at both ends. It reads the queue
// from both ends until it meets one, and all of it if there is none. It fails if a
// file cannot be opened at its first use.
func (q *Queue) AddressBounds() (lowest, highest int64, ok bool, err error) {
	if err := q.files.Use(); err != nil {
		return 0, 0, false, fmt.Errorf("addresses of consume queue %s: %w", q.dir, err)
	}
	lo, hi := q.min.Load(), q.max.Load()
	lowest, highest = math.MaxInt64, math.MinInt64
	for at := lo; at < hi; at++ {
		if u, found := q.Read(at); found && IsExtAddress(u.TagsCode) {
			lowest, ok = u.TagsCode, true
			break
		}
	}
	for at := hi - 1; ok && at >= lo; at-- {
		if u, found := q.Read(at); found && IsExtAddress(u.TagsCode) {
			highest = u.TagsCode
			break
		}
	}
	return lowest, highest, ok, nil
}
