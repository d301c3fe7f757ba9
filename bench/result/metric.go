package result

import (
	"fmt"
	"strings"
)

// Metric names one figure of a run. In writing it is one of
//
//	append.service.p99.9   a percentile, or max, of a time of an operation
//	hiccup.p99             the same of the hiccup meter
//	append.rate            operations per second, as achieved
//	append.period          the time from one operation to the next: one second divided by that
//
// Times are in nanoseconds.
type Metric struct {
	Op        string // "" for the hiccup meter
	Kind      Kind   // "" for the hiccup meter; Rate and Period beside Kinds
	Statistic string // "p50" to "p99.99" or "max"; "" for Rate and Period
}

// What a metric can be of an operation beside its times.
const (
	Rate   Kind = "rate"
	Period Kind = "period"
)

// ParseMetric reads a metric; the error says what one looks like.
func ParseMetric(text string) (Metric, error) {
	for _, kind := range []Kind{Rate, Period} {
		if op, ok := strings.CutSuffix(text, "."+string(kind)); ok && op != "" {
			return Metric{Op: op, Kind: kind}, nil
		}
	}
	statistics := []string{"max"}
	for _, p := range Percentiles {
		statistics = append(statistics, p.Name)
	}
	for _, statistic := range statistics {
		tag, ok := strings.CutSuffix(text, "."+statistic)
		if ok && tag == HiccupTag {
			return Metric{Statistic: statistic}, nil
		}
		for _, kind := range Kinds {
			if op, has := strings.CutSuffix(tag, "."+string(kind)); ok && has && op != "" {
				return Metric{Op: op, Kind: kind, Statistic: statistic}, nil
			}
		}
	}
	return Metric{}, fmt.Errorf("metric %q: want one such as append.service.p99.9, append.rate, append.period or hiccup.p99", text)
}

// String writes what ParseMetric reads.
func (m Metric) String() string {
	switch {
	case m.Op == "":
		return HiccupTag + "." + m.Statistic
	case m.Statistic == "":
		return Tag(m.Op, m.Kind)
	}
	return Tag(m.Op, m.Kind) + "." + m.Statistic
}

// Figure returns a metric of the run. It is false where there is none, also for an
// operation that never occurred. A run has one rate, that of what its workers do
// again and again: a metric of that name must be of that operation, which the
// summary does not know.
func (s *Summary) Figure(m Metric) (value float64, ok bool) {
	switch m.Kind {
	case Rate, Period:
		if s.AchievedPerSecond == nil || *s.AchievedPerSecond <= 0 {
			return 0, false
		}
		if m.Kind == Period {
			return 1e9 / *s.AchievedPerSecond, true
		}
		return *s.AchievedPerSecond, true
	}
	figures := s.Hiccup
	if m.Op != "" {
		op, has := s.Ops[m.Op]
		if !has {
			return 0, false
		}
		figures = op.Of(m.Kind)
	}
	v := figures.Value(m.Statistic)
	if v == nil {
		return 0, false
	}
	return float64(*v), true
}
