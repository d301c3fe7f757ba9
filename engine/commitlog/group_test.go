package commitlog

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Goal: where the members of a sync come back, one sync serves them all. Method:
// virtual time, syncs of 800 µs, 8 appenders that join again after a pause.
func TestSyncWaitsForItsCohort(t *testing.T) {
	const appenders, rounds = 8, 400
	for _, c := range []struct {
		name  string
		pause func(appender int) time.Duration
		most  int // syncs
	}{
		{"all come back at once", func(a int) time.Duration { return time.Duration(a) * 10 * time.Microsecond }, rounds + 2},
		{"all come back late", func(a int) time.Duration { return time.Duration(a) * 90 * time.Microsecond }, rounds + 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGroup()
				var all sync.WaitGroup
				defer all.Wait()
				for a := range appenders {
					all.Go(func() {
						for range rounds {
							<-g.join().done
							time.Sleep(c.pause(a))
						}
					})
				}
				syncs := 0
				for served := 0; served < appenders*rounds; {
					n, err := g.sync(func() error { time.Sleep(800 * time.Microsecond); return nil })
					if err != nil {
						t.Fatal(err)
					}
					if served += n; n > 0 {
						syncs++
					} else {
						time.Sleep(time.Microsecond)
					}
				}
				if syncs > c.most {
					t.Errorf("%d syncs for %d rounds, want at most %d", syncs, rounds, c.most)
				}
			})
		})
	}
}

// Goal: appends by a clock of their own are not kept waiting for others that do not
// come. Method: virtual time; one append each 300 µs, syncs of 500 µs; how long the
// syncs begin after the moment when they could.
func TestSyncDoesNotWaitLongForThoseWhoDoNotComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup()
		const appends, length = 3000, 500 * time.Microsecond
		var all sync.WaitGroup
		defer all.Wait()
		all.Go(func() {
			for range appends {
				g.join()
				time.Sleep(300 * time.Microsecond)
			}
		})
		var waited time.Duration
		for served := 0; served < appends; {
			could := time.Now()
			began := could
			n, _ := g.sync(func() error { began = time.Now(); time.Sleep(length); return nil })
			waited += began.Sub(could)
			if served += n; n == 0 {
				time.Sleep(10 * time.Microsecond)
			}
		}
		if all, most := appends*300*time.Microsecond, appends*100*time.Microsecond; waited > most {
			t.Errorf("syncs waited %v of %v, want at most a third", waited, all)
		}
	})
}

// Goal: waiting for others to join costs a lone or late appender nothing, and a
// sync that stalled does not make the next one wait for long.
func TestPatienceIsOfTheLengthOfASync(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		name            string
		members, joined int
		took, ago       time.Duration
		want            time.Duration
	}{
		{"right after a sync", 64, 0, 400 * us, 0, 400 * us},
		{"within its length", 64, 0, 400 * us, 399 * us, 400 * us},
		{"later", 64, 0, 400 * us, 401 * us, 0},
		{"a few joined meanwhile", 64, 31, 400 * us, 0, 400 * us},
		{"many joined meanwhile", 64, 32, 400 * us, 0, 100 * us},
		{"after a stall", 64, 0, 20 * time.Second, time.Second, mostPatience},
	} {
		now := time.Now()
		s := groupSync{members: c.members, joined: c.joined, took: c.took, end: now.Add(-c.ago)}
		if got := s.patience(now); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if got := new(groupSync).patience(time.Now()); got != 0 {
		t.Errorf("before any sync: %v, want 0", got)
	}
}
