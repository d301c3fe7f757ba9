package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		ns   float64
		want string
	}{
		{0, "0 ns"}, {1, "1 ns"}, {812, "812 ns"}, {999, "999 ns"}, {999.6, "1.00 µs"}, {1000, "1.00 µs"}, {3071, "3.07 µs"},
		{12_449, "12.4 µs"}, {999_499, "999 µs"}, {999_500, "1.00 ms"}, {650_900, "651 µs"}, {1e9, "1.00 s"}, {1e11, "100 s"}, {4.98e12, "4980 s"},
		{math.NaN(), NoData}, {-1, NoData},
	} {
		if got := Duration(c.ns); got != c.want {
			t.Errorf("Duration(%v) = %q, want %q", c.ns, got, c.want)
		}
	}
}

func TestDurationRangeNamesASharedUnitOnce(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{1010, 1070, "1.01–1.07 µs"}, {998, 1020, "998 ns–1.02 µs"}, {5, 5, "5–5 ns"}, {math.NaN(), 1, NoData},
	} {
		if got := DurationRange(c.low, c.high); got != c.want {
			t.Errorf("DurationRange(%v, %v) = %q, want %q", c.low, c.high, got, c.want)
		}
	}
}

func TestRatesCountsAndRatios(t *testing.T) {
	for got, want := range map[string]string{
		Count(0): "0", Count(999): "999", Count(1000): "1,000", Count(-1234567): "-1,234,567",
		PerSecond(199998.4): "199,998", PerSecond(1): "1.00", PerSecond(math.NaN()): NoData,
		Ratio(0.0047123): "×0.00471", Ratio(21.44): "×21.4", Ratio(1234): "×1234", Ratio(math.Inf(1)): NoData,
		Significant(0.9996, 3): "1.00",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestScaleIsLogarithmicAndClamps(t *testing.T) {
	s := logScale{1, 1000, 0, 300}
	for v, want := range map[float64]float64{1: 0, 10: 100, 100: 200, 1000: 300, 0: 0, 5000: 300} {
		if got := s.at(v); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v is at %v, want %v", v, got, want)
		}
	}
}

func TestTicksLabelPowersOfTenOrAllOfThemInANarrowScale(t *testing.T) {
	labelled := func(low, high float64) (out []float64) {
		for _, t := range (logScale{low, high, 0, 1}).ticks() {
			if t.major {
				out = append(out, t.value)
			}
		}
		return out
	}
	if got, want := labelled(200, 1e6), []float64{1e3, 1e4, 1e5, 1e6}; !slices.Equal(got, want) {
		t.Errorf("wide scale: %v, want %v", got, want)
	}
	if got, want := labelled(200, 2000), []float64{200, 500, 1000, 2000}; !slices.Equal(got, want) {
		t.Errorf("narrow scale: %v, want %v", got, want)
	}
}

func TestAxisHoldsAllValuesAndADecadeAtLeast(t *testing.T) {
	for _, e := range []extent{{1000, 1000}, {650, 3.07e6}, {999, 1001}, {1, 1e11}, {2.0001, 19.99}} {
		low, high := e.rounded()
		if low > e.min || high < e.max || high/low < 9.9 {
			t.Errorf("axis of %v to %v is %v to %v", e.min, e.max, low, high)
		}
	}
}

func TestLabelsAreSpreadInTheirOrder(t *testing.T) {
	got := spreadLabels([]float64{10, 12, 13, 98, 99}, 10, 100)
	for i := 1; i < len(got); i++ {
		if got[i]-got[i-1] < 10-1e-9 {
			t.Errorf("labels %d and %d are %v apart, want 10: %v", i-1, i, got[i]-got[i-1], got)
		}
	}
	if got[len(got)-1] > 100 {
		t.Errorf("the last label lies below the figure: %v", got)
	}
}

// figures is one of each kind, with names that are markup if not escaped and
// values that are no number where data can be missing.
func figures() map[string]string {
	nan := math.NaN()
	return map[string]string{
		"percentiles": Percentiles{Title: "<a> & b", Curves: []Curve{
			{Name: `"x"`, Class: "c0", Points: []CurvePoint{{1, 900, 800, 1000}, {10, 1000, nan, nan}, {1000, 5e5, nan, nan}}},
			{Name: "hiccup", Class: "hiccup", Points: []CurvePoint{{1, 5e4, nan, nan}, {1e6, 7e4, nan, nan}}},
		}}.SVG(),
		"timeline": Timeline{Name: "<a>", Class: "c1", Blocks: []TimeBlock{
			{Label: "block 1", Seconds: 3, Points: []TimePoint{{0.5, 900, 1000, 2000}, {1.5, nan, nan, nan}, {2.5, 900, 1000, 2e6}}},
			{Label: "block 2", Seconds: 1, Points: []TimePoint{{0.5, 900, 1000, 2000}}},
		}}.SVG(),
		"ratios": Ratios{Title: "ratios", Base: "<a>", Noise: map[string]Interval{"p50": {0.97, 1.03}}, Rows: []RatioRow{
			{Name: "b", Statistic: "p50", Class: "c1", Estimate: 0.5, Low: nan, High: nan, Blocks: []float64{0.4, 0.6}},
			{Name: "b", Statistic: "p99", Class: "c1", Estimate: 0.1, Low: 0.05, High: 0.2},
		}}.SVG(),
	}
}

func TestFiguresAreWellFormedAndInside(t *testing.T) {
	for name, svg := range figures() {
		d := xml.NewDecoder(strings.NewReader(svg))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, svg)
			}
		}
		if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Errorf("%s has a position that is no number:\n%s", name, svg)
		}
		box := regexp.MustCompile(`viewBox="0 0 ([0-9.]+) ([0-9.]+)"`).FindStringSubmatch(svg)
		for i, axis := range []string{"x", "y"} {
			limit, err := strconv.ParseFloat(box[i+1], 64)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(` c?`+axis+`[12]?="(-?[0-9.]+)"`).FindAllStringSubmatch(svg, -1) {
				if v, err := strconv.ParseFloat(m[1], 64); err != nil || v < 0 || v > limit {
					t.Errorf("%s: %s lies outside of 0 to %v (%v)", name, m[0], limit, err)
				}
			}
		}
	}
}

func TestTimelineLeavesAHoleWhereNothingEnded(t *testing.T) {
	svg := figures()["timeline"]
	// Single points on both sides of the hole, and a block of one: dots and no line.
	if strings.Contains(svg, `class="curve`) {
		t.Errorf("a line crosses an interval without operations:\n%s", svg)
	}
	if n := strings.Count(svg, `class="peak c1"`); n != 3 {
		t.Errorf("%d dots, want 3", n)
	}
}

func TestFiguresWithoutDataAreEmpty(t *testing.T) {
	for name, svg := range map[string]string{
		"percentiles": Percentiles{Title: "t", Curves: []Curve{{Name: "a"}}}.SVG(),
		"timeline":    Timeline{Name: "t", Blocks: []TimeBlock{{Seconds: 1, Points: []TimePoint{{0.5, math.NaN(), math.NaN(), math.NaN()}}}}}.SVG(),
		"ratios":      Ratios{Title: "t"}.SVG(),
	} {
		if svg != "" {
			t.Errorf("%s without data: %s", name, svg)
		}
	}
}

func TestEveryColourIsDefinedForLightAndDark(t *testing.T) {
	for i := range Colours {
		name := "--c" + strconv.Itoa(i) + ":"
		if n := strings.Count(CSS, name); n != 2 {
			t.Errorf("%s is defined %d times, want once for light and once for dark", name, n)
		}
	}
}
