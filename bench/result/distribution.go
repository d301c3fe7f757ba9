package result

import (
	"fmt"
	"regexp"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Distribution is all values of one tag: the merged histogram and what a
// histogram cannot keep.
type Distribution struct {
	Hist *hdrhistogram.Histogram
	// Extremes.MaxNs is exact; 0 when the source kept none.
	Extremes Extremes
}

// NewDistribution returns an empty distribution of the geometry of a result.
func NewDistribution() *Distribution { return &Distribution{Hist: NewHistogram()} }

// Add merges h into the distribution. Histograms of different geometry are
// refused, since the library would drop or reshape their values: after a nil
// error the count has grown by exactly that of h.
func (d *Distribution) Add(h *hdrhistogram.Histogram, e Extremes) error {
	if !sameGeometry(d.Hist, h) {
		return fmt.Errorf("merge histogram of range %s into one of range %s: the ranges must be equal", geometry(h), geometry(d.Hist))
	}
	if dropped := d.Hist.Merge(h); dropped != 0 {
		return fmt.Errorf("merge histogram: %d of %d values were dropped", dropped, h.TotalCount())
	}
	d.Extremes.Add(e)
	return nil
}

// Count returns the number of values.
func (d *Distribution) Count() int64 { return d.Hist.TotalCount() }

// Percentile returns the value at percentile p, 0 to 100 (99.9, not 0.999), as
// every HdrHistogram tool reads it from the log; where the values there were
// over range, the exact maximum, so that it is never below the truth. It is
// false when there are no values.
func (d *Distribution) Percentile(p float64) (ns int64, ok bool) {
	if d.Count() == 0 {
		return 0, false
	}
	v := d.Hist.ValueAtPercentile(p)
	if d.Extremes.OverRange > 0 && v >= HighestNs {
		v = max(v, d.Extremes.MaxNs)
	}
	return v, true
}

// Max returns the largest value: exact if the source kept it, else as the
// histogram has it. It is false when there are no values.
//
// Note: the library's Max of an empty histogram can be positive, so the count
// must be asked first.
func (d *Distribution) Max() (ns int64, ok bool) {
	if d.Count() == 0 {
		return 0, false
	}
	if d.Extremes.MaxNs > 0 {
		return d.Extremes.MaxNs, true
	}
	return d.Hist.Max(), true
}

func sameGeometry(a, b *hdrhistogram.Histogram) bool {
	return a.LowestTrackableValue() == b.LowestTrackableValue() &&
		a.HighestTrackableValue() == b.HighestTrackableValue() &&
		a.SignificantFigures() == b.SignificantFigures()
}

func geometry(h *hdrhistogram.Histogram) string {
	return fmt.Sprintf("%d..%d, %d digits", h.LowestTrackableValue(), h.HighestTrackableValue(), h.SignificantFigures())
}

func checkGeometry(h *hdrhistogram.Histogram) error {
	if h.LowestTrackableValue() != LowestNs || h.HighestTrackableValue() != HighestNs || h.SignificantFigures() != SignificantDigits {
		return fmt.Errorf("histogram has range %s, want %d..%d, %d digits", geometry(h), LowestNs, HighestNs, SignificantDigits)
	}
	return nil
}

var tagPattern = regexp.MustCompile(`^[A-Za-z0-9_./=+-]{1,120}$`)

// checkTag refuses tags that would break a line of the log.
func checkTag(tag string) error {
	if !tagPattern.MatchString(tag) {
		return fmt.Errorf("tag %q: want 1 to 120 of letters, digits and _./=+-", tag)
	}
	return nil
}
