package report

import (
	"bufio"
	"fmt"
	"io"

	"commitlab/bench/result"
)

// ticksPerHalfDistance is how many lines a percentile distribution has for
// each halving of the distance to 100 %, as other HdrHistogram tools print it.
const ticksPerHalfDistance = 5

// exportHGRM writes percentile distributions in the text form of the
// HdrHistogram tools. Several follow one another, each behind a comment line;
// for a plotter, select one.
func (r *Report) exportHGRM(w io.Writer, o ExportOptions) error {
	scale, err := o.Unit.nanos()
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	err = r.distributions(o, func(g *Group, c *Cell, tag string, d *result.Distribution) error {
		fmt.Fprintf(b, "#[%s, %s, config = %s, runs = %d, unit = %s]\n", g.heading(), tag, c.Label, len(c.shown()), o.Unit.name())
		if d.Count() == 0 {
			fmt.Fprintf(b, "#[no values]\n\n")
			return nil
		}
		if _, err := d.Hist.PercentilesPrint(b, ticksPerHalfDistance, scale); err != nil {
			return err
		}
		fmt.Fprintln(b)
		return nil
	})
	if err != nil {
		return err
	}
	return b.Flush()
}
