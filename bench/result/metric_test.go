package result

import (
	"strings"
	"testing"
	"time"
)

func TestMetricIsReadAsItIsWritten(t *testing.T) {
	for text, want := range map[string]Metric{
		"append.service.p99.9":    {"append", Service, "p99.9"},
		"append.response.p99.99":  {"append", Response, "p99.99"},
		"recover.mib.service.p50": {"recover.mib", Service, "p50"},
		"ticker.lag.max":          {"ticker", Lag, "max"},
		"append.rate":             {"append", Rate, ""},
		"scan.mib.period":         {"scan.mib", Period, ""},
		"hiccup.p99":              {"", "", "p99"},
	} {
		got, err := ParseMetric(text)
		if err != nil || got != want {
			t.Errorf("%s is read as %+v, %v; want %+v", text, got, err, want)
		}
		if got.String() != text {
			t.Errorf("%s is written as %s", text, got)
		}
	}
	for _, text := range []string{"", "append", "append.p99", "append.service", "append.service.p9", ".rate", ".service.p50", "rate", "hiccup", "p99"} {
		if m, err := ParseMetric(text); err == nil || !strings.Contains(err.Error(), "append.service.p99.9") {
			t.Errorf("%q is read as %+v, %v; want an error that shows a metric", text, m, err)
		}
	}
}

func TestFigureOfARun(t *testing.T) {
	w := create(t, Manifest{Scenario: "append", Config: "tuned", Pace: "max", Closed: true})
	must(t, w.Tick(Tick{Start: start, End: start.Add(time.Second), Ops: []OpTick{{Name: "append", Service: times(100, 900)}}, Hiccup: times(10, 70)}))
	rate := 2000.0
	must(t, w.End(End{Status: OK, AchievedPerSecond: &rate, Done: 100}))
	s := summary(t, w)
	for text, want := range map[string]float64{
		"append.rate": 2000, "append.period": 500_000, "append.service.p50": 900, "hiccup.max": 70,
	} {
		m, err := ParseMetric(text)
		must(t, err)
		if got, ok := s.Figure(m); !ok || got != want {
			t.Errorf("%s is %v, %v; want %v", text, got, ok, want)
		}
	}
	s.AchievedPerSecond = nil
	for _, text := range []string{"append.rate", "append.period", "append.response.p50", "roll.service.p50"} {
		m, err := ParseMetric(text)
		must(t, err)
		if got, ok := s.Figure(m); ok {
			t.Errorf("%s is %v, want none", text, got)
		}
	}
}
