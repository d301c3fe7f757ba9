package service

import (
	"strings"
	"testing"
	"time"
)

// clocked keeps the time that its first step was given.
type clocked struct{ first chan time.Time }

func (c *clocked) Name() string { return "clocked" }

func (c *clocked) Step(now time.Time) (int, error) {
	select {
	case c.first <- now:
	default:
	}
	return 0, nil
}

// B-47: a correction of the wall clock was taken for time that passed. Steps are
// given times with a monotonic part, which differences of times go by.
func TestB47_StepsAreGivenMonotonicTime(t *testing.T) {
	c := &clocked{first: make(chan time.Time, 1)}
	l := Start(c, Options{Interval: time.Hour})
	defer l.Stop()
	l.Wake()
	if now := <-c.first; !strings.Contains(now.String(), " m=") {
		t.Errorf("got %v, without a monotonic part", now)
	}
}
