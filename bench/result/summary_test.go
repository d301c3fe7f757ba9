package result

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func percentile(t testing.TB, d *Distribution, p float64) int64 {
	t.Helper()
	v, ok := d.Percentile(p)
	if !ok {
		t.Fatalf("no value at percentile %g of %d values", p, d.Count())
	}
	return v
}

// about checks to the precision of a histogram, from above: a percentile is
// never below the truth.
func about(t testing.TB, what string, got, want int64) {
	t.Helper()
	if got < want || got > want+want/1000 {
		t.Errorf("%s = %d, want %d to %d", what, got, want, want+want/1000)
	}
}

// Acceptance: the JSON has the names that were promised.
func TestSummaryHasThePromisedShape(t *testing.T) {
	w := create(t, Manifest{Scenario: "append", Config: "tuned", Pace: "2000"})
	for i := range 5 {
		must(t, w.Tick(Tick{Start: start.Add(time.Duration(i) * time.Second), End: start.Add(time.Duration(i+1) * time.Second),
			Ops: []OpTick{{Name: "append", Service: times(2000, 900), Response: times(2000, 1000), Slip: times(2000, 100)}}, Hiccup: of(7)}))
	}
	rate := 2000.0
	must(t, w.End(End{Status: OK, OfferedPerSecond: &rate, AchievedPerSecond: &rate, Due: 10000, Done: 10000}))
	b, err := json.Marshal(summary(t, w))
	must(t, err)
	var got map[string]any
	must(t, json.Unmarshal(b, &got))
	for _, name := range []string{"schema", "status", "scenario", "config"} {
		if _, ok := got[name].(string); !ok {
			t.Errorf("%s is %v, want a string", name, got[name])
		}
	}
	if got["offered_per_s"] != 2000.0 || got["achieved_per_s"] != 2000.0 {
		t.Errorf("offered %v, achieved %v; want 2000", got["offered_per_s"], got["achieved_per_s"])
	}
	op, _ := got["ops"].(map[string]any)["append"].(map[string]any)
	if op["count"] != 10000.0 {
		t.Errorf("count is %v, want 10000", op["count"])
	}
	for name, figures := range map[string]any{"service_ns": op["service_ns"], "response_ns": op["response_ns"], "slip_ns": op["slip_ns"], "hiccup_ns": got["hiccup_ns"]} {
		f, _ := figures.(map[string]any)
		for _, statistic := range []string{"p50", "p90", "p99", "p99.9", "p99.99", "max"} {
			if _, ok := f[statistic].(float64); !ok {
				t.Errorf("%s of %s is %v, want a number", statistic, name, f[statistic])
			}
		}
	}
}

// hdrhistogram-go#60: an empty histogram has percentiles and even a maximum. No
// values are null, in every figure, and the count is 0.
func TestB117_NoValuesAreNull(t *testing.T) {
	w := create(t, Manifest{Closed: true, Pace: "max"})
	must(t, w.Tick(second(0, OpTick{Name: "append"})))
	must(t, w.End(End{Status: OK}))
	s := summary(t, w)
	b, err := json.Marshal(s)
	must(t, err)
	const none = `{"p50":null,"p90":null,"p99":null,"p99.9":null,"p99.99":null,"max":null,"max_exact":null,"count":0,"over_range":0}`
	for _, want := range []string{
		`"offered_per_s":null,"achieved_per_s":null`,
		`"append":{"count":0,"service_ns":` + none + `,"response_ns":` + none + `,"slip_ns":` + none,
		`"hiccup_ns":` + none,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %s in\n%s", want, b)
		}
	}
	d := &Distribution{Hist: hdrhistogram.New(100, 1e7, 3)}
	if _, ok := d.Max(); ok {
		t.Error("an empty distribution has a maximum")
	}
	if _, ok := d.Percentile(50); ok {
		t.Error("an empty distribution has a median")
	}
}

// memtier_benchmark#271: seconds without samples wrote nan and broke the JSON.
func TestB130_EmptySecondsAreIntervalsWithCountZero(t *testing.T) {
	w := create(t, Manifest{})
	for i := range 10 {
		op := OpTick{Name: "append"}
		if i < 3 || i > 5 {
			op.Service, op.Response = times(1000, 1_000_000), times(1000, 2_000_000)
		}
		must(t, w.Tick(second(i, op)))
	}
	counts := map[string][]int64{}
	for i, err := range open(t, w).Intervals() {
		must(t, err)
		counts[i.Tag] = append(counts[i.Tag], i.Hist.TotalCount())
	}
	want := []int64{1000, 1000, 1000, 0, 0, 0, 1000, 1000, 1000, 1000}
	for _, tag := range []string{"append.service", "append.response"} {
		if !slices.Equal(counts[tag], want) {
			t.Errorf("%s per second: %v, want %v", tag, counts[tag], want)
		}
	}
	if _, ok := counts["append.slip"]; ok {
		t.Error("a kind that never had a value has intervals")
	}
	for c, err := range open(t, w).Counters() {
		must(t, err) // every line is strict JSON
		if len(c.Extremes) != 0 && c.Extremes["append.service"].MaxNs < 1_000_000 {
			t.Errorf("extremes of a second: %v", c.Extremes)
		}
	}
	s := summary(t, w)
	if s.Ops["append"].Count != 7000 || *s.AchievedPerSecond != 700 {
		t.Errorf("count %d, rate %g; want 7000 in 10 s", s.Ops["append"].Count, *s.AchievedPerSecond)
	}
	if _, err := json.Marshal(s); err != nil {
		t.Error(err)
	}
}

// RediSearchBenchmark#18: a value above the range panicked.
func TestB114_ValuesAboveTheRange(t *testing.T) {
	const long = 5 * HighestNs
	w := create(t, Manifest{})
	h := times(998, 1000)
	must(t, h.RecordValues(HighestNs, 2)) // clamped
	must(t, w.Tick(second(0, OpTick{Name: "append", Service: h, ServiceExtremes: Extremes{MaxNs: long, OverRange: 2}})))
	must(t, w.End(End{Status: OK}))
	f := summary(t, w).Ops["append"].Service
	if f.Count != 1000 || f.OverRange != 2 || *f.Max != long || *f.MaxExact != long {
		t.Errorf("count %d, over range %d, max %d, exact %d; want 1000, 2, %d twice", f.Count, f.OverRange, *f.Max, *f.MaxExact, int64(long))
	}
	// The truth at p99.9 is one of the two long values.
	if *f.P999 != long {
		t.Errorf("p99.9 is %d, want %d: never below the truth", *f.P999, int64(long))
	}
	if *f.P99 != 1000 {
		t.Errorf("p99 is %d, want 1000", *f.P99)
	}
}

// go-wrk PR 34: 0.99 was passed for 99.
func TestB118_PercentilesAreOutOfAHundred(t *testing.T) {
	d := NewDistribution()
	for v := range int64(1000) {
		must(t, d.Add(of(v+1), Extremes{}))
	}
	for p, want := range map[float64]int64{50: 500, 90: 900, 99: 990, 99.9: 999, 100: 1000} {
		about(t, "percentile", percentile(t, d, p), want)
	}
}

// vegeta PR 41: p95 below the mean looked like a bug and is none. What must
// hold is min <= p50 <= ... <= max.
func TestB112_PercentilesAscendAndMayLieBelowTheMean(t *testing.T) {
	w := create(t, Manifest{})
	h := times(14950, 2_000_000)
	must(t, h.RecordValues(3_000_000_000, 50))
	must(t, w.Tick(second(0, OpTick{Name: "append", Service: h})))
	d := merge(t, w).Tags["append.service"]
	about(t, "p95", percentile(t, d, 95), 2_000_000)
	about(t, "p99.7", percentile(t, d, 99.7), 3_000_000_000)
	if mean := d.Hist.Mean(); mean < 11.98e6 || mean > 12.01e6 {
		t.Errorf("mean is %g, want 11.99e6", mean)
	}
	f := summary(t, w).Ops["append"].Service
	ascending := []int64{*f.P50, *f.P90, *f.P99, *f.P999, *f.P9999, *f.Max}
	if !slices.IsSorted(ascending) {
		t.Errorf("percentiles do not ascend: %v", ascending)
	}
}

// hdr_histogram_erl PR 11: merging unlike histograms lost values, and only a
// return value told.
func TestB120_UnlikeHistogramsAreNotMerged(t *testing.T) {
	narrow := hdrhistogram.New(1, 10, 3)
	must(t, narrow.RecordValue(7))
	d := &Distribution{Hist: narrow}
	if err := d.Add(of(500_000, 5), Extremes{}); err == nil || d.Count() != 1 {
		t.Errorf("error %v, %d values; want an error and the one value", err, d.Count())
	}
	d = NewDistribution()
	must(t, d.Add(of(500_000, 5), Extremes{}))
	must(t, d.Add(of(1, 2, 3), Extremes{}))
	if d.Count() != 5 {
		t.Errorf("%d values after the merge, want 5", d.Count())
	}
}

// sourcegraph PR 9840: percentiles of parts were averaged.
func TestB126_PercentilesComeFromTheWhole(t *testing.T) {
	w := create(t, Manifest{})
	must(t, w.Tick(second(0, OpTick{Name: "append", Service: times(1000, 10_000_000)})))
	must(t, w.Tick(second(1, OpTick{Name: "append", Service: times(10, 2_000_000_000)})))
	d := merge(t, w).Tags["append.service"]
	about(t, "p95", percentile(t, d, 95), 10_000_000)
	about(t, "p99", percentile(t, d, 99), 10_000_000)
	about(t, "p99.5", percentile(t, d, 99.5), 2_000_000_000)
}

// vegeta#210: merging two runs spread their operations over the pause between.
func TestB110_RateOfMergedRunsLeavesOutThePause(t *testing.T) {
	var all *Merged
	for _, pause := range []time.Duration{0, 20 * time.Minute} {
		w := create(t, Manifest{})
		for i := range 60 {
			tick := second(i, OpTick{Name: "append", Service: times(100, 1000), ServiceExtremes: Extremes{MaxNs: 1001 + int64(pause/time.Minute)}})
			tick.Start, tick.End = tick.Start.Add(pause), tick.End.Add(pause)
			must(t, w.Tick(tick))
		}
		m := merge(t, w)
		if all == nil {
			all = m
			continue
		}
		must(t, all.Add(m))
		if rate, ok := m.Rate("append.service"); !ok || rate != 100 {
			t.Errorf("rate of one run is %g, want 100", rate)
		}
	}
	rate, ok := all.Rate("append.service")
	d := all.Tags["append.service"]
	if max, _ := d.Max(); !ok || rate != 100 || d.Count() != 12_000 || max != 1021 {
		t.Errorf("merged: rate %g, %d values, max %d; want 100, 12000, 1021", rate, d.Count(), max)
	}
	if _, ok := all.Rate("append.slip"); ok {
		t.Error("a tag without values has a rate")
	}
}

// A percentile is believed only when enough independent values stand behind it.
func TestSamplesBehindAPercentile(t *testing.T) {
	run := func(slow func(i int) int64) Figures {
		w := create(t, Manifest{})
		for i := range 60 {
			h := times(1000-slow(i), 1000)
			must(t, h.RecordValues(1_000_000, slow(i)))
			must(t, w.Tick(second(i, OpTick{Name: "append", Service: h})))
		}
		return summary(t, w).Ops["append"].Service
	}
	// 60,000 values, 20 slow ones in each second: enough for p99.9.
	spread := run(func(int) int64 { return 20 }).Samples
	if s := spread["p99.9"]; !s.Enough || *s.NEff != 60_000 || s.Need != 4400 {
		t.Errorf("spread out: p99.9 has %+v, want 60000 of 4400, enough", s)
	}
	// Nearly all slow values within one second: one event.
	clumped := run(func(i int) int64 {
		if i == 30 {
			return 500 // 0.8 % of all: above p99
		}
		return 0
	}).Samples
	if s := clumped["p99"]; s.Enough || *s.NEff > 440 {
		t.Errorf("in one second: p99 has n_eff %g, want less than 440", *s.NEff)
	}
	if s := clumped["p50"]; !s.Enough {
		t.Errorf("in one second: p50 has n_eff %g, want enough", *s.NEff)
	}
	// Three seconds cannot tell how values cluster.
	w := create(t, Manifest{})
	for i := range 3 {
		must(t, w.Tick(second(i, OpTick{Name: "append", Service: times(100_000, 1000)})))
	}
	if s := summary(t, w).Ops["append"].Service.Samples["p99"]; s.Enough || s.NEff != nil {
		t.Errorf("three intervals: %+v, want unknown", s)
	}
}
