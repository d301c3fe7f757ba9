package pace

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Step holds each of several rates for the same time; the last one stays.
type Step struct {
	rates []float64     // per second; all > 0; immutable
	hold  time.Duration // > 0
}

// NewStep makes a staircase of rates, each held for hold.
func NewStep(hold time.Duration, rates ...float64) (Step, error) {
	if len(rates) == 0 {
		return Step{}, errors.New("step schedule without a rate")
	}
	for i, rate := range rates {
		if err := checkRate(fmt.Sprintf("step %d", i), rate); err != nil {
			return Step{}, err
		}
	}
	if hold <= 0 {
		return Step{}, fmt.Errorf("step duration %v: want more than 0", hold)
	}
	return Step{rates: append([]float64(nil), rates...), hold: hold}, nil
}

// Due walks the steps; the fraction of an operation left over at the end of a
// step is carried into the next one.
func (s Step) Due(n uint64) time.Duration {
	hold := s.hold.Seconds()
	left := float64(n)
	last := len(s.rates) - 1
	for i, rate := range s.rates {
		if left < rate*hold || i == last {
			return duration(float64(i)*hold + left/rate)
		}
		left -= rate * hold
	}
	return Never
}

// Rate is that of the step that holds t.
func (s Step) Rate(t time.Duration) float64 {
	i := int(max(0, t) / s.hold)
	return s.rates[min(i, len(s.rates)-1)]
}

func (s Step) String() string {
	names := make([]string, len(s.rates))
	for i, rate := range s.rates {
		names[i] = formatRate(rate)
	}
	return fmt.Sprintf("step:%s/%v", strings.Join(names, ","), s.hold)
}
