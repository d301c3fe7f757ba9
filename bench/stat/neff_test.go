package stat

import (
	"math/rand/v2"
	"testing"
)

func TestSamplesNeeded(t *testing.T) {
	for p, want := range map[float64]float64{50: 9, 90: 44, 99: 440, 99.9: 4400, 99.99: 44000} {
		near(t, "SamplesNeeded", SamplesNeeded(p), want)
	}
}

func TestIndependentHitsCountInFull(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	hits, sizes := make([]int64, 30), make([]int64, 30)
	for i := range hits {
		sizes[i] = 10_000
		for range sizes[i] {
			if rng.Float64() < 0.01 {
				hits[i]++
			}
		}
	}
	n, ok := EffectiveHits(hits, sizes)
	if !ok || n < 150_000 {
		t.Errorf("n_eff = %g, %v; want near 300000", n, ok)
	}
}

// One stall that makes 100 operations slow is one event, not 100.
func TestHitsInClumpsCountAsClumps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const clump = 100
	hits, sizes := make([]int64, 30), make([]int64, 30)
	for i := range hits {
		sizes[i] = 10_000
		for range sizes[i] / clump {
			if rng.Float64() < 0.01 {
				hits[i] += clump
			}
		}
	}
	n, ok := EffectiveHits(hits, sizes)
	if want := 300_000.0 / clump; !ok || n < want/2 || n > want*2 {
		t.Errorf("n_eff = %g, %v; want within a factor of 2 of %g", n, ok, want)
	}
}

func TestBatchesMayDifferInSize(t *testing.T) {
	// The share is the same in every batch: nothing clusters.
	n, ok := EffectiveHits([]int64{1, 10, 100, 5, 2}, []int64{100, 1000, 10000, 500, 200})
	if near(t, "n_eff", n, 11800); !ok {
		t.Error("five batches are too few, want enough")
	}
}

func TestTooFewBatchesKnowNothing(t *testing.T) {
	for name, sizes := range map[string][]int64{"none": {}, "four": {9, 9, 9, 9}, "four with values": {9, 0, 9, 0, 9, 9, 0}} {
		if n, ok := EffectiveHits(make([]int64, len(sizes)), sizes); ok {
			t.Errorf("%s: n_eff = %g, want unknown", name, n)
		}
	}
}

func TestNoHitsCountInFull(t *testing.T) {
	sizes := []int64{10, 10, 10, 10, 10}
	for name, hits := range map[string][]int64{"none": {0, 0, 0, 0, 0}, "all": sizes} {
		if n, ok := EffectiveHits(hits, sizes); !ok || n != 50 {
			t.Errorf("%s: n_eff = %g, %v; want 50", name, n, ok)
		}
	}
}
