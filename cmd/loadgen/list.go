package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"commitlab/bench/scenario"
	"commitlab/bench/study"
	"commitlab/engine"
)

// listCommand shows what can be named.
type listCommand struct{}

// Run prints scenarios, configurations, options and studies.
func (*listCommand) Run(con console) error {
	w := tabwriter.NewWriter(con.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "Scenarios (--scenario)")
	for _, s := range scenario.All {
		fmt.Fprintf(w, "  %s\t%s\n", s.Name, s.Doc)
	}
	fmt.Fprintln(w, "\nConfigurations (--config)")
	for _, c := range scenario.Configs {
		fmt.Fprintf(w, "  %s\t%s\n", c.Name, c.Doc)
	}
	fmt.Fprintln(w, "\nOptions (--set option=value) and their values in each configuration; scenarios may need others")
	if err := listOptions(w); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nBuilt-in studies (loadgen study NAME)")
	for _, n := range study.Named {
		fmt.Fprintf(w, "  %s\t%s\n", n.Spec.Name, n.Doc)
	}
	return w.Flush()
}

func listOptions(w *tabwriter.Writer) error {
	header := []string{"  option"}
	var columns []map[string]any
	for _, c := range scenario.Configs {
		o, err := c.Options.Resolve()
		if err != nil {
			return err
		}
		values, err := optionValues(o)
		if err != nil {
			return err
		}
		header = append(header, c.Name)
		columns = append(columns, values)
	}
	fmt.Fprintln(w, strings.Join(header, "\t"))
	for _, key := range scenario.Keys() {
		row := []string{"  " + key}
		for _, values := range columns {
			row = append(row, fmt.Sprint(values[key]))
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return nil
}

// optionValues is the options by their JSON names.
func optionValues(o engine.Options) (map[string]any, error) {
	b, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber() // a size is printed with all its digits
	var values map[string]any
	return values, d.Decode(&values)
}
