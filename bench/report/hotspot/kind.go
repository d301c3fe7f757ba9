package hotspot

import (
	"fmt"
	"strings"

	"github.com/google/pprof/profile"
)

// Kind is a kind of profile that has a cost per operation, named as in the files
// that package profile of the lab leaves.
type Kind string

// The kinds.
const (
	CPU   Kind = "cpu"   // time of running code
	Wall  Kind = "wall"  // time of all goroutines, running or waiting
	Heap  Kind = "heap"  // what was allocated, freed since or not
	Mutex Kind = "mutex" // time that others waited for a lock, at the unlock
	Block Kind = "block" // time that goroutines were blocked
)

// column is one of the values of each sample.
type column struct{ Type, Unit string }

func (c column) String() string { return c.Type + " in " + c.Unit }

// value is a cost that a kind of profile holds: the column that has it, and the
// one that counts how often it was met.
type value struct {
	name  string
	unit  string
	cost  column
	count column
}

// shape is what a profile of a kind must look like.
type shape struct {
	period column
	values []value
	// measuredPeriod: the period is what the sampler achieved, and differs from
	// run to run.
	measuredPeriod bool
	// inverse: values were divided by the chance of an object of their size to be
	// sampled, and the count with them.
	inverse bool
}

// Columns that more than one value or function needs.
var (
	contentions  = column{"contentions", "count"}
	allocSpace   = column{"alloc_space", "bytes"}
	allocObjects = column{"alloc_objects", "count"}
)

var shapes = map[Kind]shape{
	CPU: {
		period: column{"cpu", "nanoseconds"},
		values: []value{{"CPU time", "ns", column{"cpu", "nanoseconds"}, column{"samples", "count"}}},
	},
	Wall: {
		period:         column{"wallclock", "nanoseconds"},
		values:         []value{{"Wall-clock time of all goroutines", "ns", column{"time", "nanoseconds"}, column{"samples", "count"}}},
		measuredPeriod: true,
	},
	Heap: {
		period: column{"space", "bytes"},
		values: []value{
			{"Allocated bytes", "B", allocSpace, allocObjects},
			{"Allocated objects", "objects", allocObjects, allocObjects},
		},
		inverse: true,
	},
	Mutex: {
		period: contentions,
		values: []value{{"Time that others waited for a lock", "ns", column{"delay", "nanoseconds"}, contentions}},
	},
	Block: {
		period: contentions,
		values: []value{{"Time blocked", "ns", column{"delay", "nanoseconds"}, contentions}},
	},
}

// ParseKind reads a kind.
func ParseKind(name string) (Kind, error) {
	_, err := Kind(name).shape()
	return Kind(name), err
}

// shape returns what a profile of the kind looks like.
func (k Kind) shape() (shape, error) {
	s, ok := shapes[k]
	if !ok {
		return shape{}, fmt.Errorf("profile kind %q: want cpu, wall, heap, mutex or block", k)
	}
	return s, nil
}

// kindComment precedes the kind among the comments of a profile. Mutex and block
// profiles differ by nothing else.
const kindComment = "kind="

// check reports the first thing by which p is no profile of the kind.
func (k Kind) check(p *profile.Profile) error {
	s, err := k.shape()
	if err != nil {
		return err
	}
	for _, c := range p.Comments {
		if said, ok := strings.CutPrefix(c, kindComment); ok && said != string(k) {
			return fmt.Errorf("it is a profile of kind %s, want %s", said, k)
		}
	}
	if p.PeriodType == nil {
		return fmt.Errorf("it does not say what a sample stands for; a %s profile samples %s", k, s.period)
	}
	if got := (column{p.PeriodType.Type, p.PeriodType.Unit}); got != s.period {
		return fmt.Errorf("it samples %s; a %s profile samples %s", got, k, s.period)
	}
	for _, v := range s.values {
		for _, c := range []column{v.cost, v.count} {
			if c.index(p) < 0 {
				return fmt.Errorf("no sample type %s, which a %s profile has; it has %s", c, k, sampleTypes(p))
			}
		}
	}
	return nil
}

// index returns the place of the column among the values of p's samples, or -1.
func (c column) index(p *profile.Profile) int {
	for i, t := range p.SampleType {
		if c == (column{t.Type, t.Unit}) {
			return i
		}
	}
	return -1
}

func sampleTypes(p *profile.Profile) string {
	var names []string
	for _, t := range p.SampleType {
		names = append(names, column{t.Type, t.Unit}.String())
	}
	return strings.Join(names, ", ")
}
