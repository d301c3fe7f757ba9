package result

import (
	"encoding/json"
	"testing"
	"time"
)

// Goal: the two parts of a bystander stand together in the summary and not among
// the operations, and what they were sorted by stands beside them.
func TestSummaryPutsTheTwoPartsOfABystanderTogether(t *testing.T) {
	w := create(t, Manifest{Scenario: "retention", Pressure: "cpu-hog=1"})
	must(t, w.Tick(Tick{Start: start, End: start.Add(time.Second), Ops: []OpTick{
		{Name: "append", Service: times(100, 900)},
		{Name: InsideOp("append"), Service: times(20, 5000)},
		{Name: OutsideOp("append"), Service: times(80, 700)},
	}}))
	end := End{
		Status: OK, Disturbed: &Disturbed{MarginNs: 1e6, Count: 3, TimeNs: 5e6},
		Pressure: []Pressure{{Kind: "cpu-hog", Asked: "1", Did: "1 process", Values: map[string]float64{"cpuSeconds": 0.5}}},
	}
	must(t, w.End(end))
	s := summary(t, w)
	b, ok := s.Bystander["append"]
	if !ok || b.Inside.Count != 20 || b.Outside.Count != 80 {
		t.Fatalf("bystander append is %+v, %v; want 20 inside and 80 outside", b, ok)
	}
	about(t, "inside p99", *b.Inside.P99, 5000)
	about(t, "outside p99", *b.Outside.P99, 700)
	if len(s.Ops) != 1 || s.Ops["append"].Count != 100 {
		t.Errorf("operations are %v, want append alone, with all 100", s.Ops)
	}
	if s.Disturbed == nil || *s.Disturbed != *end.Disturbed || len(s.Pressure) != 1 || s.Pressure[0].Did != "1 process" {
		t.Errorf("disturbed by %+v, pressure %+v; want what the run's end says", s.Disturbed, s.Pressure)
	}
	text, err := json.Marshal(s)
	must(t, err)
	var shape struct {
		Bystander map[string]map[string]map[string]any `json:"bystander"`
	}
	must(t, json.Unmarshal(text, &shape))
	if shape.Bystander["append"]["inside_ns"]["p99.99"] == nil || shape.Bystander["append"]["outside_ns"]["p99.99"] == nil {
		t.Errorf("JSON is %s, want bystander.append with inside_ns and outside_ns", text)
	}
}
