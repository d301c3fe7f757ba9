package result

import "fmt"

// Ratio is a figure that a study sets out to show: one metric divided by another of
// the same block, of two cells or of one. Both are times, or both are rates.
type Ratio struct {
	Name string     `json:"name"` // as printed
	Of   CellMetric `json:"of"`
	To   CellMetric `json:"to"` // what Of is divided by
	// AtLeast and AtMost are what is wanted of it; 0 for no such bound.
	AtLeast float64 `json:"at_least,omitempty"`
	AtMost  float64 `json:"at_most,omitempty"`
	// Note says what the ratio tells, in a sentence or two.
	Note string `json:"note,omitempty"`
}

// CellMetric is a metric of the runs of one cell.
type CellMetric struct {
	Cell   string `json:"cell"`
	Metric string `json:"metric"` // as ParseMetric reads it
}

func (c CellMetric) String() string { return c.Metric + " of " + c.Cell }

// validate reports cells that are not there, metrics that are none or in two units,
// and bounds that contradict each other.
func (r Ratio) validate(cells map[string]bool) error {
	if r.Name == "" {
		return fmt.Errorf("ratio of %s to %s: want a name", r.Of, r.To)
	}
	var rates [2]bool
	for i, c := range []CellMetric{r.Of, r.To} {
		if !cells[c.Cell] {
			return fmt.Errorf("ratio %q: unknown cell %q", r.Name, c.Cell)
		}
		m, err := ParseMetric(c.Metric)
		if err != nil {
			return fmt.Errorf("ratio %q: %w", r.Name, err)
		}
		rates[i] = m.Kind == Rate
	}
	if rates[0] != rates[1] {
		return fmt.Errorf("ratio %q: %s to %s divides a rate and a time; want two of one unit", r.Name, r.Of, r.To)
	}
	if r.AtLeast < 0 || r.AtMost < 0 || r.AtMost > 0 && r.AtLeast > r.AtMost {
		return fmt.Errorf("ratio %q: wanted are at least %g and at most %g; no ratio is both", r.Name, r.AtLeast, r.AtMost)
	}
	return nil
}
