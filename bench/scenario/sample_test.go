package scenario

import (
	"testing"

	"pgregory.net/rapid"
)

func TestSampleSpansTheRunEvenly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 20*sampleSize).Draw(t, "operations")
		s := newSample[int]()
		for i := range n {
			s.offer(i)
		}
		if n == 0 {
			if len(s.kept) != 0 {
				t.Fatalf("%d kept of nothing", len(s.kept))
			}
			return
		}
		if len(s.kept) < min(n, sampleSize/2) || len(s.kept) > sampleSize {
			t.Fatalf("%d kept of %d, want %d to %d", len(s.kept), n, min(n, sampleSize/2), sampleSize)
		}
		for i, kept := range s.kept {
			if kept != i*int(s.stride) {
				t.Fatalf("kept number %d is operation %d, want %d: every %d-th", i, kept, i*int(s.stride), s.stride)
			}
		}
		if last := s.kept[len(s.kept)-1]; n-last > int(s.stride) {
			t.Fatalf("the last kept is operation %d of %d, want one of the last %d", last, n, s.stride)
		}
	})
}

func TestSampleAllocatesNothing(t *testing.T) {
	s := newSample[placed]()
	if allocs := testing.AllocsPerRun(10_000, func() { s.offer(placed{}) }); allocs != 0 {
		t.Errorf("%v allocations per operation, want 0", allocs)
	}
}
