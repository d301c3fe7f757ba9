package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"commitlab/bench/report"
	"commitlab/bench/result"
)

// print writes the result of one run to w, in the format asked for.
func (c *runCommand) print(w io.Writer, dir string) error {
	switch c.Format {
	case "json":
		return printJSON(w, dir)
	case "md":
		return printMarkdown(w, dir, c.Unit)
	}
	r, err := report.Load(dir)
	if err != nil {
		return err
	}
	if c.Format == "text" {
		if err := r.Text(w, report.Options{}); err != nil {
			return err
		}
		_, err := fmt.Fprintf(w, "\nresult: %s\n", dir)
		return err
	}
	return r.Export(w, report.Format(c.Format), report.ExportOptions{Unit: report.Unit(c.Unit)})
}

func summary(dir string) (result.Summary, error) {
	run, err := result.OpenRun(dir)
	if err != nil {
		return result.Summary{}, err
	}
	return run.Summary()
}

func printJSON(w io.Writer, dir string) error {
	s, err := summary(dir)
	if err != nil {
		return err
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(s)
}

// printMarkdown writes one table: a row for each operation and kind of time.
func printMarkdown(w io.Writer, dir, unit string) error {
	s, err := summary(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "**%s, %s**: status %s, offered %s/s, achieved %s/s\n\n", s.Scenario, s.Config, s.Status, rate(s.OfferedPerSecond), rate(s.AchievedPerSecond))
	fmt.Fprintf(w, "| %s | count |", unit)
	rule := "|---|--:|"
	columns := append(slices.Collect(percentileNames()), "max")
	for _, name := range columns {
		fmt.Fprintf(w, " %s |", name)
		rule += "--:|"
	}
	fmt.Fprintf(w, "\n%s\n", rule)
	row := func(name string, f result.Figures) {
		fmt.Fprintf(w, "| %s | %d |", name, f.Count)
		for _, column := range columns {
			fmt.Fprintf(w, " %s |", latency(f.Value(column), unit))
		}
		fmt.Fprintln(w)
	}
	for _, op := range slices.Sorted(maps.Keys(s.Ops)) {
		for _, kind := range result.Kinds {
			row(result.Tag(op, kind), s.Ops[op].Of(kind))
		}
	}
	row(result.HiccupTag, s.Hiccup)
	return nil
}

func percentileNames() func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, p := range result.Percentiles {
			if !yield(p.Name) {
				return
			}
		}
	}
}

func rate(v *float64) string {
	if v == nil {
		return "–"
	}
	return strconv.FormatFloat(*v, 'f', 0, 64)
}

// latency writes nanoseconds in a unit with the digits that are known.
func latency(ns *int64, unit string) string {
	if ns == nil {
		return "–"
	}
	switch unit {
	case "ms":
		return strconv.FormatFloat(float64(*ns)/1e6, 'f', 6, 64)
	case "us":
		return strconv.FormatFloat(float64(*ns)/1e3, 'f', 3, 64)
	default:
		return strconv.FormatInt(*ns, 10)
	}
}
