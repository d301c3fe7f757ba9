package pace

import (
	"fmt"
	"math"
	"time"
)

// Ramp is a rate that moves linearly from one value to another and then stays.
//
//	rate  to |        ________
//	         |      /
//	         |    /
//	    from |  /
//	         +--+-----+-------- t
//	            0     over
type Ramp struct {
	from, to float64       // per second; from >= 0, to > 0
	over     time.Duration // > 0
}

// NewRamp makes a ramp. It may start at 0 but must end above it.
func NewRamp(from, to float64, over time.Duration) (Ramp, error) {
	if from != 0 {
		if err := checkRate("ramp start", from); err != nil {
			return Ramp{}, err
		}
	}
	if err := checkRate("ramp end", to); err != nil {
		return Ramp{}, err
	}
	if over <= 0 {
		return Ramp{}, fmt.Errorf("ramp duration %v: want more than 0", over)
	}
	return Ramp{from: from, to: to, over: over}, nil
}

// Due solves from*t + (to-from)*t*t/(2*over) = n for t.
func (r Ramp) Due(n uint64) time.Duration {
	over := r.over.Seconds()
	number := float64(n)
	during := (r.from + r.to) / 2 * over
	if number >= during {
		return duration(over + (number-during)/r.to)
	}
	slope := (r.to - r.from) / over
	root := math.Sqrt(r.from*r.from + 2*slope*number)
	// Equal to (root-from)/slope, without the cancellation when slope is small.
	return duration(2 * number / max(r.from+root, math.SmallestNonzeroFloat64))
}

// Rate is linear during the ramp and constant afterwards.
func (r Ramp) Rate(t time.Duration) float64 {
	if t >= r.over {
		return r.to
	}
	share := max(0, t.Seconds()/r.over.Seconds())
	return r.from + (r.to-r.from)*share
}

func (r Ramp) String() string {
	return fmt.Sprintf("ramp:%s-%s/%v", formatRate(r.from), formatRate(r.to), r.over)
}
