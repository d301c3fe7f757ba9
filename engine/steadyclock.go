package engine

import "time"

// A steadyClock tells the time that ages are judged by. It follows the wall clock,
// but a step forward only after settleTime: a clock that was set to next year
// would make all files expire at once, and may be set back soon. A step back makes
// files younger and is followed at once.
type steadyClock struct {
	last    time.Time     // as of the last call
	ahead   time.Duration // by how much the wall clock is not believed
	stepped time.Time     // when it stepped forward last
}

const (
	// settleTime is how long a step forward must last.
	settleTime = time.Hour
	// stepTime is the least that counts as a step.
	stepTime = time.Minute
)

// at returns the time to judge by at wall, a time.Now, and whether the wall clock
// stepped forward since the last call.
func (c *steadyClock) at(wall time.Time) (now time.Time, stepped bool) {
	if !c.last.IsZero() {
		// The first difference goes by the monotonic clock, the second by the wall's.
		passed, shown := wall.Sub(c.last), wall.Round(0).Sub(c.last.Round(0))
		switch step := shown - passed; {
		case step > stepTime:
			c.ahead, c.stepped, stepped = c.ahead+step, wall, true
		case step < -stepTime:
			c.ahead = max(0, c.ahead+step)
		}
	}
	c.last = wall
	if wall.Sub(c.stepped) >= settleTime {
		c.ahead = 0
	}
	return wall.Add(-c.ahead), stepped
}
