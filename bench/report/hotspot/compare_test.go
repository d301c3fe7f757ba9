package hotspot_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"commitlab/bench/report/hotspot"
)

// load draws the samples of a load that spends the same per second for ever: 70 of
// 100 ticks hit one of its stacks, by their weight.
func load(seed uint64, length time.Duration) hotspot.Side {
	const perSecond = 20_000
	weighted := []stack{{"memmove append put", 50}, {"crc append put", 30}, {"lock append put", 12}, {"msync flush", 7}, {"rare append put", 1}}
	random := rand.New(rand.NewPCG(seed, 139))
	drawn := make([]int64, len(weighted))
	for range length / tick {
		at := random.Int64N(143)
		for i, s := range weighted {
			if at -= s.samples; at < 0 {
				drawn[i]++
				break
			}
		}
	}
	var stacks []stack
	for i, s := range weighted {
		stacks = append(stacks, stack{s.functions, drawn[i]})
	}
	return hotspot.Side{Profile: cpuProfile(length, stacks...), Operations: uint64(perSecond * length.Seconds()), Window: length}
}

// B-139: the difference of a 30 s and a 60 s profile of the same load was one
// profile's worth of negative values.
func TestB139_ProfilesOfUnlikeLengthDifferByNothing(t *testing.T) {
	a, b := load(1, 30*time.Second), load(2, 60*time.Second)
	table := compare(t, hotspot.CPU, a, b)
	m := table.Measures[0]
	if m.Unit != "ns/op" || !table.PerOperation {
		t.Fatalf("unit %s, per operation %t; want ns/op", m.Unit, table.PerOperation)
	}
	if m.Total.SamplesB < m.Total.SamplesA*3/2 {
		t.Fatalf("%d and %d samples are not of a load and twice of it", m.Total.SamplesA, m.Total.SamplesB)
	}
	if d := m.Total.Difference(); math.Abs(d) > 0.05*m.Total.A {
		t.Errorf("total differs by %g of %g ns/op, want about nothing", d, m.Total.A)
	}
	for _, f := range m.Functions {
		if f.Flat.Resolved() || f.Cumulative.Resolved() {
			t.Errorf("%s is found to differ: flat %+v, cumulative %+v", f.Name, f.Flat, f.Cumulative)
		}
	}
}

// The same without chance: twice the samples for twice the operations is exactly
// no difference, and a load that really costs more is found.
func TestB139_OnlyWhatDiffersPerOperationDiffers(t *testing.T) {
	side := func(seconds, memmove, crc int64) hotspot.Side {
		length := time.Duration(seconds) * time.Second
		p := cpuProfile(length, stack{"memmove put", memmove}, stack{"crc put", crc})
		return hotspot.Side{Profile: p, Operations: uint64(10_000 * seconds), Window: length}
	}
	m := compare(t, hotspot.CPU, side(30, 900, 300), side(60, 1800, 1800)).Measures[0]
	if c := function(t, m, "memmove").Flat; c.A != 30_000 || c.Difference() != 0 || c.Resolved() {
		t.Errorf("memmove is %+v, want 30000 ns/op on both sides", c)
	}
	if c := function(t, m, "crc").Flat; c.A != 10_000 || c.B != 30_000 || !c.Resolved() {
		t.Errorf("crc is %+v, want 10000 and 30000 ns/op", c)
	}
	if top := m.Top(false); len(top) != 2 || top[0].Name != "crc" {
		t.Errorf("flat order %v, want crc first and no put", top)
	}
	if top := m.Top(true); len(top) != 3 || top[0].Name != "put" || top[2].Name != "memmove" {
		t.Errorf("cumulative order %v, want put, crc, memmove", top)
	}
}

// Unlike profiles were subtracted as if their columns meant the same.
func TestB139_UnlikeProfilesAreRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(*profile.Profile)
		want string
	}{
		{"another kind", func(p *profile.Profile) { p.Comments[1] = "kind=wall" }, "kind wall, want cpu"},
		{"another thing sampled", func(p *profile.Profile) { p.PeriodType.Type = "wallclock" }, "samples wallclock in nanoseconds"},
		{"no thing sampled", func(p *profile.Profile) { p.PeriodType = nil }, "does not say"},
		{"another unit", func(p *profile.Profile) { p.SampleType[1].Unit = "microseconds" }, "it has samples in count, cpu in microseconds"},
		{"another sample type", func(p *profile.Profile) { p.SampleType[0].Type = "events" }, "no sample type samples in count"},
		{"another rate", func(p *profile.Profile) { p.Period /= 5 }, "different rates"},
		{"a difference already", func(p *profile.Profile) { p.Scale(-1) }, "difference of profiles already"},
	} {
		a, b := load(1, time.Second), load(1, time.Second)
		c.make(b.Profile)
		if _, err := hotspot.Compare(hotspot.CPU, a, b); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "B") {
			t.Errorf("%s: error %v, want one of B with %q", c.name, err, c.want)
		}
	}
	if _, err := hotspot.Single("gpu", load(1, time.Second)); err == nil || !strings.Contains(err.Error(), `"gpu"`) {
		t.Errorf("error %v, want one that names the kind gpu", err)
	}
}

// wall is a wall-clock profile of one goroutine that waits all the time, with as
// many samples a second as its sampler kept up with.
func wall(length time.Duration, perSecond int64) *profile.Profile {
	b := newBuilder(hotspot.Wall, "wallclock", "nanoseconds", 1e9/perSecond, "samples count", "time nanoseconds")
	samples := perSecond * int64(length/time.Second)
	b.DurationNanos = int64(length)
	b.sample("gopark wait", nil, samples, samples*b.Period)
	return b.Profile
}

// The wall clock's sampler falls behind on a busy machine. Its period then says so
// and each sample stands for more.
func TestWallClockMayBeSampledAtAnotherRate(t *testing.T) {
	side := func(perSecond int64) hotspot.Side {
		return hotspot.Side{Profile: wall(10*time.Second, perSecond), Operations: 1000, Window: 10 * time.Second}
	}
	c := compare(t, hotspot.Wall, side(100), side(50)).Measures[0].Total
	if c.A != 1e7 || c.B != 1e7 || c.SamplesA != 1000 || c.SamplesB != 500 {
		t.Errorf("cost %+v, want 10 ms of waiting per operation from 1000 and 500 samples", c)
	}
}

func TestUnknownOperationsGiveCostPerSecond(t *testing.T) {
	known, unknown := load(1, 30*time.Second), load(1, 60*time.Second)
	unknown.Operations = 0
	for _, sides := range [][2]hotspot.Side{{known, unknown}, {unknown, known}} {
		table := compare(t, hotspot.CPU, sides[0], sides[1])
		m := table.Measures[0]
		if table.PerOperation || m.Unit != "ns/s" || math.Abs(m.Total.Difference()) > 0.05*m.Total.A {
			t.Errorf("per operation %t, unit %s, total %+v; want the same in ns/s on both sides", table.PerOperation, m.Unit, m.Total)
		}
	}
	unknown.Window, unknown.Profile.DurationNanos = 0, 0
	if _, err := hotspot.Single(hotspot.CPU, unknown); err == nil || !strings.Contains(err.Error(), "length") {
		t.Errorf("error %v, want one that says that nothing is known to divide by", err)
	}
}

// A profile that was started late saw fewer operations than its window had.
func TestOperationsOutsideOfTheProfileDoNotCount(t *testing.T) {
	for _, c := range []struct {
		profile, window, covered time.Duration
		cost                     float64 // of 100 samples and 1000 operations
	}{
		{0, 10 * time.Second, 10 * time.Second, 1e6},
		{8 * time.Second, 10 * time.Second, 8 * time.Second, 1e6 / 0.8},
		{11 * time.Second, 10 * time.Second, 10 * time.Second, 1e6},
		{8 * time.Second, 0, 8 * time.Second, 1e6},
	} {
		s := hotspot.Side{Profile: cpuProfile(c.profile, stack{"f", 100}), Operations: 1000, Window: c.window}
		if got := s.Covered(); got != c.covered {
			t.Errorf("profile of %s in %s covers %s, want %s", c.profile, c.window, got, c.covered)
		}
		if got := single(t, hotspot.CPU, s).Measures[0].Total.A; math.Abs(got-c.cost) > 1e-6 {
			t.Errorf("profile of %s in %s: %g ns/op, want %g", c.profile, c.window, got, c.cost)
		}
	}
}
