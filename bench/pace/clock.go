package pace

import "time"

// Clock counts monotonic time from the moment it was made. A reading costs one
// time.Since of a fixed base, about half of a time.Now, because the date is not
// read. It is safe for concurrent use, and inside a testing/synctest bubble it
// is virtual, as all of package time is.
type Clock struct {
	base time.Time // immutable; holds a monotonic reading
}

// NewClock starts a clock at zero.
func NewClock() *Clock { return &Clock{base: time.Now()} }

// Now is the monotonic time since the clock was made. Steps of the wall clock do
// not move it.
func (c *Clock) Now() time.Duration { return time.Since(c.base) }

// At is the time of the clock at t, a time.Now of the same process. It is
// negative for a t before the clock was made.
func (c *Clock) At(t time.Time) time.Duration { return t.Sub(c.base) }
