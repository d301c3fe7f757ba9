package stat

import (
	"math"
	"slices"
)

// Trend is a line's slope through points in time.
type Trend struct {
	N int
	// Slope is in units of y per unit of x; 0 when there are fewer than two
	// different x. [Low, High] holds the true slope with the confidence asked
	// for; it is everything when the points are too few.
	Slope, Low, High float64
}

// Flat says that the points show no slope: the interval holds 0.
func (t Trend) Flat() bool { return t.Low <= 0 && 0 <= t.High }

// exactTrend is the number of points up to which Kendall's distribution is
// counted out; above, its normal approximation is good to three digits.
const exactTrend = 100

// TheilSen returns the median slope of all pairs of points, which one outlier
// in four does not move, with the interval that follows from Kendall's test.
// Pairs with equal x tell nothing and are left out. The slices must be of one
// length.
func TheilSen(x, y []float64, confidence float64) Trend {
	if len(x) != len(y) {
		panic("stat: TheilSen of slices of different length")
	}
	t := Trend{N: len(x), Low: math.Inf(-1), High: math.Inf(1)}
	var slopes []float64
	for i := range x {
		for j := i + 1; j < len(x); j++ {
			if x[i] != x[j] {
				slopes = append(slopes, (y[j]-y[i])/(x[j]-x[i]))
			}
		}
	}
	if len(slopes) == 0 {
		return t
	}
	slices.Sort(slopes)
	t.Slope = medianSorted(slopes)
	if k, ok := kendallCut(len(x), confidence); ok && 2*k < len(slopes) {
		t.Low, t.High = slopes[k], slopes[len(slopes)-1-k]
	}
	return t
}

// kendallCut returns how many of the sorted slopes of n points to leave out at
// each end. It is false when so few points cannot give the confidence.
func kendallCut(n int, confidence float64) (k int, ok bool) {
	alpha := 1 - confidence
	if n > exactTrend {
		f := float64(n)
		sd := math.Sqrt(f * (f - 1) * (2*f + 5) / 72) // of the number of discordant pairs
		z := math.Sqrt2 * math.Erfinv(confidence)
		return max(0, int(math.Floor(f*(f-1)/4-z*sd-0.5))), true
	}
	// The number of discordant pairs of n points without trend is the number of
	// inversions of a random permutation.
	p := inversions(n)
	if 2*p[0] > alpha {
		return 0, false
	}
	k, _ = orderStatistic(p, confidence)
	return k, true
}

// inversions returns the probabilities of 0..n(n-1)/2 inversions in a random
// permutation of n.
func inversions(n int) []float64 {
	p := []float64{1}
	for m := 2; m <= n; m++ {
		next := make([]float64, len(p)+m-1)
		for i, v := range p {
			for j := range m {
				next[i+j] += v / float64(m)
			}
		}
		p = next
	}
	return p
}
