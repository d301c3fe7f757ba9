package chart

import "math"

// logScale maps values to pixels by their logarithm. A pixel interval may run
// backwards, as a vertical axis does.
type logScale struct {
	min, max   float64 // values, both above zero, min < max
	from, upTo float64 // pixels of min and max
}

// at returns the pixel of v; values outside are clamped to the ends, so that a
// zero (below any logarithm) lies on the axis and not at minus infinity.
func (s logScale) at(v float64) float64 {
	v = math.Min(math.Max(v, s.min), s.max)
	part := math.Log(v/s.min) / math.Log(s.max/s.min)
	return s.from + part*(s.upTo-s.from)
}

// tick is one mark of an axis; minor ones are drawn fainter and unlabelled.
type tick struct {
	value float64
	major bool
}

// ticks returns the powers of ten inside the scale as major ticks, and their
// multiples by 2 and 5 as minor ones. A scale that spans less than one and a
// half decades has too few powers of ten to read from: there all are major.
func (s logScale) ticks() []tick {
	narrow := math.Log10(s.max/s.min) < 1.5
	var out []tick
	for p := math.Floor(math.Log10(s.min)); p <= math.Ceil(math.Log10(s.max)); p++ {
		for _, m := range []float64{1, 2, 5} {
			v := m * math.Pow(10, p)
			if v >= s.min*0.999 && v <= s.max*1.001 {
				out = append(out, tick{v, m == 1 || narrow})
			}
		}
	}
	return out
}

// extent collects the range of the positive, finite values it is shown.
type extent struct{ min, max float64 }

func newExtent() extent { return extent{math.Inf(1), math.Inf(-1)} }

func (e *extent) add(v float64) {
	if v > 0 && !math.IsInf(v, 0) {
		e.min, e.max = math.Min(e.min, v), math.Max(e.max, v)
	}
}

func (e extent) empty() bool { return e.min > e.max }

// rounded widens the extent outwards to 1, 2 or 5 times a power of ten, and to
// at least a factor of ten between the ends.
func (e extent) rounded() (low, high float64) {
	low, high = roundDown(e.min), roundUp(e.max)
	for high/low < 9.99 {
		low, high = roundDown(low*0.99), roundUp(high*1.01)
	}
	return low, high
}

func roundDown(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{5, 2} {
		if v >= m*power*0.9999 {
			return m * power
		}
	}
	return power
}

func roundUp(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if v <= m*power*1.0001 {
			return m * power
		}
	}
	return 10 * power
}
