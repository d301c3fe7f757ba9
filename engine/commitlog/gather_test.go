package commitlog

import (
	"testing"
	"time"
)

// Goal: waiting for others to join costs a lone or late appender nothing, and a
// sync that stalled does not make the next one wait for long.
func TestGatherIsPatientOnlyJustAfterASync(t *testing.T) {
	for _, c := range []struct {
		name          string
		lastSync, ago time.Duration
		want          time.Duration
	}{
		{"right after a sync", 400 * time.Microsecond, 0, 100 * time.Microsecond},
		{"within its length", 400 * time.Microsecond, 399 * time.Microsecond, 100 * time.Microsecond},
		{"later", 400 * time.Microsecond, 401 * time.Microsecond, 0},
		{"after a stall", 20 * time.Second, time.Second, maxGather},
		{"before any sync", 0, time.Hour, 0},
	} {
		if got := gatherPatience(c.lastSync, c.ago); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Goal: those who come back from one sync share the next. Method: a flush that
// takes long, and appenders that join again as soon as they are told.
func TestMembersOfOneSyncShareTheNext(t *testing.T) {
	const appenders, rounds = 16, 20
	var g group
	for range appenders {
		go func() {
			for range rounds {
				<-g.join().done
			}
		}()
	}
	served, syncs := 0, 0
	for deadline := time.Now().Add(10 * time.Second); served < appenders*rounds; {
		n, err := g.sync(func() error { time.Sleep(4 * time.Millisecond); return nil })
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			served, syncs = served+n, syncs+1
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d served after 10 s", served, appenders*rounds)
		}
	}
	if most := rounds * 3 / 2; syncs > most {
		t.Errorf("%d syncs for %d rounds of %d appenders, want at most %d", syncs, rounds, appenders, most)
	}
}
