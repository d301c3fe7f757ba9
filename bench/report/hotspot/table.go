package hotspot

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Table is the costs of one profile, or of two beside each other.
type Table struct {
	Kind Kind
	// Compared is false where there is no B: all its figures are 0 then.
	Compared bool
	// PerOperation is false where the operations of a side are not known and all
	// costs are per second.
	PerOperation bool
	Measures     []Measure // one, or for the heap bytes and objects
}

// Measure is one thing that is spent.
type Measure struct {
	Name      string     // what it is, for a heading
	Unit      string     // of each cost, for example "ns/op"
	Total     Cost       // of the whole profile
	Functions []Function // by name
}

// Function is the cost of one function, by itself and with all that it calls.
type Function struct {
	Name       string
	Flat       Cost
	Cumulative Cost
}

// Cost is what is spent per operation, or per second, and how often it was met.
type Cost struct {
	A, B float64
	// SamplesA and SamplesB are the observations behind A and B: samples,
	// sampled allocations, or contentions.
	SamplesA, SamplesB int64
	// Noise is the standard error of Difference that counting so few
	// observations has by itself.
	Noise float64
}

// Difference is B−A.
func (c Cost) Difference() float64 { return c.B - c.A }

// resolution is how many standard errors a difference must exceed. Of functions
// that do not differ at all, one in 370 still does.
const resolution = 3

// Resolved reports whether the profiles can tell the difference from none.
func (c Cost) Resolved() bool { return math.Abs(c.Difference()) > resolution*c.Noise }

// Single tabulates one profile.
func Single(kind Kind, a Side) (*Table, error) {
	return tabulate(kind, named{"profile", a})
}

// Compare sets B beside A. Profiles of another kind, or that do not go together,
// are an error.
func Compare(kind Kind, a, b Side) (*Table, error) {
	return tabulate(kind, named{"profile A", a}, named{"profile B", b})
}

// named is a side as errors call it.
type named struct {
	name string
	Side
}

func tabulate(kind Kind, sides ...named) (*Table, error) {
	s, err := kind.shape()
	if err != nil {
		return nil, err
	}
	t := &Table{Kind: kind, Compared: len(sides) == 2, PerOperation: true}
	for _, side := range sides {
		if err := kind.check(side.Profile); err != nil {
			return nil, fmt.Errorf("%s: %w", side.name, err)
		}
		t.PerOperation = t.PerOperation && side.Operations > 0
	}
	if t.Compared {
		if err := alike(s, sides[0].Profile, sides[1].Profile); err != nil {
			return nil, err
		}
	}
	for _, v := range s.values {
		var costs [2]tally
		for i, side := range sides {
			if costs[i], err = side.costs(s, v, t.PerOperation); err != nil {
				return nil, fmt.Errorf("%s: %w", side.name, err)
			}
		}
		t.Measures = append(t.Measures, t.measure(v, costs[0], costs[1]))
	}
	return t, nil
}

// costs counts one value of the side's profile and divides it.
func (s Side) costs(form shape, v value, perOperation bool) (tally, error) {
	by, err := s.divisor(perOperation)
	if err != nil {
		return tally{}, err
	}
	t, err := count(s.Profile, form, v)
	if err != nil {
		return tally{}, err
	}
	divide := func(one sum) sum { return sum{one.value / by, one.samples, one.variance / (by * by)} }
	t.total = divide(t.total)
	for _, sums := range []map[string]sum{t.flat, t.cumulative} {
		for name, one := range sums {
			sums[name] = divide(one)
		}
	}
	return t, nil
}

// measure joins the two sides by function. Every function of a stack is in the
// cumulative sums.
func (t *Table) measure(v value, a, b tally) Measure {
	m := Measure{Name: v.name, Unit: v.unit + "/s", Total: cost(a.total, b.total)}
	if t.PerOperation {
		m.Unit = v.unit + "/op"
	}
	names := maps.Clone(a.cumulative)
	maps.Copy(names, b.cumulative)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		m.Functions = append(m.Functions, Function{
			Name: name, Flat: cost(a.flat[name], b.flat[name]), Cumulative: cost(a.cumulative[name], b.cumulative[name]),
		})
	}
	return m
}

func cost(a, b sum) Cost {
	return Cost{
		A: a.value, B: b.value,
		SamplesA: int64(math.Round(a.samples)), SamplesB: int64(math.Round(b.samples)),
		Noise: math.Sqrt(a.variance + b.variance),
	}
}

// Top returns the functions that cost anything, by flat or by cumulative cost, the
// largest absolute difference first; of a single profile the largest cost.
func (m *Measure) Top(cumulative bool) []Function {
	by := func(f Function) Cost {
		if cumulative {
			return f.Cumulative
		}
		return f.Flat
	}
	top := slices.DeleteFunc(slices.Clone(m.Functions), func(f Function) bool { return by(f).A == 0 && by(f).B == 0 })
	slices.SortFunc(top, func(x, y Function) int {
		cx, cy := by(x), by(y)
		return cmp.Or(
			cmp.Compare(math.Abs(cy.Difference()), math.Abs(cx.Difference())),
			cmp.Compare(cy.A, cx.A),
			strings.Compare(x.Name, y.Name),
		)
	})
	return top
}
