package measure

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Steadiness says whether the measured window was a steady state. It is a label,
// not a filter.
type Steadiness struct {
	// Verdict is "steady", "too short", or what moved: "p99 rises 12 %, rate falls
	// 7 %" (from the first half of the window to the second).
	Verdict   string
	Intervals int // full intervals with operations that it rests on
	P99, Rate Trend
}

// Trend is the movement of one quantity over the window, in relative terms.
type Trend struct {
	// Slope is the Theil-Sen estimate of d ln(quantity) / dt per minute; Low and
	// High are its 95 % interval.
	Slope, Low, High float64
	// Halves is the quantity's median in the second half over that in the first,
	// minus 1.
	Halves float64
}

const (
	fewestIntervals = 8 // below, the normal approximation of the interval is poor
	halvesDiffer    = 0.05
)

// interval is what steadiness needs of a tick.
type interval struct {
	at   time.Duration // middle of the interval
	p99  float64       // ns
	rate float64       // per second
}

// steadiness judges a sequence of intervals. The state is steady when, for both
// log p99 and log rate, the interval of the slope contains 0 or the halves
// differ by less than 5 %: a slope too small to matter is no drift, nor is a
// difference that noise explains.
func steadiness(all []interval) Steadiness {
	var seconds, p99s, rates []float64
	for _, i := range all {
		if i.p99 > 0 && i.rate > 0 {
			seconds = append(seconds, i.at.Seconds())
			p99s = append(p99s, math.Log(i.p99))
			rates = append(rates, math.Log(i.rate))
		}
	}
	s := Steadiness{Intervals: len(seconds)}
	if s.Intervals < fewestIntervals {
		s.Verdict = "too short"
		return s
	}
	s.P99, s.Rate = trend(seconds, p99s), trend(seconds, rates)
	var moved []string
	for _, m := range []struct {
		name  string
		trend Trend
	}{{"p99", s.P99}, {"rate", s.Rate}} {
		if m.trend.drifts() {
			moved = append(moved, m.name+" "+m.trend.direction())
		}
	}
	s.Verdict = "steady"
	if len(moved) > 0 {
		s.Verdict = strings.Join(moved, ", ")
	}
	return s
}

func (t Trend) drifts() bool {
	return (t.Low > 0 || t.High < 0) && math.Abs(t.Halves) >= halvesDiffer
}

func (t Trend) direction() string {
	verb := "rises"
	if t.Halves < 0 {
		verb = "falls"
	}
	return fmt.Sprintf("%s %.0f %%", verb, math.Abs(t.Halves)*100)
}

// trend estimates the slope of y over x as the median of the slopes of all pairs
// of points (Theil), with the interval that follows from the distribution of
// Kendall's tau (Sen 1968). len(x) >= 2, x strictly rising in seconds.
func trend(x, y []float64) Trend {
	n := len(x)
	slopes := make([]float64, 0, n*(n-1)/2)
	for i := range n {
		for j := i + 1; j < n; j++ {
			slopes = append(slopes, (y[j]-y[i])/(x[j]-x[i])*60)
		}
	}
	slices.Sort(slopes)
	pairs := float64(len(slopes))
	const z95 = 1.959964
	spread := z95 * math.Sqrt(float64(n)*float64(n-1)*float64(2*n+5)/18)
	low := int(math.Floor((pairs - spread) / 2))
	high := int(math.Ceil((pairs + spread) / 2))
	return Trend{
		Slope:  median(slopes),
		Low:    slopes[max(low, 0)],
		High:   slopes[min(high, len(slopes)-1)],
		Halves: math.Exp(median(sorted(y[n-n/2:]))-median(sorted(y[:n/2]))) - 1,
	}
}

func sorted(v []float64) []float64 { return slices.Sorted(slices.Values(v)) }

// median of a sorted, non-empty slice.
func median(v []float64) float64 {
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
