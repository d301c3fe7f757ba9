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
// takes long, and appenders that join again as soon as they are told. Without
// gather the first to come back has a sync of its own, twice as many in all; a
// machine that stands still can split a few rounds, so the best of three counts.
func TestMembersOfOneSyncShareTheNext(t *testing.T) {
	const appenders, rounds = 16, 20
	best := 0
	for range 3 {
		if n := syncsFor(t, appenders, rounds); best == 0 || n < best {
			best = n
		}
	}
	if most := rounds * 3 / 2; best > most {
		t.Errorf("%d syncs for %d rounds of %d appenders, want at most %d", best, rounds, appenders, most)
	}
}

// syncsFor counts the syncs that serve so many appenders so often each.
func syncsFor(t *testing.T, appenders, rounds int) (syncs int) {
	t.Helper()
	var g group
	for range appenders {
		go func() {
			for range rounds {
				<-g.join().done
			}
		}()
	}
	served := 0
	for deadline := time.Now().Add(time.Minute); served < appenders*rounds; {
		n, err := g.sync(func() error { time.Sleep(4 * time.Millisecond); return nil })
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			served, syncs = served+n, syncs+1
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d served after a minute", served, appenders*rounds)
		}
	}
	return syncs
}
