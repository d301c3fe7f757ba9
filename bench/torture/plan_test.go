package torture

import (
	"reflect"
	"testing"
)

// Goal: a round can be repeated: it depends on seed and number only.
func TestARoundIsAFunctionOfSeedAndNumber(t *testing.T) {
	for n := 1; n < 50; n++ {
		a, b, other := planRound(7, n, 400), planRound(7, n, 400), planRound(8, n, 400)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("round %d: %v and %v", n, a, b)
		}
		if reflect.DeepEqual(a, other) {
			t.Errorf("round %d is the same for another seed: %v", n, a)
		}
	}
}

// Goal: every option set meets every death, and 200 rounds have every variation.
func TestEverySetMeetsEveryDeath(t *testing.T) {
	type pair struct {
		set   string
		death Death
	}
	pairs := make(map[pair]int)
	var inOpen, inClose, more, keepCache, tidy int
	for n := 1; n <= 200; n++ {
		r := planRound(1, n, 400)
		pairs[pair{r.Set, r.Lives[0].Death}]++
		if len(r.Lives) > 1 {
			more++
		}
		for _, l := range r.Lives {
			if l.Acks < 1 || l.Acks > 400 || l.Writers < 1 || l.Writers > maxWriters || l.Calls < 1 {
				t.Errorf("round %d: %+v", n, l)
			}
			if l.InOpen {
				inOpen++
			}
			if l.InClose {
				inClose++
			}
			if l.Death == SyncFail && l.KeepCache {
				keepCache++
			}
			if l.Death == Power && l.Tidy {
				tidy++
			}
		}
	}
	if want := len(sets) * len(deaths); len(pairs) != want {
		t.Errorf("%d pairs of option set and death, want %d", len(pairs), want)
	}
	for p, n := range pairs {
		if n != 5 {
			t.Errorf("%v: %d times, want 5", p, n)
		}
	}
	for name, n := range map[string]int{"in open": inOpen, "in close": inClose, "several lives": more, "keeps the cache": keepCache, "tidy": tidy} {
		if n < 5 {
			t.Errorf("%s: %d times only", name, n)
		}
	}
}

func TestWorkersTellTheirLife(t *testing.T) {
	seen := make(map[uint32]bool)
	for round := 1; round < 20; round++ {
		for life := range 3 {
			for writer := range maxWriters {
				worker := workerOf(round, life, writer)
				if r, l := lifeOf(worker); r != round || l != life || seen[worker] {
					t.Errorf("worker %d of round %d, life %d: round %d, life %d; known already: %v", worker, round, life, r, l, seen[worker])
				}
				seen[worker] = true
			}
		}
	}
}

// Goal: the option sets are what they are called, and usable.
func TestOptionSetsCoverTheFlushModes(t *testing.T) {
	modes := make(map[[2]string]bool)
	for _, s := range sets {
		o, err := optionsOf(s.name, 11, 0)
		if err == nil {
			o, err = o.Resolve()
		}
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		modes[[2]string{o.Flush, string(o.SyncPath)}] = true
	}
	if len(sets) < 6 || len(modes) != 6 {
		t.Errorf("%d option sets with %d flush modes, want 6 at least, and all 6", len(sets), len(modes))
	}
	if _, err := optionsOf("none", 1, 0); err == nil {
		t.Error("an option set that is not there was found")
	}
}
