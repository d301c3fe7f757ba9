package pace

import (
	"fmt"
	"time"
)

// Burst makes groups of operations due at one moment, once per period.
type Burst struct {
	size   uint64        // operations per burst; > 0
	period time.Duration // > 0
}

// NewBurst makes a schedule of size operations at once, every period.
func NewBurst(size uint64, period time.Duration) (Burst, error) {
	if size == 0 {
		return Burst{}, fmt.Errorf("burst of 0 operations")
	}
	if period <= 0 {
		return Burst{}, fmt.Errorf("burst period %v: want more than 0", period)
	}
	return Burst{size: size, period: period}, nil
}

// Due is the start of the burst that operation n belongs to.
func (b Burst) Due(n uint64) time.Duration {
	burst := n / b.size
	if burst > uint64(Never/b.period) {
		return Never
	}
	return time.Duration(burst) * b.period
}

// Rate is the mean over a period.
func (b Burst) Rate(time.Duration) float64 { return float64(b.size) / b.period.Seconds() }

func (b Burst) String() string { return fmt.Sprintf("burst:%d/%v", b.size, b.period) }
