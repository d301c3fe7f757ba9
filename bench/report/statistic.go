package report

import (
	"math"

	"commitlab/bench/result"
)

// Statistic is one column of a latency table.
type Statistic struct {
	Name    string  // p50 … max
	Percent float64 // 100 is the maximum
}

// Statistics are the columns in their order.
var Statistics = []Statistic{{"p50", 50}, {"p99", 99}, {"p99.9", 99.9}, {"p99.99", 99.99}, {"max", 100}}

// at returns the latency in nanoseconds that percent of the operations did not
// exceed, NaN without operations. It never exceeds the exact maximum, which the
// upper end of a histogram's bucket may.
func at(d *result.Distribution, percent float64) float64 {
	if d == nil {
		return math.NaN()
	}
	top, ok := d.Max()
	if !ok {
		return math.NaN()
	}
	if percent >= 100 {
		return float64(top)
	}
	v, _ := d.Percentile(percent)
	return float64(min(v, top))
}

// mean returns the mean latency in nanoseconds, NaN without operations.
func mean(d *result.Distribution) float64 {
	if d.Count() == 0 {
		return math.NaN()
	}
	return d.Hist.Mean()
}

// values returns the latency at each of Statistics.
func values(d *result.Distribution) []float64 {
	out := make([]float64, len(Statistics))
	for i, s := range Statistics {
		out[i] = at(d, s.Percent)
	}
	return out
}

// tailsPerDecade is how finely a curve is drawn.
const tailsPerDecade = 20

// tailAt returns the i-th tail of a curve: 1, 1.12, 1.26, … 10, … A tail of t
// is the percentile that one of t operations exceeds.
func tailAt(i int) float64 { return math.Pow(10, float64(i)/tailsPerDecade) }

// curve returns the latency at each tail that the distribution is large enough
// for: a tail of t needs t operations.
func curve(d *result.Distribution) []float64 {
	n := float64(d.Count())
	if n == 0 {
		return nil
	}
	var out []float64
	for i := 0; tailAt(i) <= n*(1+1e-9); i++ {
		out = append(out, at(d, 100*(1-1/tailAt(i))))
	}
	return out
}
