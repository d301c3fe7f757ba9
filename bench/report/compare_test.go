package report

import (
	"math"
	"strings"
	"testing"
	"time"

	"commitlab/bench/result"
)

// of returns the one comparison of the report's second cell with its first.
func of(t *testing.T, r *Report, tag, statistic string) *Comparison {
	t.Helper()
	g := r.Groups[0]
	for i, s := range Statistics {
		if s.Name == statistic {
			if p := find(g.Comparisons, g.Cells[1], tag, i); p != nil {
				return p
			}
		}
	}
	t.Fatalf("no comparison of %s %s", tag, statistic)
	return nil
}

func text(t *testing.T, r *Report, o Options) string {
	t.Helper()
	var b strings.Builder
	if err := r.Text(&b, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func wantText(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("the text lacks %q:\n%s", w, got)
		}
	}
}

// One run against one run was printed like a finding.
func TestB133_OneRunAgainstOneIsNoFinding(t *testing.T) {
	r := two(1, always(2200*time.Microsecond), always(1540*time.Microsecond)).load(t)
	p := of(t, r, "append.service", "p50")
	if math.Abs(p.Ratio-0.7) > 0.002 || p.Enough {
		t.Errorf("ratio %.3f, enough %v; want 0.700 and not enough", p.Ratio, p.Enough)
	}
	got := text(t, r, Options{})
	wantText(t, got, "×0.700", "not enough blocks (1 of 6)")
	for _, claim := range []string{"95 % interval", "p (adjusted)", "~"} {
		if strings.Contains(got, claim) {
			t.Errorf("one block shows %q:\n%s", claim, got)
		}
	}
}

// Repeats that were all equal have no variance, and a test that divides by it
// found no difference.
func TestB132_IdenticalRepeatsShowTheirDifference(t *testing.T) {
	const ms = time.Millisecond
	old := always(115*ms, 114*ms, 115*ms, 115*ms, 115*ms, 115*ms)
	r := two(6, old, always(78800*time.Microsecond)).load(t)
	p := of(t, r, "append.service", "p50")
	if change := p.Change(); math.Abs(change+31.5) > 0.2 {
		t.Errorf("change %.1f %%, want -31.5", change)
	}
	if p.mark() != "" || p.High >= 1 {
		t.Errorf("mark %q, interval up to %.3f: want a plain difference", p.mark(), p.High)
	}
}

// A configuration that is the same shows ~ and an interval around 1.
func TestNoDifferenceIsMarked(t *testing.T) {
	const us = time.Microsecond
	a := always(100*us, 110*us, 105*us, 120*us, 101*us, 99*us)
	b := always(101*us, 108*us, 106*us, 119*us, 99*us, 100*us)
	r := two(6, a, b).load(t)
	p := of(t, r, "append.service", "p50")
	if p.mark() != " ~" || p.Low > 1 || p.High < 1 {
		t.Errorf("mark %q, interval %.3f to %.3f: want ~ and 1 inside", p.mark(), p.Low, p.High)
	}
}

// Pairing is by block: a machine that slows down from block to block moves
// both sides and leaves the ratio alone.
func TestRatioIsWithinBlocks(t *testing.T) {
	const us = time.Microsecond
	a := always(100*us, 200*us, 400*us, 800*us, 1600*us, 3200*us)
	b := always(110*us, 220*us, 440*us, 880*us, 1760*us, 3520*us)
	p := of(t, two(6, a, b).load(t), "append.response", "p50")
	if math.Abs(p.Low-1.1) > 0.01 || math.Abs(p.High-1.1) > 0.01 {
		t.Errorf("interval %.3f to %.3f, want 1.10 alone", p.Low, p.High)
	}
}

// Six blocks cannot carry many claims: Holm's correction over the primary
// metrics makes their p larger than the level.
func TestClaimsAreCorrectedForTheirNumber(t *testing.T) {
	s := two(6, always(time.Millisecond), always(2*time.Millisecond))
	s.primary = []string{"append.service.p50", "append.service.p99"}
	r := s.load(t)
	claim, explored := of(t, r, "append.service", "p50"), of(t, r, "append.service", "max")
	if claim.Adjusted != 2*claim.P || claim.mark() != " ~" {
		t.Errorf("claim: p %.4f adjusted %.4f mark %q, want twice p and ~", claim.P, claim.Adjusted, claim.mark())
	}
	if explored.Adjusted != explored.P || explored.mark() != "" {
		t.Errorf("explored: p %.4f adjusted %.4f mark %q, want p itself and no mark", explored.P, explored.Adjusted, explored.mark())
	}
}

func TestTwinIsTheNoiseFloorAndNoColumn(t *testing.T) {
	s := two(6, always(time.Millisecond), always(2*time.Millisecond))
	s.cells = append(s.cells, syntheticCell{name: "a-again", label: "a", service: always(1010*time.Microsecond, 990*time.Microsecond)})
	s.comparisons = []result.Comparison{{Kind: result.AA, A: "a", B: "a-again"}}
	r := s.load(t)
	if n := len(r.Groups[0].Cells); n != 2 {
		t.Fatalf("%d columns, want 2: the twin is none", n)
	}
	got := text(t, r, Options{})
	wantText(t, got, "noise floor (A/A a)", "0.990–1.01")
	if strings.Contains(got, "UNTRUSTED") {
		t.Errorf("a twin without difference makes the study untrusted:\n%s", got)
	}
}

func TestTwinThatDiffersSpoilsTheStudy(t *testing.T) {
	s := two(6, always(time.Millisecond), always(2*time.Millisecond))
	s.cells = append(s.cells, syntheticCell{name: "a-again", label: "a", service: always(1300 * time.Microsecond)})
	s.comparisons = []result.Comparison{{Kind: result.AA, A: "a", B: "a-again"}}
	wantText(t, text(t, s.load(t), Options{}), "UNTRUSTED: a differs from itself")
}

func TestControlThatIsNotFoundSpoilsTheStudy(t *testing.T) {
	s := two(6, always(time.Millisecond), always(2*time.Millisecond))
	s.cells = append(s.cells, syntheticCell{name: "a-delayed", label: "a", service: always(1010*time.Microsecond, 990*time.Microsecond)})
	s.comparisons = []result.Comparison{{Kind: result.Control, A: "a", B: "a-delayed", InjectedNs: 500_000}}
	wantText(t, text(t, s.load(t), Options{}), "UNTRUSTED: the injected delay of 500 µs was not found")
}

// Two results that were made one after the other have no blocks in common,
// even where their numbers are equal.
func TestCompareIsUnpaired(t *testing.T) {
	before := two(6, always(time.Millisecond), always(time.Millisecond)).write(t)
	after := two(6, always(2*time.Millisecond), always(time.Millisecond)).write(t)
	r, err := Compare(before, after)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Groups[0].Comparisons); n == 0 {
		t.Error("nothing was compared")
	}
	for i := range r.Groups[0].Comparisons {
		p := &r.Groups[0].Comparisons[i]
		if p.Paired || p.Base.Config != p.Other.Config || !p.Enough {
			t.Errorf("%s with %s: paired %v, enough %v; want side against side of one configuration", p.Other.Label, p.Base.Label, p.Paired, p.Enough)
		}
	}
	wantText(t, text(t, r, Options{}), "(unpaired)", "Unpaired: the runs have no blocks in common", "A: a", "B: b")
}
