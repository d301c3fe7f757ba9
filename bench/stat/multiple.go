package stat

import (
	"math"
	"slices"
)

// Holm adjusts the p values of hypotheses that are judged together: rejecting
// those with an adjusted value of at most alpha keeps the chance of even one
// false rejection below alpha. The result is in the order of p.
func Holm(p []float64) []float64 {
	order := ascending(p)
	adjusted := make([]float64, len(p))
	highest := 0.0
	for i, at := range order {
		highest = math.Max(highest, math.Min(1, p[at]*float64(len(p)-i)))
		adjusted[at] = highest
	}
	return adjusted
}

// BenjaminiHochberg adjusts p values so that, of the hypotheses rejected at an
// adjusted value of at most alpha, a share of alpha is expected to be false.
// The result is in the order of p.
func BenjaminiHochberg(p []float64) []float64 {
	order := ascending(p)
	adjusted := make([]float64, len(p))
	lowest := 1.0
	for i, at := range slices.Backward(order) {
		lowest = math.Min(lowest, p[at]*(float64(len(p))/float64(i+1))) // a factor of 1 or more, so never below p
		adjusted[at] = lowest
	}
	return adjusted
}

// ascending returns the indexes of p in ascending order of their values.
func ascending(p []float64) []int {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case p[i] < p[j]:
			return -1
		case p[i] > p[j]:
			return 1
		}
		return 0
	})
	return order
}
