package result

import (
	"fmt"
	"strings"
)

// Summary is the figures of one run, as loadgen and report print them in JSON.
// A figure that does not exist (no values, no due times) is null, never 0.
type Summary struct {
	Schema   string `json:"schema"`
	Status   Status `json:"status"`
	Reason   string `json:"reason,omitempty"`
	Scenario string `json:"scenario"`
	Config   string `json:"config"`
	Study    string `json:"study,omitempty"`
	Cell     string `json:"cell,omitempty"`
	Block    int    `json:"block,omitempty"`
	Primary  string `json:"primary"`
	Pace     string `json:"pace"`
	Closed   bool   `json:"closed"`

	OfferedPerSecond  *float64 `json:"offered_per_s"`
	AchievedPerSecond *float64 `json:"achieved_per_s"`
	Due               uint64   `json:"due"`
	Done              uint64   `json:"done"`
	Late              uint64   `json:"late"`
	NeverSent         uint64   `json:"never_sent"`
	Errors            uint64   `json:"errors"`

	Ops map[string]OpSummary `json:"ops"`
	// Bystander compares operations that overlapped a disturbance with those that
	// did not; Disturbed says what these disturbances were.
	Bystander  map[string]Bystander `json:"bystander,omitempty"`
	Disturbed  *Disturbed           `json:"disturbed,omitempty"`
	Pressure   []Pressure           `json:"pressure,omitempty"`
	Hiccup     Figures              `json:"hiccup_ns"`
	Steadiness string               `json:"steadiness,omitempty"`
	Warnings   []string             `json:"warnings,omitempty"`
}

// OpSummary is the figures of one operation.
type OpSummary struct {
	Count    int64   `json:"count"`
	Service  Figures `json:"service_ns"`
	Response Figures `json:"response_ns"`
	Slip     Figures `json:"slip_ns"`
	Lag      Figures `json:"lag_ns"`
}

// Of returns the figures of a kind.
func (o OpSummary) Of(k Kind) Figures {
	switch k {
	case Service:
		return o.Service
	case Response:
		return o.Response
	case Slip:
		return o.Slip
	case Lag:
		return o.Lag
	}
	panic(fmt.Sprintf("result: no kind %q", k))
}

// Figures is the percentiles of one distribution in nanoseconds.
type Figures struct {
	P50   *int64 `json:"p50"`
	P90   *int64 `json:"p90"`
	P99   *int64 `json:"p99"`
	P999  *int64 `json:"p99.9"`
	P9999 *int64 `json:"p99.99"`
	// Max is the largest value to the precision of the histogram, as tools that
	// read the log see it. MaxExact is the value itself; null where it was not
	// kept. They agree when OverRange is not 0.
	Max       *int64 `json:"max"`
	MaxExact  *int64 `json:"max_exact"`
	Count     int64  `json:"count"`
	OverRange int64  `json:"over_range"`
	// Samples says per percentile ("p99.9") whether there were enough
	// independent values to believe it. The percentile is there regardless.
	Samples map[string]Samples `json:"samples,omitempty"`
}

// Percentile names one of the percentiles of Figures.
type Percentile struct {
	Name string  // "p99.9"
	P    float64 // 99.9
}

// Percentiles lists the percentiles of Figures in ascending order.
var Percentiles = []Percentile{{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p99.9", 99.9}, {"p99.99", 99.99}}

// Value returns a figure by name: "p50" to "p99.99", "max", "max_exact". It
// is nil when there is no such value.
func (f Figures) Value(name string) *int64 {
	switch name {
	case "p50":
		return f.P50
	case "p90":
		return f.P90
	case "p99":
		return f.P99
	case "p99.9":
		return f.P999
	case "p99.99":
		return f.P9999
	case "max":
		return f.Max
	case "max_exact":
		return f.MaxExact
	}
	return nil
}

// figures computes the figures of d, which may be nil.
func figures(d *Distribution) Figures {
	var f Figures
	if d == nil || d.Count() == 0 {
		return f
	}
	at := func(p float64) *int64 {
		v, _ := d.Percentile(p)
		return &v
	}
	f.P50, f.P90, f.P99, f.P999, f.P9999, f.Max = at(50), at(90), at(99), at(99.9), at(99.99), at(100)
	if d.Extremes.MaxNs > 0 {
		exact := d.Extremes.MaxNs
		f.MaxExact = &exact
	}
	f.Count, f.OverRange = d.Count(), d.Extremes.OverRange
	return f
}

// Summary reads the whole run, twice, and computes its figures: first the
// percentiles, then how many independent values stand behind each.
func (r *Run) Summary() (Summary, error) {
	m, err := r.Merge()
	if err != nil {
		return Summary{}, err
	}
	samples, err := r.samples(m)
	if err != nil {
		return Summary{}, err
	}
	return summarize(&r.Manifest, m, samples), nil
}

// summarize computes the figures of a run from what was read of it.
func summarize(man *Manifest, m *Merged, samples map[string]map[string]Samples) Summary {
	s := Summary{
		Schema: Schema, Status: man.Status(), Reason: man.Reason(),
		Scenario: man.Scenario, Config: man.Config, Primary: man.Primary,
		Study: man.Study, Cell: man.Cell, Block: man.Block, Pace: man.Pace, Closed: man.Closed,
		Ops: make(map[string]OpSummary),
	}
	of := func(tag string) Figures {
		f := figures(m.Tags[tag])
		f.Samples = samples[tag]
		return f
	}
	for tag := range m.Tags {
		op, ok := strings.CutSuffix(tag, "."+string(Service))
		if !ok {
			continue
		}
		o := OpSummary{Service: of(tag), Response: of(Tag(op, Response)), Slip: of(Tag(op, Slip)), Lag: of(Tag(op, Lag))}
		o.Count = o.Service.Count
		s.Ops[op] = o
	}
	s.bystanders()
	s.Hiccup = of(HiccupTag)
	if e := man.End; e != nil {
		s.OfferedPerSecond, s.AchievedPerSecond = e.OfferedPerSecond, e.AchievedPerSecond
		s.Due, s.Done, s.Late, s.NeverSent, s.Errors = e.Due, e.Done, e.Late, e.NeverSent, e.Errors
		s.Steadiness, s.Disturbed, s.Pressure = e.Steadiness, e.Disturbed, e.Pressure
		s.Warnings = append(s.Warnings, e.Warnings...)
	} else {
		primary := Tag(man.Primary, Service)
		if rate, ok := m.Rate(primary); ok {
			s.AchievedPerSecond = &rate
			s.Done = uint64(m.Tags[primary].Count())
		}
	}
	if m.OutOfOrder > 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%d intervals are out of time order: the wall clock was set back during the run", m.OutOfOrder))
	}
	if m.Torn {
		s.Warnings = append(s.Warnings, "the last line was cut off: the run's last interval is missing")
	}
	return s
}
