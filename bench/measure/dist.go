package measure

import "github.com/HdrHistogram/hdrhistogram-go"

// Dist is a merged distribution of nanoseconds. There is no empty Dist: no data
// is a nil *Dist, so that it prints as null and never as zero.
type Dist struct {
	// Hist counts every value; those above HighestNs stand in its last cell.
	Hist *hdrhistogram.Histogram
	Max  int64 // exact, also above the histogram's range
	Over int64 // how many values were above HighestNs
}

// Count is the number of values; 0 for nil.
func (d *Dist) Count() int64 {
	if d == nil {
		return 0
	}
	return d.Hist.TotalCount()
}

// Percentile is the value that percent (0 to 100) of the values do not exceed:
// the upper end of its cell, but never more than the exact maximum, and the
// maximum when the cell is the one that holds values out of range. It is never
// below the truth. ok is false when there is no data.
func (d *Dist) Percentile(percent float64) (ns int64, ok bool) {
	if d.Count() == 0 {
		return 0, false
	}
	v := d.Hist.ValueAtPercentile(percent)
	if d.Over > 0 && d.Hist.ValuesAreEquivalent(v, HighestNs) {
		return d.Max, true
	}
	return min(v, d.Max), true
}
