package pace_test

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"commitlab/bench/pace"
)

func parse(t testing.TB, s string) pace.Pacer {
	t.Helper()
	p, err := pace.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var schedules = []string{
	"200000", "50k", "1.5M", "0.2", "3", "ramp:1k-100k/10s", "ramp:0-100/1s", "ramp:100k-10/3s", "ramp:5-5/1s",
	"step:1k,5k,20k/10s", "step:100,1/250ms", "poisson:5k", "poisson:200k/seed=7", "burst:100/10ms", "burst:1/1s",
}

func TestDueNeverFalls(t *testing.T) {
	for _, s := range schedules {
		p := parse(t, s)
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.Uint64Range(0, 1<<40).Draw(t, "n")
			for i := range uint64(3) {
				if p.Due(n+i) > p.Due(n+i+1) {
					t.Fatalf("%s: operation %d is due at %d, the next one at %d", s, n+i, p.Due(n+i), p.Due(n+i+1))
				}
			}
			if p.Due(n) < 0 {
				t.Fatalf("%s: operation %d is due at %d", s, n, p.Due(n))
			}
		})
	}
}

func TestCountIsTheInverseOfDue(t *testing.T) {
	for _, s := range schedules {
		p := parse(t, s)
		rapid.Check(t, func(t *rapid.T) {
			at := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "at"))
			n := pace.Count(p, at)
			if p.Due(n) < at || n > 0 && p.Due(n-1) >= at {
				t.Fatalf("%s: %d operations before %v, but number %d is due at %v", s, n, at, n, p.Due(n))
			}
		})
	}
}

// The number of operations due in a span is the integral of the rate over it.
func TestRateIsTheSlopeOfTheSchedule(t *testing.T) {
	for _, s := range schedules {
		p := parse(t, s)
		const steps, length = 3000, 30 * time.Second
		want := 0.0
		for i := range steps {
			want += p.Rate((length*time.Duration(2*i+1))/(2*steps)) * length.Seconds() / steps
		}
		// Bursts come whole, and Poisson arrivals scatter by the root of their number.
		tolerance := 100 + 4*math.Sqrt(want)
		if got := float64(pace.Count(p, length)); math.Abs(got-want) > tolerance {
			t.Errorf("%s: %v operations in %v, rate says %v", s, got, length, want)
		}
	}
}

func TestKnownDueTimes(t *testing.T) {
	for _, c := range []struct {
		schedule string
		n        uint64
		want     time.Duration
	}{
		{"1k", 0, 0},
		{"1k", 4999, 4999 * time.Millisecond},
		{"200k", 1, 5 * time.Microsecond},
		{"0.2", 3, 15 * time.Second},
		{"ramp:0-100/2s", 100, 2 * time.Second}, // half of the final rate on average
		{"ramp:0-100/2s", 25, time.Second},
		{"ramp:0-100/2s", 300, 4 * time.Second},
		{"step:10,20/1s", 10, time.Second},
		{"step:10,20/1s", 30, 2 * time.Second},
		{"step:10,20/1s", 50, 3 * time.Second},
		{"burst:100/10ms", 99, 0},
		{"burst:100/10ms", 100, 10 * time.Millisecond},
	} {
		if got := parse(t, c.schedule).Due(c.n); (got - c.want).Abs() > 1 {
			t.Errorf("%s: operation %d due at %v, want %v", c.schedule, c.n, got, c.want)
		}
	}
}

// B-113: a schedule kept by adding up rounded intervals drifts; one kept from the
// start does not.
func TestB113_ScheduleDoesNotDrift(t *testing.T) {
	for _, perSecond := range []string{"50k", "30k", "7k", "333333"} {
		p := parse(t, perSecond)
		day := uint64(p.Rate(0)) * 24 * 3600
		if got := p.Due(day); (got - 24*time.Hour).Abs() > 20 {
			t.Errorf("%s: after a day of operations the next one is due at %v", perSecond, got)
		}
	}
}

func TestPoissonGapsAreExponential(t *testing.T) {
	p := parse(t, "poisson:1000/seed=3")
	const n = 200_000 // more than three periods
	var sum, squares float64
	beyond := 0 // gaps longer than three times the mean; exp(-3) of them
	for i := range uint64(n) {
		gap := (p.Due(i+1) - p.Due(i)).Seconds() * 1000
		sum += gap
		squares += gap * gap
		if gap > 3 {
			beyond++
		}
	}
	mean := sum / n
	deviation := math.Sqrt(squares/n - mean*mean)
	if math.Abs(mean-1) > 0.01 || math.Abs(deviation-1) > 0.02 {
		t.Errorf("mean gap %.3f, deviation %.3f: want 1 and 1", mean, deviation)
	}
	if got := float64(beyond) / n; math.Abs(got-math.Exp(-3)) > 0.003 {
		t.Errorf("%.4f of the gaps exceed three means, want %.4f", got, math.Exp(-3))
	}
}

func TestPoissonIsAFunctionOfItsSeed(t *testing.T) {
	a, same, other := parse(t, "poisson:1k/seed=1"), parse(t, "poisson:1k"), parse(t, "poisson:1k/seed=2")
	differ := 0
	for n := range uint64(1000) {
		if a.Due(n) != same.Due(n) {
			t.Fatalf("operation %d: %v and %v from one seed", n, a.Due(n), same.Due(n))
		}
		if a.Due(n) != other.Due(n) {
			differ++
		}
	}
	if differ < 900 {
		t.Errorf("only %d of 1000 due times differ between seeds", differ)
	}
}

func TestParseReadsWhatStringWrites(t *testing.T) {
	for _, s := range append(schedules, "max", "") {
		p := parse(t, s)
		again := parse(t, p.String())
		if again.String() != p.String() || again.Due(12345) != p.Due(12345) {
			t.Errorf("%q is written %q, which reads as %q", s, p, again)
		}
	}
}

func TestParseErrorsSayWhatIsWrong(t *testing.T) {
	for s, want := range map[string]string{
		"fast":               `"fast" is not a rate`,
		"0":                  "more than 0",
		"-5":                 "more than 0",
		"NaN":                "more than 0",
		"2000M":              "at most 1e+09",
		"ramp:1k-2k":         "duration after a slash",
		"ramp:1k/10s":        "joined by a dash",
		"ramp:5-0/1s":        "ramp end 0",
		"ramp:1-2/0s":        "ramp duration 0s",
		"step:1k,0/1s":       "step 1",
		"step:1k/-1s":        "step duration",
		"burst:0/1s":         "burst of 0",
		"burst:5/0s":         "burst period",
		"burst:x/1s":         "burst size",
		"poisson:5k/7":       "seed=NUMBER",
		"poisson:0":          "more than 0",
		"poisson:5/seed=-1":  "seed",
		"sine:1k/10s":        `"sine"`,
		"step:1k,2k/fortune": "invalid duration",
	} {
		p, err := pace.Parse(s)
		if err == nil || p != nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), s) {
			t.Errorf("%q: %v, error %v; want an error that quotes it and says %s", s, p, err, want)
		}
	}
}

func TestClosedLoopIsRecognised(t *testing.T) {
	if !pace.IsClosed(nil) || !pace.IsClosed(pace.Closed{}) || !pace.IsClosed(parse(t, "max")) || pace.IsClosed(parse(t, "1")) {
		t.Error("closed loop is nil, Closed and max, and nothing else")
	}
}

func TestScheduleAllocatesNothing(t *testing.T) {
	for _, s := range schedules {
		p := parse(t, s)
		n := uint64(0)
		if got := testing.AllocsPerRun(100, func() { p.Due(n); p.Rate(time.Second); n += 1000 }); got != 0 {
			t.Errorf("%s: %v allocations per operation", s, got)
		}
	}
}

func TestWaiterInVirtualTimeIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := pace.NewClock()
		w := pace.NewWaiter(clock, pace.Timer, 1, make(chan struct{}))
		for _, due := range []time.Duration{0, time.Nanosecond, time.Millisecond, time.Hour} {
			if now, ok := w.Until(due); now != due || !ok {
				t.Errorf("waited until %v, want %v", now, due)
			}
		}
		// Who is late is told the time and does not wait.
		if now, ok := w.Until(time.Minute); now != time.Hour || !ok {
			t.Errorf("late by an hour: now %v, want %v", now, time.Hour)
		}
	})
}

func TestStopEndsLongWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, stop := pace.NewClock(), make(chan struct{})
		time.AfterFunc(time.Second, func() { close(stop) })
		w := pace.NewWaiter(clock, pace.Timer, 1, stop)
		if now, ok := w.Until(time.Hour); ok || now != time.Second {
			t.Errorf("until: now %v, ok %v: want stopped at 1s", now, ok)
		}
		if now, ok := w.Sleep(time.Hour); ok || now != time.Second {
			t.Errorf("sleep: now %v, ok %v: want stopped at 1s", now, ok)
		}
	})
}

// In real time, with every means of waiting: never early, and nothing allocated.
func TestHybridWaiterIsNeverEarly(t *testing.T) {
	for _, neighbours := range []int{1, 1000} {
		clock := pace.NewClock()
		w := pace.NewWaiter(clock, pace.Hybrid, neighbours, make(chan struct{}))
		for _, wait := range []time.Duration{0, 300, 20 * time.Microsecond, 300 * time.Microsecond, 1200 * time.Microsecond, 3 * time.Millisecond} {
			allocations := testing.AllocsPerRun(5, func() {
				due := clock.Now() + wait
				if now, ok := w.Until(due); now < due || !ok {
					t.Errorf("wait of %v: early by %v", wait, due-now)
				}
				due = clock.Now() + wait
				if _, ok := w.Sleep(due); !ok {
					t.Errorf("sleep of %v: stopped", wait)
				}
			})
			if allocations != 0 {
				t.Errorf("wait of %v: %v allocations", wait, allocations)
			}
		}
	}
}

func BenchmarkDue(b *testing.B) {
	for _, s := range []string{"200k", "ramp:1k-100k/10s", "step:1k,5k,20k/10s", "poisson:200k", "burst:100/10ms"} {
		p := parse(b, s)
		kind, _, _ := strings.Cut(s, ":")
		b.Run("schedule="+kind, func(b *testing.B) {
			for n := uint64(0); b.Loop(); n++ {
				p.Due(n)
			}
		})
	}
}
