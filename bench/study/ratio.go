package study

import (
	"errors"
	"fmt"
	"slices"

	"commitlab/bench/result"
	"commitlab/bench/scenario"
)

// ratios checks the ratios that a study asks for against its cells: each names
// cells that there are, and operations that their scenarios time.
func (s Spec) ratios(cells []result.Cell) ([]result.Ratio, error) {
	var all []result.Ratio
	var errs []error
	for i, r := range s.Ratios {
		for _, c := range []CellMetricSpec{r.Of, r.To} {
			if err := c.check(cells); err != nil {
				errs = append(errs, fmt.Errorf("ratios[%d]: %w", i, err))
			}
		}
		all = append(all, result.Ratio{
			Name: r.Name, Of: result.CellMetric(r.Of), To: result.CellMetric(r.To), AtLeast: r.AtLeast, AtMost: r.AtMost, Note: r.Note,
		})
	}
	return all, errors.Join(errs...)
}

func (c CellMetricSpec) check(cells []result.Cell) error {
	i := slices.IndexFunc(cells, func(cell result.Cell) bool { return cell.Name == c.Cell })
	if i < 0 {
		var names []string
		for _, cell := range cells {
			names = append(names, cell.Name)
		}
		return fmt.Errorf("cell %q does not exist; want one of %v", c.Cell, names)
	}
	m, err := result.ParseMetric(c.Metric)
	if err != nil {
		return err
	}
	found, err := scenario.Find(cells[i].Scenario)
	switch {
	case err != nil:
		return err
	case m.Op == "": // the hiccup meter
		return nil
	case !slices.Contains(found.Ops, m.Op):
		return fmt.Errorf("metric %s: scenario %s times no %s, only %v", c.Metric, found.Name, m.Op, found.Ops)
	case m.Statistic == "" && m.Op != found.Ops[0]:
		return fmt.Errorf("metric %s: the rate of scenario %s is that of %s", c.Metric, found.Name, found.Ops[0])
	}
	return nil
}
