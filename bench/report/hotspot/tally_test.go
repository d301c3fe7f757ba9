package hotspot_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"pgregory.net/rapid"

	"commitlab/bench/report/hotspot"
)

// second makes a side of a profile with one operation, so that a cost is a sum.
func second(stacks ...stack) hotspot.Side {
	return hotspot.Side{Profile: cpuProfile(time.Second, stacks...), Operations: 1, Window: time.Second}
}

func TestRecursionCountsOnce(t *testing.T) {
	m := single(t, hotspot.CPU, second(stack{"walk walk walk main", 3}, stack{"read walk main", 2})).Measures[0]
	if f := function(t, m, "walk"); f.Flat.SamplesA != 3 || f.Cumulative.SamplesA != 5 || f.Cumulative.A != 5e7 {
		t.Errorf("walk is flat %+v and cumulative %+v, want 3 and 5 samples", f.Flat, f.Cumulative)
	}
}

// The compiler inlines: one location is then several functions, the innermost first.
func TestInlinedFunctionsHaveTheirOwnCost(t *testing.T) {
	s := second(stack{"outer", 4})
	inner := &profile.Function{ID: 2, Name: "inner"}
	s.Profile.Function = append(s.Profile.Function, inner)
	l := s.Profile.Location[0]
	l.Line = append([]profile.Line{{Function: inner}}, l.Line...)
	m := single(t, hotspot.CPU, s).Measures[0]
	if f := function(t, m, "inner"); f.Flat.SamplesA != 4 {
		t.Errorf("inner is flat %+v, want 4 samples", f.Flat)
	}
	if f := function(t, m, "outer"); f.Flat.SamplesA != 0 || f.Cumulative.SamplesA != 4 {
		t.Errorf("outer is flat %+v and cumulative %+v, want 0 and 4 samples", f.Flat, f.Cumulative)
	}
}

func TestWhatHasNoNameIsOneFunction(t *testing.T) {
	s := second(stack{"", 1}, stack{"bare", 2}, stack{"named", 3})
	s.Profile.Location[0].Line = nil // an address without a symbol
	if f := function(t, single(t, hotspot.CPU, s).Measures[0], "(unknown)"); f.Flat.SamplesA != 3 {
		t.Errorf("unknown is flat %+v, want 3 samples", f.Flat)
	}
}

// Ten samples against none is what counting can tell from nothing; nine is not.
func TestFewSamplesAreNotResolved(t *testing.T) {
	for samples, want := range map[int64]bool{1: false, 9: false, 10: true, 1000: true} {
		alone := single(t, hotspot.CPU, second(stack{"f", samples})).Measures[0].Functions[0]
		against := compare(t, hotspot.CPU, second(), second(stack{"f", samples})).Measures[0].Functions[0]
		if alone.Flat.Resolved() != want || against.Flat.Resolved() != want {
			t.Errorf("%d samples: resolved alone %t, against none %t; want %t", samples, alone.Flat.Resolved(), against.Flat.Resolved(), want)
		}
	}
	// The same difference of 30 samples, out of few and out of many.
	for base, want := range map[int64]bool{10: true, 1000: false} {
		c := compare(t, hotspot.CPU, second(stack{"f", base}), second(stack{"f", base + 30})).Measures[0].Total
		if c.Resolved() != want {
			t.Errorf("%d against %d samples: resolved %t, want %t; %+v", base, base+30, c.Resolved(), want, c)
		}
	}
}

// The heap profile holds estimates of all allocations. How few were seen decides
// what it can resolve: of 256 KiB blocks, one sampled in 512 KiB stands for 2.54.
func TestHeapCountsWhatWasSampled(t *testing.T) {
	const size, period = 256 << 10, 512 << 10
	chance := 1 - math.Exp(-float64(size)/period)
	const seen = 7
	b := newBuilder(hotspot.Heap, "space", "bytes", period,
		"alloc_objects count", "alloc_space bytes", "inuse_objects count", "inuse_space bytes")
	b.sample("make", map[string][]int64{"bytes": {size}}, int64(seen/chance), int64(seen/chance*size), -1, -size)
	b.sample("freed", nil, 0, 0, -3, -3*size)
	table := single(t, hotspot.Heap, hotspot.Side{Profile: b.Profile, Operations: 2, Window: time.Second})
	if len(table.Measures) != 2 || table.Measures[0].Unit != "B/op" || table.Measures[1].Unit != "objects/op" {
		t.Fatalf("measures %+v, want bytes and objects per operation", table.Measures)
	}
	for i, want := range []float64{seen / chance * size / 2, math.Floor(seen/chance) / 2} {
		c := function(t, table.Measures[i], "make").Flat
		if math.Abs(c.A-want) > 1 || c.SamplesA != seen || c.Resolved() {
			t.Errorf("%s: %+v, want %g from %d samples, not resolved", table.Measures[i].Name, c, want, seen)
		}
		if top := table.Measures[i].Top(false); len(top) != 1 {
			t.Errorf("%s: %v, want nothing that allocated nothing", table.Measures[i].Name, top)
		}
	}
}

// Whatever the profiles: flat costs add up to the total, no cumulative cost exceeds
// it, and swapping the sides only turns the sign.
func TestSumsHold(t *testing.T) {
	side := rapid.Custom(func(t *rapid.T) hotspot.Side {
		var stacks []stack
		for range rapid.IntRange(0, 8).Draw(t, "stacks") {
			stacks = append(stacks, stack{rapid.StringMatching(`[a-d]( [a-d]){0,4}`).Draw(t, "functions"), rapid.Int64Range(0, 1e6).Draw(t, "samples")})
		}
		s := second(stacks...)
		s.Operations = rapid.Uint64Range(1, 1e9).Draw(t, "operations")
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := side.Draw(t, "a"), side.Draw(t, "b")
		there, err := hotspot.Compare(hotspot.CPU, a, b)
		if err != nil {
			t.Fatal(err)
		}
		back, err := hotspot.Compare(hotspot.CPU, b, a)
		if err != nil {
			t.Fatal(err)
		}
		m, reverse := there.Measures[0], back.Measures[0]
		var flat hotspot.Cost
		for i, f := range m.Functions {
			flat.A += f.Flat.A
			flat.SamplesB += f.Flat.SamplesB
			if f.Cumulative.A > m.Total.A*(1+1e-9) || f.Cumulative.SamplesB > m.Total.SamplesB {
				t.Errorf("%s: cumulative %+v exceeds the total %+v", f.Name, f.Cumulative, m.Total)
			}
			if r := reverse.Functions[i]; r.Name != f.Name || r.Cumulative.Difference() != -f.Cumulative.Difference() {
				t.Errorf("%+v the other way round is %+v", f, r)
			}
		}
		if math.Abs(flat.A-m.Total.A) > 1e-9*m.Total.A || flat.SamplesB != m.Total.SamplesB {
			t.Errorf("flat costs add up to %+v, the total is %+v", flat, m.Total)
		}
	})
}
