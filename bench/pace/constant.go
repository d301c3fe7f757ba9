package pace

import (
	"fmt"
	"time"
)

// Constant is a steady rate: operation n is due at n / rate.
type Constant struct {
	rate float64 // per second; > 0
}

// NewConstant makes a schedule of perSecond operations per second, which must be
// positive and finite.
func NewConstant(perSecond float64) (Constant, error) {
	if err := checkRate("rate", perSecond); err != nil {
		return Constant{}, err
	}
	return Constant{rate: perSecond}, nil
}

// Due divides anew for each n, so that rounding never adds up to a drift.
func (c Constant) Due(n uint64) time.Duration {
	return duration(float64(n) / c.rate)
}

// Rate is the same at all times.
func (c Constant) Rate(time.Duration) float64 { return c.rate }

func (c Constant) String() string { return formatRate(c.rate) }

// checkRate refuses rates that are not positive finite numbers.
func checkRate(name string, perSecond float64) error {
	if !(perSecond > 0) || perSecond > maxRate {
		return fmt.Errorf("%s %v per second: want more than 0 and at most %v", name, perSecond, float64(maxRate))
	}
	return nil
}

// maxRate is one operation per nanosecond, the resolution of a due time.
const maxRate = 1e9
