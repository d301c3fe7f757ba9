package stat

import (
	"testing"

	"pgregory.net/rapid"
)

func TestAdjustedPValues(t *testing.T) {
	p := []float64{0.01, 0.04, 0.03, 0.005, 0.2}
	for i, want := range []float64{0.04, 0.09, 0.09, 0.025, 0.2} {
		near(t, "Holm", Holm(p)[i], want)
	}
	for i, want := range []float64{0.025, 0.05, 0.05, 0.025, 0.2} {
		near(t, "Benjamini–Hochberg", BenjaminiHochberg(p)[i], want)
	}
	if len(Holm(nil)) != 0 || len(BenjaminiHochberg(nil)) != 0 {
		t.Error("adjusting nothing gave something")
	}
}

// Found by the test below: multiplied by three and divided by three again, a p value
// had lost its last bit.
func TestAdjustmentDoesNotRoundBelow(t *testing.T) {
	p := []float64{0.5, 0.5, 0.7500000000000007}
	if got := BenjaminiHochberg(p); got[2] < p[2] {
		t.Errorf("%g became %g", p[2], got[2])
	}
}

// An adjusted value is never below the raw one nor above 1, and the order of
// the hypotheses stays.
func TestAdjustmentKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 20).Draw(t, "p")
		for name, q := range map[string][]float64{"Holm": Holm(p), "BH": BenjaminiHochberg(p)} {
			for i := range p {
				if q[i] < p[i] || q[i] > 1 {
					t.Fatalf("%s: %g became %g", name, p[i], q[i])
				}
				for j := range p {
					if p[i] < p[j] && q[i] > q[j] {
						t.Fatalf("%s: %g < %g became %g > %g", name, p[i], p[j], q[i], q[j])
					}
				}
			}
		}
	})
}
