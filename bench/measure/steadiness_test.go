package measure

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// intervals makes n intervals of a second from functions of the place, 0 to 1.
func intervals(n int, p99, rate func(x float64) float64) []interval {
	all := make([]interval, n)
	for i := range all {
		x := float64(i) / float64(n-1)
		all[i] = interval{at: time.Duration(i)*time.Second + time.Second/2, p99: p99(x), rate: rate(x)}
	}
	return all
}

func TestSteadiness(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	flat := func(float64) float64 { return 1000 }
	noisy := func(float64) float64 { return 1000 * math.Exp(0.2*random.NormFloat64()) }
	for name, c := range map[string]struct {
		all  []interval
		want string
	}{
		"constant":            {intervals(20, flat, flat), "steady"},
		"noise":               {intervals(20, noisy, noisy), "steady"},
		"drift within 5 %":    {intervals(20, func(x float64) float64 { return 1000 + 60*x }, flat), "steady"},
		"latency doubles":     {intervals(20, func(x float64) float64 { return 1000 * (1 + x) }, flat), "p99 rises 43 %"},
		"rate halves":         {intervals(20, flat, func(x float64) float64 { return 1000 * (2 - x) }), "rate falls 30 %"},
		"both":                {intervals(20, func(x float64) float64 { return 2000 - 1000*x }, func(x float64) float64 { return 1000 * (1 + x) }), "p99 falls 30 %, rate rises 43 %"},
		"one interval is off": {intervals(20, func(x float64) float64 { return 1000 + 1e6*max(0, x-0.99) }, flat), "steady"},
		"seven intervals":     {intervals(7, flat, flat), "too short"},
		"nothing happened":    {intervals(20, func(float64) float64 { return 0 }, flat), "too short"},
	} {
		if got := steadiness(c.all); got.Verdict != c.want {
			t.Errorf("%s: %q, want %q (%+v)", name, got.Verdict, c.want, got)
		}
	}
}

func TestTrendFindsTheSlope(t *testing.T) {
	// ln doubles every minute: slope 1 per minute, whatever a few points say.
	all := intervals(61, func(x float64) float64 { return 1000 * math.Exp(x) }, func(float64) float64 { return 1 })
	all[10].p99, all[50].p99 = 1e9, 1
	got := steadiness(all).P99
	if math.Abs(got.Slope-1) > 0.01 || got.Low > got.Slope || got.High < got.Slope || got.Low < 0.9 || got.High > 1.1 {
		t.Errorf("%+v, want a slope of 1 within a narrow interval", got)
	}
}
