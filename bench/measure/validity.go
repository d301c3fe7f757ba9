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
	// Workers that spent this share of the window inside the target were held up by
	// it, also where none of them got to an operation of the window: it was still
	// busy with those before.
	targetBusy = 0.9
)

// generatorFault says why a run's load was not the load that was asked for, by
// fault of the generator; empty when it was, or when the target held it up.
//
// Note: a rate that falls short needs no rule of its own. If the target was the
// cause, operations queued; if the generator was, the missing time is their lag.
func generatorFault(o *Outcome) string {
	if o.Closed || o.Due == 0 {
		return ""
	}
	lag, sent := o.Ops[0].Lag.Percentile(99.9)
	if !sent {
		if o.NeverSent == o.Due && o.Busy < targetBusy {
			return fmt.Sprintf("%d operations due, none sent", o.Due)
		}
		return ""
	}
	respond, _ := o.Ops[0].Response.Percentile(99.9)
	if float64(lag) > max(float64(lagFloor), lagShare*float64(respond)) {
		return fmt.Sprintf("generator lag p99.9 %v, more than %.0f %% of response p99.9 %v",
			time.Duration(lag), lagShare*100, time.Duration(respond))
	}
	return ""
}
