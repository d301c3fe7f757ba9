package report

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"

	"commitlab/bench/result"
)

// exportCSV writes one row per run and distribution, and one with block "all"
// for the merged runs, quoted as RFC 4180 says. Numbers have a point and no grouping whatever the
// locale; a figure that does not exist is an empty field.
//
// Note: lines end with LF alone. With CR LF, which the RFC has, the csv package
// would change the line ends inside of fields as well, and other values would
// be read than were written.
func (r *Report) exportCSV(w io.Writer, o ExportOptions) error {
	scale, err := o.Unit.nanos()
	if err != nil {
		return err
	}
	out := csv.NewWriter(w)
	header := []string{"scenario", "pace", "workers", "config", "operation", "kind", "block", "status", "offered_per_s", "achieved_per_s", "count", "over_range"}
	for _, s := range Statistics {
		header = append(header, s.Name+"_"+o.Unit.name())
	}
	if err := out.Write(header); err != nil {
		return err
	}
	err = r.distributions(o, func(g *Group, c *Cell, tag string, d *result.Distribution) error {
		op, kind := splitTag(tag)
		lead := []string{g.Scenario, g.Pace, strconv.Itoa(g.Workers), c.Label, op, string(kind)}
		for _, run := range c.Runs {
			if l := run.Latency[tag]; l != nil {
				offered, achieved := run.rates()
				record := csvRow(lead, strconv.Itoa(run.Block.Number), string(run.Manifest.Status()), offered, achieved, l.Count, l.Extremes, l.Values, scale)
				if err := out.Write(record); err != nil {
					return err
				}
			}
		}
		t := c.Throughput()
		return out.Write(csvRow(lead, "all", c.state(), t.OfferedPerSecond, t.AchievedPerSecond, d.Count(), d.Extremes, values(d), scale))
	})
	if err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}

func csvRow(lead []string, block, status string, offered, achieved float64, count int64, e result.Extremes, ns []float64, scale float64) []string {
	record := append([]string(nil), lead...)
	record = append(record, block, status, number(offered), number(achieved), strconv.FormatInt(count, 10), strconv.FormatInt(e.OverRange, 10))
	for _, v := range ns {
		record = append(record, number(v/scale))
	}
	return record
}

// number writes the shortest text that parses to v again, "" for NaN.
func number(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// rates returns what was offered and achieved, NaN where it is not known.
func (r *Run) rates() (offered, achieved float64) {
	offered, achieved = math.NaN(), math.NaN()
	if end := r.Manifest.End; end != nil {
		if end.OfferedPerSecond != nil {
			offered = *end.OfferedPerSecond
		}
		if end.AchievedPerSecond != nil {
			achieved = *end.AchievedPerSecond
		}
	}
	return offered, achieved
}
