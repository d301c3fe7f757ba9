package scenario

import (
	"sync"
	"testing"
	"time"

	"commitlab/bench/measure"
)

// Goal: each duration is recorded once, by whichever worker comes by, and those
// beyond the bound are counted.
func TestAsideIsRecordedOnce(t *testing.T) {
	a := aside{op: opTailGet}
	workers := []*measure.Worker{measure.NewWorker(0, 1, opMix, opTailGet), measure.NewWorker(1, 1, opMix, opTailGet)}
	var adding, observing sync.WaitGroup
	const each = 20_000
	stop := make(chan struct{})
	for range 2 {
		adding.Go(func() {
			for i := range each {
				a.add(time.Duration(i))
			}
		})
	}
	for _, w := range workers {
		observing.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					a.observe(w)
				}
			}
		})
	}
	adding.Wait()
	close(stop)
	observing.Wait()
	a.observe(workers[0])
	recorded := a.dropped()
	for _, w := range workers {
		recorded += w.Observed()[1].Service.Count()
	}
	if recorded != 2*each {
		t.Errorf("%d durations recorded or lost, want %d", recorded, 2*each)
	}

	for range maxAside + 5 {
		a.add(1)
	}
	a.observe(workers[0])
	if got := workers[0].Observed()[1].Service.Count(); got != maxAside {
		t.Errorf("%d recorded of more than the bound, want %d", got, maxAside)
	}
}
