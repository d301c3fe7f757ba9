package stat

import (
	"math"
	"slices"
)

// RankSum returns the two-sided p value of the Mann–Whitney test that a and b
// come from one distribution. It is exact, with ties too: the share of all ways
// to deal the pooled values to the two sides whose rank sum is at least as far
// from the middle. It is 1 when a side is empty.
func RankSum(a, b []float64) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 1
	}
	// The smaller side makes the smaller table, and the answer is the same.
	if len(b) < len(a) {
		a, b = b, a
	}
	ranks, sum := doubledRanks(a, b)
	na, n := len(a), len(ranks)
	// ways[k][s] is the probability-scaled number of ways to choose k of the
	// ranks seen so far with the sum s. Scaling by 1/2 per rank keeps it finite.
	most := 0
	for _, r := range ranks {
		most += r
	}
	ways := make([][]float64, na+1)
	for k := range ways {
		ways[k] = make([]float64, most+1)
	}
	ways[0][0] = 1
	for _, r := range ranks {
		for k := na; k >= 0; k-- {
			for s := most; s >= 0; s-- {
				w := ways[k][s] / 2
				if k > 0 && s >= r {
					w += ways[k-1][s-r] / 2
				}
				ways[k][s] = w
			}
		}
	}
	middle := na * (n + 1) // twice the expected rank sum
	off := abs(sum - middle)
	var all, hits float64
	for s, w := range ways[na] {
		all += w
		if abs(s-middle) >= off {
			hits += w
		}
	}
	return math.Min(1, hits/all)
}

func abs(x int) int { return max(x, -x) }

// doubledRanks returns twice the ranks of all values (equal values share the
// mean of their ranks, so that only twice it is whole) and the sum of those of a.
func doubledRanks(a, b []float64) (ranks []int, sumA int) {
	type value struct {
		x   float64
		ofA bool
	}
	var all []value
	for _, x := range a {
		all = append(all, value{x, true})
	}
	for _, x := range b {
		all = append(all, value{x, false})
	}
	slices.SortFunc(all, func(v, w value) int {
		switch {
		case v.x < w.x:
			return -1
		case v.x > w.x:
			return 1
		}
		return 0
	})
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].x == all[i].x {
			j++
		}
		for _, v := range all[i:j] {
			r := i + 1 + j // twice the mean of ranks i+1..j
			ranks = append(ranks, r)
			if v.ofA {
				sumA += r
			}
		}
		i = j
	}
	return ranks, sumA
}

// RankSumInterval returns the Hodges–Lehmann estimate of how far b is shifted
// from a (the median of all differences b[j]-a[i]) and the interval of shifts
// that the Mann–Whitney test does not reject. got is as in SignedRankInterval;
// ties make it larger than stated, never smaller.
func RankSumInterval(a, b []float64, confidence float64) (shift, low, high, got float64) {
	if len(a) == 0 || len(b) == 0 {
		return 0, math.Inf(-1), math.Inf(1), 0
	}
	differences := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			differences = append(differences, y-x)
		}
	}
	slices.Sort(differences)
	k, got := orderStatistic(rankSumDistribution(len(a), len(b)), confidence)
	return medianSorted(differences), differences[k], differences[len(differences)-1-k], got
}

// rankSumDistribution returns the probabilities of U = 0..na*nb, the number of
// pairs in which the value of b is the smaller, for samples without ties.
//
// The generating function is the Gaussian binomial: the product of
// (1-q^(nb+i)) / (1-q^i) for i in 1..na. Each factor is applied together with
// its share of the normalisation, i/(nb+i), so that the sum stays 1.
func rankSumDistribution(na, nb int) []float64 {
	p := make([]float64, na*nb+1)
	p[0] = 1
	for i := 1; i <= na; i++ {
		for u := len(p) - 1; u >= nb+i; u-- {
			p[u] -= p[u-nb-i]
		}
		for u := i; u < len(p); u++ {
			p[u] += p[u-i]
		}
		for u := range p {
			p[u] *= float64(i) / float64(nb+i)
		}
	}
	return p
}

// medianSorted returns the median of sorted values, of which there must be one.
func medianSorted(x []float64) float64 {
	n := len(x)
	return x[(n-1)/2]/2 + x[n/2]/2
}
