package commitlog

import (
	"slices"
	"sort"
)

// A Range is a part of the log: [From, To), in log offsets.
type Range struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Bytes is how long the range is.
func (r Range) Bytes() int64 { return r.To - r.From }

// Contains reports whether an offset lies in the range.
func (r Range) Contains(offset int64) bool { return offset >= r.From && offset < r.To }

// Ranges are parts of the log that are no records and were given up: ascending,
// apart from each other.
type Ranges []Range

// At returns the first range that contains offset or lies behind it.
func (rs Ranges) At(offset int64) (Range, bool) {
	i := sort.Search(len(rs), func(i int) bool { return rs[i].To > offset })
	if i == len(rs) {
		return Range{}, false
	}
	return rs[i], true
}

// Add returns the ranges with one more. What it touches becomes one range with it.
func (rs Ranges) Add(r Range) Ranges {
	all := append(slices.Clone(rs), r)
	slices.SortFunc(all, func(a, b Range) int { return int(min(max(a.From-b.From, -1), 1)) })
	merged := all[:1]
	for _, next := range all[1:] {
		if last := &merged[len(merged)-1]; next.From <= last.To {
			last.To = max(last.To, next.To)
			continue
		}
		merged = append(merged, next)
	}
	return merged
}

// Within returns the ranges as far as they lie in [first, end).
func (rs Ranges) Within(first, end int64) Ranges {
	var kept Ranges
	for _, r := range rs {
		if r.From, r.To = max(r.From, first), min(r.To, end); r.From < r.To {
			kept = append(kept, r)
		}
	}
	return kept
}
