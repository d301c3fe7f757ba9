package hotspot_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"commitlab/bench/report/hotspot"
)

// stack is one line of a profile: functions from the running one outwards, and
// how many samples had it.
type stack struct {
	functions string // separated by spaces
	samples   int64
}

// tick is the period of the CPU profiles here: 100 samples a second.
const tick = 10 * time.Millisecond

// cpuProfile is a CPU profile as the runtime writes it, with the lab's comments.
func cpuProfile(length time.Duration, stacks ...stack) *profile.Profile {
	b := newBuilder(hotspot.CPU, "cpu", "nanoseconds", int64(tick), "samples count", "cpu nanoseconds")
	b.DurationNanos = int64(length)
	for _, s := range stacks {
		b.sample(s.functions, nil, s.samples, s.samples*int64(tick))
	}
	return b.Profile
}

// builder puts a profile together with one function and location per name.
type builder struct {
	*profile.Profile
	locations map[string]*profile.Location
}

func newBuilder(kind hotspot.Kind, period, unit string, length int64, sampleTypes ...string) *builder {
	b := &builder{&profile.Profile{
		PeriodType: &profile.ValueType{Type: period, Unit: unit}, Period: length,
		Comments: []string{"run=", "kind=" + string(kind)},
	}, map[string]*profile.Location{}}
	for _, t := range sampleTypes {
		name, unit, _ := strings.Cut(t, " ")
		b.SampleType = append(b.SampleType, &profile.ValueType{Type: name, Unit: unit})
	}
	return b
}

func (b *builder) sample(functions string, numbers map[string][]int64, values ...int64) {
	s := &profile.Sample{Value: values, NumLabel: numbers}
	for _, name := range strings.Fields(functions) {
		if b.locations[name] == nil {
			id := uint64(len(b.locations) + 1)
			f := &profile.Function{ID: id, Name: name}
			b.Function = append(b.Function, f)
			b.locations[name] = &profile.Location{ID: id, Line: []profile.Line{{Function: f}}}
			b.Location = append(b.Location, b.locations[name])
		}
		s.Location = append(s.Location, b.locations[name])
	}
	b.Sample = append(b.Sample, s)
}

func compare(t *testing.T, kind hotspot.Kind, a, b hotspot.Side) *hotspot.Table {
	t.Helper()
	table, err := hotspot.Compare(kind, a, b)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func single(t *testing.T, kind hotspot.Kind, a hotspot.Side) *hotspot.Table {
	t.Helper()
	table, err := hotspot.Single(kind, a)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// function finds a function of a measure.
func function(t *testing.T, m hotspot.Measure, name string) hotspot.Function {
	t.Helper()
	i := slices.IndexFunc(m.Functions, func(f hotspot.Function) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("no function %s among %v", name, m.Functions)
	}
	return m.Functions[i]
}
