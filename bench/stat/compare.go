package stat

import (
	"math"
)

// MinRuns is the least number of blocks (or of runs on each side) from which
// anything is concluded: with 6 blocks the smallest possible p is 2/2^6 = 0.031.
const MinRuns = 6

// Comparison says how B differs from A. Where N is 0 there was nothing to
// compare, and Ratio, Low and High are 1, 0 and +Inf: nothing is known.
type Comparison struct {
	// Paired says how the runs were matched: block by block, or not at all.
	Paired bool
	// N counts the blocks of a paired comparison; NA and NB the runs of each
	// side of any.
	N, NA, NB int
	// Dropped counts blocks (or runs) left out because a value was missing, zero
	// or negative, which has no ratio.
	Dropped int

	// Ratio estimates b/a: 1.10 is 10 % more. [Low, High] holds the true ratio
	// with probability Confidence, which is at least the one asked for if Enough
	// and whatever few runs can give if not.
	Ratio, Low, High float64
	Confidence       float64

	// P is the chance of a difference at least as large if there were none,
	// two-sided. PExact says that it was counted, not sampled.
	P      float64
	PExact bool

	// Enough says that the runs could have shown a difference. If not, no
	// conclusion may be drawn, whatever the figures, and Needed is how many
	// blocks (or runs on each side) it takes.
	Enough bool
	Needed int
}

// Change returns the difference in percent: -31.5 for a ratio of 0.685.
func (c Comparison) Change() float64 { return 100 * (c.Ratio - 1) }

// Significant says whether a difference was shown at level alpha, given the p
// value to judge by: c.P, or c.P adjusted for several comparisons.
func (c Comparison) Significant(p, alpha float64) bool { return c.Enough && p <= alpha }

// nothing is the comparison without runs.
func nothing(paired bool, dropped, needed int) Comparison {
	return Comparison{Paired: paired, Dropped: dropped, Ratio: 1, Low: 0, High: math.Inf(1), P: 1, PExact: true, Needed: needed}
}

// LogRatios returns ln(b[i]/a[i]) for every i at which both values are positive
// and finite, and how many it left out. The slices must be of one length.
func LogRatios(a, b []float64) (d []float64, dropped int) {
	if len(a) != len(b) {
		panic("stat: LogRatios of slices of different length")
	}
	for i := range a {
		if positive(a[i]) && positive(b[i]) {
			d = append(d, math.Log(b[i])-math.Log(a[i]))
		} else {
			dropped++
		}
	}
	return d, dropped
}

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }

// Paired compares a[i] with b[i], the values of block i, at the given
// confidence (0.95).
func Paired(a, b []float64, confidence float64) Comparison {
	d, dropped := LogRatios(a, b)
	needed := max(MinRuns, BlocksNeeded(1-confidence, 1))
	if len(d) == 0 {
		return nothing(true, dropped, needed)
	}
	c := Comparison{Paired: true, N: len(d), NA: len(d), NB: len(d), Dropped: dropped, Needed: needed}
	estimate, low, high, got := SignedRankInterval(d, confidence)
	c.Ratio, c.Low, c.High, c.Confidence = math.Exp(estimate), math.Exp(low), math.Exp(high), got
	c.P, c.PExact = SignFlip(d)
	c.Enough = len(d) >= needed
	return c
}

// Unpaired compares runs that were not made side by side. Whatever changed
// between the two sets of runs is in the difference too.
func Unpaired(a, b []float64, confidence float64) Comparison {
	la, droppedA := logs(a)
	lb, droppedB := logs(b)
	needed := max(MinRuns, RunsNeeded(1-confidence))
	if len(la) == 0 || len(lb) == 0 {
		c := nothing(false, droppedA+droppedB, needed)
		c.NA, c.NB = len(la), len(lb)
		return c
	}
	c := Comparison{NA: len(la), NB: len(lb), Dropped: droppedA + droppedB, Needed: needed}
	shift, low, high, got := RankSumInterval(la, lb, confidence)
	c.Ratio, c.Low, c.High, c.Confidence = math.Exp(shift), math.Exp(low), math.Exp(high), got
	c.P, c.PExact = RankSum(la, lb), true
	c.Enough = min(len(la), len(lb)) >= needed
	return c
}

func logs(x []float64) (l []float64, dropped int) {
	for _, v := range x {
		if positive(v) {
			l = append(l, math.Log(v))
		} else {
			dropped++
		}
	}
	return l, dropped
}

// BlocksNeeded returns the least number of blocks with which a paired
// comparison can reach p <= alpha when it is one of m judged together under
// Holm's correction: 2/2^n <= alpha/m.
func BlocksNeeded(alpha float64, m int) int {
	n := 1
	for math.Ldexp(2, -n) > alpha/float64(max(m, 1)) && n < 1000 {
		n++
	}
	return n
}

// RunsNeeded returns the least number of runs on each side with which an
// unpaired comparison can reach p <= alpha: 2/C(2n,n) <= alpha.
func RunsNeeded(alpha float64) int {
	n, p := 1, 1.0
	for p > alpha && n < 1000 {
		n++
		p *= float64(n) / float64(4*n-2) // C(2n,n) = C(2n-2,n-1) * (4n-2)/n
	}
	return n
}

// BlocksForInterval estimates how many blocks would narrow the interval of c,
// on the logarithmic scale, to the given half width: it shrinks with the square
// root of their number. The answer is at least c.Needed; it is 0 when c tells
// nothing of the spread.
func BlocksForInterval(c Comparison, halfWidth float64) int {
	n := min(c.NA, c.NB)
	now := (math.Log(c.High) - math.Log(c.Low)) / 2
	if n < 2 || halfWidth <= 0 || math.IsInf(now, 0) || math.IsNaN(now) {
		return 0
	}
	r := now / halfWidth
	return max(c.Needed, int(math.Ceil(float64(n)*r*r)))
}
