package report

import (
	"fmt"
	"io"
	"strings"

	"commitlab/bench/result"
)

// Format is a way to hand the figures to other programs.
type Format string

// The formats of Export.
const (
	HGRM  Format = "hgrm"  // HdrHistogram percentile distribution, for its plotter
	CSV   Format = "csv"   // RFC 4180, a row per run and one for all of them
	JSON  Format = "json"  // commitlab.report/1, all figures and comparisons
	Bench Format = "bench" // Go benchmark format, a line per run, for benchstat
)

// Unit is the unit of latencies in the formats that leave a choice.
type Unit string

// The units.
const (
	Nanoseconds  Unit = "ns"
	Microseconds Unit = "us"
	Milliseconds Unit = "ms"
)

// nanos returns how many nanoseconds the unit is; the zero Unit is
// Microseconds.
func (u Unit) nanos() (float64, error) {
	switch u {
	case Nanoseconds:
		return 1, nil
	case Microseconds, "":
		return 1e3, nil
	case Milliseconds:
		return 1e6, nil
	}
	return 0, fmt.Errorf("unit %q: want ns, us or ms", u)
}

// name is the unit as headers write it.
func (u Unit) name() string {
	if u == "" {
		return string(Microseconds)
	}
	return string(u)
}

// ExportOptions selects and scales what is exported. The zero value exports
// everything in microseconds.
type ExportOptions struct {
	Unit   Unit   // of HGRM and CSV; JSON and Bench name their units themselves
	Config string // only the cells of this configuration or label
	Tag    string // only this distribution, for example "append.service"
}

func (o ExportOptions) wants(c *Cell, tag string) bool {
	return (o.Config == "" || o.Config == c.Config || o.Config == c.Label) && (o.Tag == "" || o.Tag == tag)
}

// Export writes the figures in a format for other programs. A selection that
// nothing matches is an error.
func (r *Report) Export(w io.Writer, f Format, o ExportOptions) error {
	if _, err := o.Unit.nanos(); err != nil {
		return err
	}
	if !r.has(o) {
		return fmt.Errorf("export: no latencies of configuration %q and tag %q; there are %s", o.Config, o.Tag, strings.Join(r.choices(), ", "))
	}
	switch f {
	case HGRM:
		return r.exportHGRM(w, o)
	case CSV:
		return r.exportCSV(w, o)
	case JSON:
		return r.exportJSON(w, o)
	case Bench:
		return r.exportBench(w, o)
	}
	return fmt.Errorf("format %q: want hgrm, csv, json or bench", f)
}

// distributions calls f for each merged distribution that o selects, in the
// order of the tables, the hiccup meter's last.
func (r *Report) distributions(o ExportOptions, f func(*Group, *Cell, string, *result.Distribution) error) error {
	for _, g := range r.Groups {
		for _, c := range g.Cells {
			for _, tag := range append(g.Tags(), result.HiccupTag) {
				d := c.Latency[tag]
				if d == nil || !o.wants(c, tag) {
					continue
				}
				if err := f(g, c, tag, d); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (r *Report) has(o ExportOptions) bool {
	found := false
	_ = r.distributions(o, func(*Group, *Cell, string, *result.Distribution) error { // cannot fail: the function does not
		found = true
		return nil
	})
	return found
}

// choices lists what ExportOptions can select.
func (r *Report) choices() []string {
	var out []string
	for _, g := range r.Groups {
		for _, c := range g.Cells {
			out = append(out, c.Label)
		}
		out = append(out, g.Tags()...)
	}
	return out
}
