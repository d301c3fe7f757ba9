package commitlog

import (
	"testing"
	"time"
)

// Goal: waiting for others to join costs a lone or late appender nothing, and a
// sync that stalled does not make the next one wait for long.
func TestPatienceEndsWithTheLengthOfASync(t *testing.T) {
	for _, c := range []struct {
		name          string
		patience      patience
		lastSync, ago time.Duration
		want          time.Duration
	}{
		{"right after a sync", mostPatience, 400 * time.Microsecond, 0, 400 * time.Microsecond},
		{"within its length", leastPatience, 400 * time.Microsecond, 399 * time.Microsecond, 100 * time.Microsecond},
		{"later", mostPatience, 400 * time.Microsecond, 401 * time.Microsecond, 0},
		{"after a stall", mostPatience, 20 * time.Second, time.Second, maxGather},
		{"before any sync", mostPatience, 0, time.Hour, 0},
	} {
		if got := c.patience.limit(c.lastSync, c.ago); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Goal: where nobody comes back the wait gets shorter; once they do, it is long
// again. Method: a group whose members come once, then one whose members return.
func TestPatienceIsLostWhereNobodyComesBack(t *testing.T) {
	g := newGroup()
	once := func() {
		g.join()
		if _, err := g.sync(func() error { time.Sleep(2 * time.Millisecond); g.join(); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		once() // more are expected in each round than come
	}
	if g.patience != leastPatience {
		t.Errorf("nobody came back: patience %d, want %d", g.patience, leastPatience)
	}
	g.patience = g.patience.rewarded()
	if g.patience != mostPatience {
		t.Errorf("all came back: patience %d, want %d", g.patience, mostPatience)
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
	g := newGroup()
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
