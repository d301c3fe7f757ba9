package scenario

import (
	"testing"

	"commitlab/bench/measure"
)

// Goal: a round reads each block once and the log is evicted between rounds;
// the counters tell how well that worked.
func TestColdLogIsEvictedEveryRound(t *testing.T) {
	s, err := Find("lookup_cold")
	if err != nil {
		t.Fatal(err)
	}
	instance, err := s.New(small(t, s, func(p *Spec) { p.MaxBytes = 3 << 20 }))
	if err != nil {
		t.Fatal(err)
	}
	if err := instance.Setup(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := instance.(*coldLookup)
	if got, want := c.cache.Blocks, 3<<20/coldBlockBytes+1; got < want-1 || got > want {
		t.Errorf("%d blocks, want %d or one less", got, want)
	}
	w := measure.NewWorker(0, 1, s.Ops[0], s.Ops[1:]...)
	const rounds = 3
	for range rounds {
		read := make(map[int]bool)
		for range c.cache.Blocks {
			if err := c.Op(w); err != nil {
				t.Fatal(err)
			}
			read[c.order[c.next.Load()-1]] = true
		}
		if len(read) != c.cache.Blocks {
			t.Errorf("%d of %d blocks were read in a round", len(read), c.cache.Blocks)
		}
	}
	account := c.cache
	if account.Rounds != rounds {
		t.Errorf("evicted %d times, want %d", account.Rounds, rounds)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	switch {
	case account.Unknown != "":
		t.Skipf("what is cached is not known: %s", account.Unknown)
	case account.LeftBytes >= account.FilledBytes:
		t.Skip("the file system of the temporary directory keeps its pages, as one in memory does")
	case account.FilledBytes < account.LogBytes || account.LeftBytes > account.LogBytes/4:
		t.Errorf("not cold: %+v", account)
	}
}
