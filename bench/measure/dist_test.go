package measure_test

// What a distribution says must follow from the values that went in, whatever
// their number, range and origin.

import (
	"math"
	"testing"
	"time"

	"commitlab/bench/measure"
)

// observe records values as service times and returns their distribution.
func observe(values ...time.Duration) *measure.Dist {
	w := measure.NewWorker(0, 1, "op")
	for _, v := range values {
		w.Observe("op", v)
	}
	return w.Observed()[0].Service
}

func repeat(n int, v time.Duration) []time.Duration {
	values := make([]time.Duration, n)
	for i := range values {
		values[i] = v
	}
	return values
}

// B-112: a p95 below the mean looks like a bug but is real.
func TestB112_MeanMayExceedPercentiles(t *testing.T) {
	d := observe(append(repeat(14950, 2*time.Millisecond), repeat(50, 3*time.Second)...)...)
	if mean := d.Hist.Mean() / 1e6; math.Abs(mean-11.99) > 0.02 {
		t.Errorf("mean %.3f ms, want 11.99", mean)
	}
	if got := percentile(d, 95); !near(got, 2*time.Millisecond) {
		t.Errorf("p95 %v, want 2ms", got)
	}
	if got := percentile(d, 99.7); !near(got, 3*time.Second) {
		t.Errorf("p99.7 %v, want 3s", got)
	}
	last := time.Duration(0)
	for _, percent := range []float64{0, 50, 90, 99, 99.9, 99.99, 100} {
		got := percentile(d, percent)
		if got < last || got > time.Duration(d.Max) {
			t.Errorf("p%v = %v, want it between the percentile before, %v, and the maximum", percent, got, last)
		}
		last = got
	}
}

// B-114: a value above the histogram's range ended the benchmark in a panic.
func TestB114_ValuesOutOfRangeAreCounted(t *testing.T) {
	const huge = 500 * time.Second
	d := observe(append(repeat(999, time.Millisecond), huge)...)
	if d.Count() != 1000 || d.Over != 1 || d.Max != int64(huge) {
		t.Errorf("count %d, over range %d, maximum %v: want 1000, 1, %v exactly", d.Count(), d.Over, time.Duration(d.Max), huge)
	}
	if got := percentile(d, 100); got != huge {
		t.Errorf("p100 %v, want %v", got, huge)
	}
	// Five in a hundred out of range: no percentile may be below the truth.
	d = observe(append(repeat(95, time.Millisecond), repeat(5, huge)...)...)
	if got := percentile(d, 99); got < huge {
		t.Errorf("p99 %v, want at least the true %v", got, huge)
	}
}

// B-117: an empty histogram gave percentiles other than zero.
func TestB117_NoDataIsNotZero(t *testing.T) {
	d := observe()
	if d != nil {
		t.Errorf("distribution of nothing is %+v, want nil", d)
	}
	if got, ok := d.Percentile(99); ok || d.Count() != 0 {
		t.Errorf("percentile of nothing is %d, count %d: want no value", got, d.Count())
	}
}

// B-118: 0.99 was passed where 99 is meant.
func TestB118_PercentilesAreInPerCent(t *testing.T) {
	var values []time.Duration
	for i := range 1000 {
		values = append(values, time.Duration(i+1))
	}
	d := observe(values...)
	for percent, want := range map[float64]time.Duration{50: 500, 90: 900, 99: 990, 99.9: 999, 100: 1000} {
		if got := percentile(d, percent); got != want {
			t.Errorf("p%v = %d, want %d", percent, got, want)
		}
	}
}

// B-126: percentiles of parts were averaged.
func TestB126_PercentilesComeFromMergedWorkers(t *testing.T) {
	inst := &target{op: func(w *measure.Worker) error {
		times, d := 1000, 10*time.Millisecond
		if w.ID == 1 {
			times, d = 10, 2*time.Second
		}
		for range times {
			w.Observe("part", d)
		}
		time.Sleep(time.Second)
		return nil
	}}
	plan := measure.Plan{Ops: []string{"part"}, Workers: 2, Duration: time.Second}
	virtually(t, inst, plan, nil, func(t *testing.T, o measure.Outcome, err error) {
		part := o.Ops[1].Service
		for percent, want := range map[float64]time.Duration{95: 10 * time.Millisecond, 99: 10 * time.Millisecond, 99.5: 2 * time.Second} {
			if got := percentile(part, percent); !near(got, want) {
				t.Errorf("p%v = %v, want %v", percent, got, want)
			}
		}
		if part.Count() != 1010 {
			t.Errorf("count %d, want 1010", part.Count())
		}
	})
}

func TestTimedWorkerOutsideOfARun(t *testing.T) {
	w := measure.NewWorker(3, 1, "op", "part")
	inst := &target{op: func(w *measure.Worker) error {
		w.Observe("part", time.Duration(w.N))
		return nil
	}}
	for n := range uint64(10) {
		w.N = n
		if err := w.Timed(inst); err != nil {
			t.Fatal(err)
		}
	}
	got := w.Observed()
	if got[0].Name != "op" || got[0].Service.Count() != 10 || got[1].Service.Count() != 10 || got[1].Service.Max != 9 {
		t.Errorf("%+v, want ten of each, the longest part 9 ns", got)
	}
	if again := w.Observed(); again[0].Service != nil {
		t.Error("values were not taken away by the first call")
	}
}

func TestObservingAnUnknownOperationPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	measure.NewWorker(0, 1, "op").Observe("other", time.Second)
}
