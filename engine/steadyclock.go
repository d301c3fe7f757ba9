package engine

import "time"

// A steadyClock tells the time that ages are judged by. It follows the wall clock,
// but a step forward only after settleTime: a clock that was set to next year
// would make all files expire at once, and may be set back soon. A step back makes
// files younger and is followed at once. The time in which the store was not open, or
// idle before, counts as a step: after a start of the machine the clock may be years
// ahead until somebody asks another one.
//
// Note: a clock that stays wrong longer is believed. Nothing in a store tells it from
// a store that nothing was put to for years, whose files have expired.
type steadyClock struct {
	running bool
	wall    time.Time     // as of the last call, without a monotonic part
	elapsed time.Duration // likewise
	ahead   time.Duration // by how much the wall clock is not believed
	stepped time.Duration // elapsed when it stepped forward last
}

const (
	// settleTime is how long a step forward must last.
	settleTime = time.Hour
	// stepTime is the least that counts as a step.
	stepTime = time.Minute
)

// begin starts the clock of a store whose newest record was stored at a time.
func (c *steadyClock) begin(newest, wall time.Time, elapsed time.Duration) (stepped bool) {
	c.running, c.wall, c.elapsed, c.stepped = true, wall.Round(0), elapsed, elapsed
	if idle := c.wall.Sub(newest); idle > stepTime {
		c.ahead = idle
	}
	return c.ahead > 0
}

// at returns the time to judge by, and whether the wall clock stepped forward since
// the last call. elapsed is what the monotonic clock counts, from any moment on.
func (c *steadyClock) at(wall time.Time, elapsed time.Duration) (now time.Time, stepped bool) {
	wall = wall.Round(0)
	if c.running {
		switch step := wall.Sub(c.wall) - (elapsed - c.elapsed); {
		case step > stepTime:
			c.ahead, c.stepped, stepped = c.ahead+step, elapsed, true
		case step < -stepTime:
			c.ahead = max(0, c.ahead+step)
		}
	}
	c.running, c.wall, c.elapsed = true, wall, elapsed
	if elapsed-c.stepped >= settleTime {
		c.ahead = 0
	}
	return wall.Add(-c.ahead), stepped
}
