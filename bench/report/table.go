package report

import (
	"fmt"

	"commitlab/bench/report/chart"
)

// table is one table of the report. Text and HTML both write the same tables,
// so that neither can show a figure that the other does not.
type table struct {
	ID      string
	Title   string
	Caption string
	Columns []string // the first heads the row labels
	Rows    []row
	Notes   []string
	Prose   bool // cells are words and not figures
}

// row is one line of a table. Kind tells what kind of figure it holds.
type row struct {
	Kind   rowKind
	Colour string // class of the configuration, "" for none
	Label  string
	Cells  []string
}

type rowKind string

const (
	value    rowKind = "value"    // a configuration's own figures
	spread   rowKind = "spread"   // smallest and largest of single blocks
	ratio    rowKind = "ratio"    // to the first configuration
	interval rowKind = "interval" // of the ratio
	noise    rowKind = "noise"    // what the machine or the method itself does
)

// colour is the class of the i-th configuration.
func colour(i int) string { return fmt.Sprintf("c%d", i%chart.Colours) }
