package stat

import (
	"math/rand/v2"
	"testing"
)

func TestTheilSenOfKnownData(t *testing.T) {
	// Sen's own example, 1968.
	x := []float64{1, 2, 3, 4, 10, 12, 18}
	y := []float64{9, 15, 19, 20, 45, 55, 78}
	s := TheilSen(x, y, 0.95)
	near(t, "slope", s.Slope, 4)
	near(t, "low", s.Low, 3.7142857142857144)
	near(t, "high", s.High, 4.375)
	if s.Flat() {
		t.Error("a rising line counts as flat")
	}
}

func TestTheilSenIgnoresAnOutlier(t *testing.T) {
	var x, y []float64
	for i := range 20 {
		x, y = append(x, float64(i)), append(y, 2*float64(i))
	}
	y[7] = 1e9
	s := TheilSen(x, y, 0.95)
	near(t, "slope", s.Slope, 2)
	near(t, "low", s.Low, 2)
}

func TestTheilSenOfTooFewPointsKnowsNothing(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 4} {
		x, y := make([]float64, n), make([]float64, n)
		for i := range n {
			x[i], y[i] = float64(i), float64(i)
		}
		if s := TheilSen(x, y, 0.95); !s.Flat() {
			t.Errorf("%d points: slope in [%g, %g], want everything", n, s.Low, s.High)
		}
	}
	if s := TheilSen([]float64{3, 3, 3, 3, 3, 3}, []float64{1, 2, 3, 4, 5, 6}, 0.95); s.Slope != 0 || !s.Flat() {
		t.Errorf("points at one time: %+v, want slope 0 and everything", s)
	}
}

// Noise without trend must count as flat about 95 times of 100, with the
// counted distribution (20 points) and with its approximation (120).
func TestNoiseIsFlat(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, n := range []int{20, 120} {
		const draws = 400
		flat := 0
		for range draws {
			x, y := make([]float64, n), make([]float64, n)
			for i := range n {
				x[i], y[i] = float64(i), rng.NormFloat64()
			}
			if TheilSen(x, y, 0.95).Flat() {
				flat++
			}
		}
		if share := float64(flat) / draws; share < 0.92 || share > 0.985 {
			t.Errorf("%d points: %.3f of the draws are flat, want about 0.95", n, share)
		}
	}
}
