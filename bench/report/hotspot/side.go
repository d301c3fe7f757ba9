package hotspot

import (
	"fmt"
	"time"

	"github.com/google/pprof/profile"
)

// Side is a profile and what was done while it was taken.
type Side struct {
	// Profile is read and not changed.
	Profile *profile.Profile
	// Operations ended in Window. 0 is: not known, or none; either way there is
	// no cost per operation.
	Operations uint64
	// Window is the length of the measured window; 0: not known, and taken to be
	// what the profile says that it covers.
	Window time.Duration
}

// Covered returns how much of the window the profile saw. A profile that is
// longer than its window, because it was started first and stopped last, saw all
// of it.
func (s Side) Covered() time.Duration {
	own := time.Duration(s.Profile.DurationNanos)
	switch {
	case s.Window <= 0:
		return max(own, 0)
	case own <= 0:
		return s.Window
	}
	return min(own, s.Window)
}

// covered returns how many of the operations the profile saw, taking them to be
// spread evenly over the window.
func (s Side) covered() float64 {
	if s.Window <= 0 {
		return float64(s.Operations)
	}
	return float64(s.Operations) * (float64(s.Covered()) / float64(s.Window))
}

// divisor returns what the values of the profile are to be divided by: operations,
// or seconds.
func (s Side) divisor(perOperation bool) (float64, error) {
	if perOperation {
		return s.covered(), nil
	}
	if s.Covered() <= 0 {
		return 0, fmt.Errorf("neither its operations nor its length are known")
	}
	return s.Covered().Seconds(), nil
}

// alike reports why two profiles of a kind cannot be compared.
func alike(s shape, a, b *profile.Profile) error {
	if !s.measuredPeriod && a.Period != b.Period {
		return fmt.Errorf("A has a sample per %d and B one per %d %s: the profiles were taken at different rates", a.Period, b.Period, s.period.Unit)
	}
	return nil
}
