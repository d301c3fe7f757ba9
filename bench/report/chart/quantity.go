package chart

import (
	"math"
	"strconv"
	"strings"
)

// NoData stands wherever there is no value to show. It is never a number.
const NoData = "–"

// unit is one step of the duration ladder.
type unit struct {
	nanos float64
	name  string
}

var units = []unit{{1, "ns"}, {1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}}

// unitFor picks the unit in which ns reads as 1 to 999. The value is rounded
// to three digits first, so that 999.9 ns is 1.00 µs and not 1000 ns.
func unitFor(ns float64) unit {
	best := units[0]
	for _, u := range units[1:] {
		if ns >= 0.9995*u.nanos {
			best = u
		}
	}
	return best
}

// Duration writes ns nanoseconds with three significant digits and a unit:
// 812 ns, 3.07 µs, 12.4 ms, 100 s. NaN and negative values are [NoData].
func Duration(ns float64) string {
	if math.IsNaN(ns) || ns < 0 {
		return NoData
	}
	u := unitFor(ns)
	return durationDigits(ns, u) + " " + u.name
}

// DurationRange writes low to high, with the unit once where both share it.
func DurationRange(low, high float64) string {
	if math.IsNaN(low) || math.IsNaN(high) {
		return NoData
	}
	lu, hu := unitFor(low), unitFor(high)
	if lu == hu {
		return durationDigits(low, lu) + "–" + durationDigits(high, hu) + " " + hu.name
	}
	return Duration(low) + "–" + Duration(high)
}

func durationDigits(ns float64, u unit) string {
	if u.nanos == 1 {
		return strconv.FormatFloat(math.Round(ns), 'f', 0, 64)
	}
	return Significant(ns/u.nanos, 3)
}

// Significant writes v with n significant digits and never with an exponent.
// Digits before the point are kept even when there are more than n of them.
func Significant(v float64, n int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return NoData
	}
	if v == 0 {
		return "0"
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', n-1, 64), 64)
	if err != nil {
		return NoData
	}
	decimals := n - 1 - int(math.Floor(math.Log10(math.Abs(rounded))))
	return strconv.FormatFloat(v, 'f', max(decimals, 0), 64)
}

// Ratio writes a ratio with its sign of multiplication: ×0.0047, ×1.02, ×21.4.
func Ratio(r float64) string {
	if math.IsNaN(r) || math.IsInf(r, 0) {
		return NoData
	}
	return "×" + Significant(r, 3)
}

// Count writes an integer with a comma between groups of three digits.
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	b.WriteString(sign)
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// PerSecond writes a rate. From 100 on the fraction is dropped.
func PerSecond(r float64) string {
	switch {
	case math.IsNaN(r) || math.IsInf(r, 0):
		return NoData
	case math.Abs(r) >= 100:
		return Count(int64(math.Round(r)))
	default:
		return Significant(r, 3)
	}
}
