package report

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"commitlab/bench/report/chart"
	"commitlab/bench/result"
)

// Tags returns the tags that any cell of the group has, the primary operation
// first. The hiccup meter is left out, the parts of bystanders, and operations
// that may occur and did not.
func (g *Group) Tags() []string {
	set := map[string]bool{}
	for _, c := range g.Cells {
		for tag := range c.Latency {
			set[tag] = true
		}
	}
	delete(set, result.HiccupTag)
	maps.DeleteFunc(set, func(tag string, _ bool) bool {
		op, _ := splitTag(tag)
		return isPart(tag) || op != g.Primary && !g.has(tag)
	})
	tags := slices.Collect(maps.Keys(set))
	slices.SortFunc(tags, func(x, y string) int { return compareTags(g.Primary, x, y) })
	return tags
}

// splitTag is the reverse of result.Tag. The hiccup meter's tag has no kind.
func splitTag(tag string) (op string, kind result.Kind) {
	i := strings.LastIndexByte(tag, '.')
	if i < 0 {
		return tag, ""
	}
	return tag[:i], result.Kind(tag[i+1:])
}

// compareTags orders by operation, the primary one first, and then by kind as
// result.Kinds has them.
func compareTags(primary, x, y string) int {
	xo, xk := splitTag(x)
	yo, yk := splitTag(y)
	if xo != yo {
		switch primary {
		case xo:
			return -1
		case yo:
			return 1
		}
		return strings.Compare(xo, yo)
	}
	return slices.Index(result.Kinds, xk) - slices.Index(result.Kinds, yk)
}

// explain says in words what a kind of latency measures.
func explain(k result.Kind) string {
	switch k {
	case result.Service:
		return "from the start of the operation to its end"
	case result.Response:
		return "from the time the operation was due to its end, waiting included"
	case result.Slip:
		return "from the time the operation was due to its start: waiting alone"
	case result.Lag:
		return "the generator's own share of the slip: how long after it was due and its worker was free an operation started"
	default:
		return ""
	}
}

// disturbance reports whether a kind tells of the generator and the machine, and
// not of what a configuration does.
func disturbance(k result.Kind) bool { return k == result.Slip || k == result.Lag }

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// paceText says in words how operations came.
func paceText(pace string, closed bool) string {
	if closed {
		return "closed loop, as fast as it goes"
	}
	if rate, err := strconv.ParseFloat(pace, 64); err == nil {
		return chart.PerSecond(rate) + " per second"
	}
	return "pace " + pace
}

// repeated are parameters that a heading says already in other words.
var repeated = map[string]bool{"writers": true}
