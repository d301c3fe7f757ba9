package stat

import "math"

// MinBatches is the least number of batches from which clustering can be
// judged. The variance of fewer is nearly arbitrary.
const MinBatches = 5

// SamplesNeeded returns how many independent values an estimate of percentile
// p (0 to 100) takes: 4.4 of them are then expected above it, and the chance
// that none of them is, so that the estimate says nothing of that tail, is
// 1.2 %. That is 440 values for p99, 4,400 for p99.9, 44,000 for p99.99.
func SamplesNeeded(p float64) float64 {
	// Rounded, since 100-99.9 is not 0.1.
	return math.Round(440 / math.Max(100-p, 0))
}

// EffectiveHits returns how many independent values are worth as much as the
// given ones for estimating the share of hits (values above a threshold).
// hits[i] of the sizes[i] values of batch i, consecutive in time, were hits.
//
// The method is that of batch means on the hit indicator: the variance of the
// batches' shares, divided by the variance that independent values would have
// (Pearson's dispersion), is the factor by which the values are worth less. A
// factor below 1 counts as 1. It is false when fewer than MinBatches batches
// have values. When no value or every value is a hit, the batches do not
// differ, and the values count in full.
func EffectiveHits(hits, sizes []int64) (n float64, ok bool) {
	var total, hit float64
	batches := 0
	for i, size := range sizes {
		if size > 0 {
			batches++
		}
		total += float64(size)
		hit += float64(hits[i])
	}
	if batches < MinBatches {
		return 0, false
	}
	p := hit / total
	if p <= 0 || p >= 1 {
		return total, true
	}
	var chi float64
	for i, size := range sizes {
		if size == 0 {
			continue
		}
		d := float64(hits[i]) - p*float64(size)
		chi += d * d / (float64(size) * p * (1 - p))
	}
	return total / math.Max(1, chi/float64(batches-1)), true
}
