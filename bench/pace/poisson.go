package pace

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Poisson is a schedule of independent arrivals: gaps are exponentially
// distributed, as when many clients that know nothing of each other send.
//
// Arrivals come in periods of 65536. The gaps of one period are drawn from the
// seed and scaled so that a period lasts exactly 65536/rate; further periods use
// the same gaps from another starting point, so that Due needs no state.
//
// Note: drawing fresh gaps for ever would make Due(n) a sum over all gaps before
// n, or a cursor that workers have to share.
type Poisson struct {
	rate   float64 // per second; > 0
	seed   uint64
	prefix []float64 // prefix[i] is the share of a period before arrival i; len poissonPeriod+1; immutable
}

const poissonPeriod = 1 << 16

// NewPoisson makes arrivals of perSecond on average. Equal seeds give equal
// schedules.
func NewPoisson(perSecond float64, seed uint64) (Poisson, error) {
	if err := checkRate("rate", perSecond); err != nil {
		return Poisson{}, err
	}
	random := rand.New(rand.NewPCG(seed, 0x706f6973736f6e))
	prefix := make([]float64, poissonPeriod+1)
	sum := 0.0
	for i := range poissonPeriod {
		sum += random.ExpFloat64()
		prefix[i+1] = sum
	}
	for i := range prefix {
		prefix[i] /= sum
	}
	return Poisson{rate: perSecond, seed: seed, prefix: prefix}, nil
}

// Due adds the whole periods before n to the gaps of n's own period.
func (p Poisson) Due(n uint64) time.Duration {
	period, i := n/poissonPeriod, n%poissonPeriod
	first := mix(p.seed^period) % poissonPeriod
	end := first + i
	share := 0.0
	if end <= poissonPeriod {
		share = p.prefix[end] - p.prefix[first]
	} else {
		share = 1 - p.prefix[first] + p.prefix[end-poissonPeriod]
	}
	return duration((float64(period) + share) * poissonPeriod / p.rate)
}

// Rate is the mean rate.
func (p Poisson) Rate(time.Duration) float64 { return p.rate }

func (p Poisson) String() string {
	return fmt.Sprintf("poisson:%s/seed=%d", formatRate(p.rate), p.seed)
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood 2014): neighbouring
// inputs give unrelated outputs.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
