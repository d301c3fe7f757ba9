package measure

import (
	"time"

	"commitlab/bench/pace"
)

// hiccupPeriod is how often the hiccup meter wants to wake up.
const hiccupPeriod = time.Millisecond

// meterHiccups sleeps from one point of a fixed grid to the next, in the kernel,
// and records how late it woke. Grid points that passed during one long
// sleep each count with their own lateness: a hiccup of 50 ms hits fifty of them.
// It returns when stop is closed.
func meterHiccups(clock *pace.Clock, mode pace.Mode, rec *recorder, stop <-chan struct{}) {
	waiter := pace.NewWaiter(clock, mode, 1, stop)
	due := clock.Now() + hiccupPeriod
	for {
		now, ok := waiter.Sleep(due)
		if !ok || isClosed(stop) {
			return
		}
		lateness := rec.open().ops[0][service]
		for ; due <= now; due += hiccupPeriod {
			lateness.record(int64(now - due))
		}
		rec.gate.Store(gateIdle)
	}
}

func isClosed(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}
