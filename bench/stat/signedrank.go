package stat

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// SignedRankInterval returns the Hodges–Lehmann estimate of the centre of d
// (the median of the means of all pairs) and the exact interval of values that
// the Wilcoxon signed-rank test does not reject at the given confidence. got is
// the probability with which the interval holds the true centre: at least the
// one asked for, or, if so few differences cannot give it, what they can (their
// whole range then). Of no differences nothing is known: the interval is
// everything, with probability 0.
func SignedRankInterval(d []float64, confidence float64) (estimate, low, high, got float64) {
	n := len(d)
	if n == 0 {
		return 0, math.Inf(-1), math.Inf(1), 0
	}
	walsh := make([]float64, 0, n*(n+1)/2)
	for i := range d {
		for j := i; j < n; j++ {
			walsh = append(walsh, d[i]/2+d[j]/2)
		}
	}
	slices.Sort(walsh)
	k, got := orderStatistic(signedRankDistribution(n), confidence)
	return medianSorted(walsh), walsh[k], walsh[len(walsh)-1-k], got
}

// orderStatistic returns how many of the sorted candidates to leave out at each
// end so that the rest still has the confidence asked for. The distribution is
// that of the test's statistic; it is symmetric.
func orderStatistic(distribution []float64, confidence float64) (k int, got float64) {
	tail := distribution[0] // P(statistic <= k)
	for k+1 < len(distribution)/2 && 1-2*(tail+distribution[k+1]) >= confidence {
		k++
		tail += distribution[k]
	}
	return k, math.Max(0, 1-2*tail)
}

// signedRankDistribution returns the probabilities of the sums 0 to n(n+1)/2 of
// the positive ranks of n differences with random signs.
func signedRankDistribution(n int) []float64 {
	p := make([]float64, n*(n+1)/2+1)
	p[0] = 1
	for rank := 1; rank <= n; rank++ {
		for s := rank * (rank + 1) / 2; s >= 0; s-- {
			p[s] /= 2
			if s >= rank {
				p[s] += p[s-rank] / 2
			}
		}
	}
	return p
}

const (
	exactFlips   = 20 // up to here all 2^n sign vectors are visited
	sampledFlips = 200_000
)

// SignFlip returns the two-sided p value of the mean of d under the hypothesis
// that each difference could as well have had the other sign. Up to 20
// differences it is exact: the share of all 2^n sign vectors whose mean is at
// least as far from 0. Beyond, the share is taken among 200,000 random vectors,
// the same ones in every call.
//
// The test and SignedRankInterval weigh an extreme block differently, so close
// to the border one can say yes and the other no.
func SignFlip(d []float64) (p float64, exact bool) {
	var sum, size float64
	for _, x := range d {
		sum += x
		size += math.Abs(x)
	}
	if size == 0 {
		return 1, true
	}
	// Sums of the same terms in another order differ by rounding. They must
	// count as equal.
	limit := math.Abs(sum) - 1e-9*size
	if len(d) <= exactFlips {
		// Gray code: each vector differs from the one before in one sign.
		signs := make([]float64, len(d))
		for i := range signs {
			signs[i] = 1
		}
		s, hits, all := sum, 0, 1<<len(d)
		for i := 1; ; i++ {
			if math.Abs(s) >= limit {
				hits++
			}
			if i == all {
				return float64(hits) / float64(all), true
			}
			bit := bits.TrailingZeros(uint(i))
			signs[bit] = -signs[bit]
			s += 2 * signs[bit] * d[bit]
		}
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(d))))
	hits := 1 // what was seen is one of the vectors
	for range sampledFlips {
		var s float64
		var coins uint64
		for i, x := range d {
			if i%64 == 0 {
				coins = rng.Uint64()
			}
			if coins&1 == 1 {
				s += x
			} else {
				s -= x
			}
			coins >>= 1
		}
		if math.Abs(s) >= limit {
			hits++
		}
	}
	return float64(hits) / (sampledFlips + 1), false
}
