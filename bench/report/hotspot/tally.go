package hotspot

import (
	"fmt"
	"math"

	"github.com/google/pprof/profile"
)

// tally is what one profile holds of one value, by function.
type tally struct {
	total      sum
	flat       map[string]sum
	cumulative map[string]sum
}

// sum is the values of some samples.
type sum struct {
	value float64
	// samples is how many observations are behind the value.
	samples float64
	// variance of the value, if each observation came or not by chance. Within a
	// stack all observations are taken to be of the same size.
	variance float64
}

func (s sum) add(o sum) sum {
	return sum{s.value + o.value, s.samples + o.samples, s.variance + o.variance}
}

// count adds up one value of a profile.
func count(p *profile.Profile, s shape, v value) (tally, error) {
	t := tally{flat: map[string]sum{}, cumulative: map[string]sum{}}
	cost, times := v.cost.index(p), v.count.index(p)
	seen := map[string]bool{}
	for _, sample := range p.Sample {
		if sample.Value[times] < 0 {
			return tally{}, fmt.Errorf("negative %s: it is a difference of profiles already", v.count.Type)
		}
		one := sum{value: float64(sample.Value[cost]), samples: float64(sample.Value[times])}
		if s.inverse {
			one.samples = observed(sample, p)
		}
		// A value without a count is one of rounding.
		one.variance = one.value * one.value / max(one.samples, 1)
		t.total = t.total.add(one)
		clear(seen)
		for i, name := range functions(sample) {
			if i == 0 {
				t.flat[name] = t.flat[name].add(one)
			}
			if !seen[name] {
				seen[name] = true
				t.cumulative[name] = t.cumulative[name].add(one)
			}
		}
	}
	return t, nil
}

// unknown is the function of a sample without a stack, or of an address without a
// symbol. Addresses differ between runs and would compare with nothing.
const unknown = "(unknown)"

// functions lists the functions of a sample's stack, inlined ones too, the one
// that was running first.
func functions(s *profile.Sample) []string {
	var names []string
	for _, l := range s.Location {
		if len(l.Line) == 0 {
			names = append(names, unknown)
		}
		for _, line := range l.Line {
			if line.Function == nil {
				names = append(names, unknown)
				continue
			}
			names = append(names, line.Function.Name)
		}
	}
	if len(names) == 0 {
		return []string{unknown}
	}
	return names
}

// observed returns how many allocations of a heap profile's sample were seen. The
// runtime samples one per period bytes and scales what it saw up by the chance that
// an object of its size is seen, 1-exp(-size/period); this undoes it.
func observed(s *profile.Sample, p *profile.Profile) float64 {
	bytes, objects := float64(s.Value[allocSpace.index(p)]), float64(s.Value[allocObjects.index(p)])
	if bytes == 0 {
		return 0 // only its objects in use have changed
	}
	// The objects are rounded down to whole ones; the size beside them is exact.
	size := bytes / max(objects, 1)
	if exact := s.NumLabel["bytes"]; len(exact) == 1 && exact[0] > 0 {
		size = float64(exact[0])
	}
	n := bytes / size
	if p.Period > 1 {
		n *= -math.Expm1(-size / float64(p.Period))
	}
	return n
}
