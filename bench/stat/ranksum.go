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
	middle := len(a) * (len(ranks) + 1) // twice the expected rank sum
	off := abs(sum - middle)
	var p float64
	for s, w := range dealSums(ranks, len(a)) {
		if abs(s-middle) >= off {
			p += w
		}
	}
	return math.Min(1, p)
}

// dealSums returns the probability of each sum of k ranks drawn without
// replacement, indexed by the sum.
func dealSums(ranks []int, k int) []float64 {
	most := 0
	for _, r := range ranks {
		most += r
	}
	// ways[j][s] counts how j of the ranks seen so far make the sum s, halved
	// with every rank so that it stays finite.
	ways := make([][]float64, k+1)
	for j := range ways {
		ways[j] = make([]float64, most+1)
	}
	ways[0][0] = 1
	for _, r := range ranks {
		for j := k; j >= 0; j-- {
			for s := most; s >= 0; s-- {
				w := ways[j][s] / 2
				if j > 0 && s >= r {
					w += ways[j-1][s-r] / 2
				}
				ways[j][s] = w
			}
		}
	}
	var all float64
	for _, w := range ways[k] {
		all += w
	}
	for s := range ways[k] {
		ways[k][s] /= all
	}
	return ways[k]
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
func rankSumDistribution(na, nb int) []float64 {
	ranks := make([]int, na+nb)
	for i := range ranks {
		ranks[i] = i + 1
	}
	least := na * (na + 1) / 2 // rank sum of a when U is 0
	return dealSums(ranks, na)[least:][:na*nb+1]
}

// medianSorted returns the median of sorted values, of which there must be one.
func medianSorted(x []float64) float64 {
	n := len(x)
	return x[(n-1)/2]/2 + x[n/2]/2
}

// Median returns the median of values in any order, NaN without any.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	return medianSorted(slices.Sorted(slices.Values(x)))
}
