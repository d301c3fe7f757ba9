package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"commitlab/bench/peer"
	"commitlab/bench/pressure"
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
	for _, c := range peer.Configs {
		fmt.Fprintf(w, "  %s\t%s\n", c.Name, c.Doc)
	}
	fmt.Fprintln(w, "\nPressure (--pressure KIND=…,KIND=…)")
	for _, k := range pressure.Kinds {
		fmt.Fprintf(w, "  %s=%s\t%s\n", k.Name, k.Example, k.Doc)
	}
	fmt.Fprintln(w, "\nBuilt-in studies (loadgen study NAME)")
	for _, n := range study.Named {
		fmt.Fprintf(w, "  %s\t%s\n", n.Spec.Name, n.Doc)
	}
	if err := listOptions(w); err != nil {
		return err
	}
	return w.Flush()
}

// listOptions prints every option with its default, and how each configuration
// differs from the defaults. A scenario may fill in defaults of its own.
func listOptions(w io.Writer) error {
	defaults, err := optionValues(engine.Options{})
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "\nOptions (--set option=value) and their defaults")
	for _, key := range scenario.Keys() {
		fmt.Fprintf(w, "  %s\t%s\n", key, defaults[key])
	}
	fmt.Fprintln(w, "\nWhere configurations differ from the defaults")
	for _, c := range scenario.Configs {
		values, err := optionValues(c.Options)
		if err != nil {
			return err
		}
		differences := []string{}
		for _, key := range scenario.Keys() {
			if values[key] != defaults[key] {
				differences = append(differences, key+"="+values[key])
			}
		}
		if len(differences) == 0 {
			differences = []string{"nowhere"}
		}
		fmt.Fprintf(w, "  %s\t%s\n", c.Name, strings.Join(differences, " "))
	}
	listPeers(w)
	return nil
}

// listPeers prints what the configurations of peers set. The rest of what can be
// set is the peer's own and known to it alone.
func listPeers(w io.Writer) {
	fmt.Fprintln(w, "\nOptions of configurations that are another program (--set also takes its store's own settings by their names)")
	for _, c := range peer.Configs {
		o := c.Options
		words := []string{"generation=" + o.Generation, "jvm=" + o.JVM}
		for _, key := range slices.Sorted(maps.Keys(o.Store)) {
			words = append(words, key+"="+o.Store[key])
		}
		fmt.Fprintf(w, "  %s\t%s\n", c.Name, strings.Join(words, " "))
	}
}

// optionValues is the options, resolved, by their JSON names.
func optionValues(o engine.Options) (map[string]string, error) {
	o, err := o.Resolve()
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber() // a size is printed with all its digits
	var raw map[string]any
	if err := d.Decode(&raw); err != nil {
		return nil, err
	}
	values := make(map[string]string, len(raw))
	for key, v := range raw {
		values[key] = fmt.Sprint(v)
	}
	return values, nil
}
