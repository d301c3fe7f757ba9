package measure

import (
	"fmt"
	"time"
)

const (
	// Lag beyond this share of the response time at p99.9 spoils the response
	// times ...
	lagShare = 0.1
	// ... unless it is below what interrupts and the clock itself cost on any
	// machine; such lag is shown, not judged.
	lagFloor = 20 * time.Microsecond

	// Less than this share of the offered rate is a shortfall ...
	achievedShare = 0.98
	// ... and the generator's unless its lag is below this share of the time in
	// which workers had something to do.
	generatorShare = 0.1
)

// generatorFault says why a run's load was not the load that was asked for by
// fault of the generator; empty when it was, or when the target held it up.
func generatorFault(o *Outcome) string {
	if o.Closed || o.Due == 0 {
		return ""
	}
	lag, haveLag := o.Ops[0].Lag.Percentile(99.9)
	respond, _ := o.Ops[0].Response.Percentile(99.9)
	if haveLag && float64(lag) > max(float64(lagFloor), lagShare*float64(respond)) {
		return fmt.Sprintf("generator lag p99.9 %v, more than %.0f %% of response p99.9 %v",
			time.Duration(lag), lagShare*100, time.Duration(respond))
	}
	short := o.AchievedPerS < achievedShare*o.OfferedPerS
	if short && o.Unfinished == 0 && o.GeneratorShare > generatorShare {
		return fmt.Sprintf("achieved %.0f/s of %.0f/s offered, with %.0f %% of the busy time spent in the generator",
			o.AchievedPerS, o.OfferedPerS, o.GeneratorShare*100)
	}
	return ""
}
