package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"commitlab/bench/report"

	"github.com/alecthomas/kong"
)

// commandLine is what kong parses. Text is the command when none is named.
type commandLine struct {
	Text    textCommand    `cmd:"" default:"withargs" help:"Print the comparison as text (the default)."`
	HTML    htmlCommand    `cmd:"" name:"html" help:"Write one self-contained page."`
	Export  exportCommand  `cmd:"" help:"Print the figures for other programs."`
	Compare compareCommand `cmd:"" help:"Compare two results that were not run together (unpaired)."`
	Profile profileCommand `cmd:"" help:"Show by function where a profiled run spends, or where two differ."`
}

type textCommand struct {
	Results []string `arg:"" name:"result" help:"Directories of studies or runs."`
	Runs    bool     `help:"List each run by itself too."`
}

type htmlCommand struct {
	Results []string `arg:"" name:"result" help:"Directories of studies or runs."`
	Output  string   `short:"o" required:"" placeholder:"FILE" help:"Where the page goes; - is stdout."`
}

type exportCommand struct {
	Results []string `arg:"" name:"result" help:"Directories of studies or runs."`
	Format  string   `required:"" enum:"hgrm,csv,json,bench" help:"hgrm (HdrHistogram), csv, json or bench (benchstat)."`
	Unit    string   `default:"us" enum:"ns,us,ms" help:"Unit of latencies in hgrm and csv: ns, us or ms."`
	Config  string   `placeholder:"NAME" help:"Only this configuration."`
	Tag     string   `placeholder:"OP.KIND" help:"Only this distribution, for example append.service."`
}

type compareCommand struct {
	A    string `arg:"" help:"Directory of a study or run: the base."`
	B    string `arg:"" help:"Directory of a study or run: what is compared with it."`
	Runs bool   `help:"List each run by itself too."`
}

type profileCommand struct {
	A          string `arg:"" help:"Directory of a run made with loadgen run --profile: the base."`
	B          string `arg:"" optional:"" help:"Another one: what is compared with it."`
	Kind       string `default:"cpu" enum:"cpu,wall,heap,mutex,block" help:"Kind of profile: cpu, wall, heap, mutex or block."`
	Focus      string `placeholder:"REGEXP" help:"Only stacks with a function or file that matches, for example ^commitlab/engine: without the load generator."`
	Top        int    `default:"20" help:"How many functions; 0 for all."`
	Cumulative bool   `help:"Order by what a function costs with all that it calls."`
	Format     string `default:"text" enum:"text,csv,json" help:"text, csv or json."`
}

// usageError is a wrong command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// errHelp ends a call that only asked for help.
var errHelp = errors.New("help was shown")

// run is the whole program: it parses args, writes the report to stdout and
// returns what went wrong.
func run(args []string, stdout, stderr io.Writer) (err error) {
	// kong leaves through Exit after it has printed help.
	defer func() {
		if p := recover(); p == errHelp {
			err = nil
		} else if p != nil {
			panic(p)
		}
	}()
	var c commandLine
	parser, err := kong.New(&c,
		kong.Name("report"),
		kong.Description("Show results that loadgen left behind."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { panic(errHelp) }),
	)
	if err != nil {
		return err
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return usageError{err}
	}
	parsed.BindTo(stdout, (*io.Writer)(nil))
	return parsed.Run()
}

// Run prints the comparison.
func (c *textCommand) Run(stdout io.Writer) error {
	r, err := report.Load(c.Results...)
	if err != nil {
		return err
	}
	return r.Text(stdout, report.Options{Runs: c.Runs})
}

// Run prints the comparison of two results.
func (c *compareCommand) Run(stdout io.Writer) error {
	r, err := report.Compare(c.A, c.B)
	if err != nil {
		return err
	}
	return r.Text(stdout, report.Options{Runs: c.Runs})
}

// Run prints the profiles, per operation.
func (c *profileCommand) Run(stdout io.Writer) error {
	paths := []string{c.A}
	if c.B != "" {
		paths = append(paths, c.B)
	}
	var focus *regexp.Regexp
	if c.Focus != "" {
		var err error
		if focus, err = regexp.Compile(c.Focus); err != nil {
			return usageError{fmt.Errorf("--focus: %w", err)}
		}
	}
	p, err := report.LoadProfiles(c.Kind, focus, paths...)
	if err != nil {
		return err
	}
	o := report.ProfileOptions{Top: c.Top, Cumulative: c.Cumulative}
	switch c.Format {
	case "csv":
		return p.CSV(stdout, o)
	case "json":
		return p.JSON(stdout, o)
	}
	return p.Text(stdout, o)
}

// Run prints the export.
func (c *exportCommand) Run(stdout io.Writer) error {
	r, err := report.Load(c.Results...)
	if err != nil {
		return err
	}
	return r.Export(stdout, report.Format(c.Format), report.ExportOptions{Unit: report.Unit(c.Unit), Config: c.Config, Tag: c.Tag})
}

// Run writes the page.
func (c *htmlCommand) Run(stdout io.Writer) error {
	r, err := report.Load(c.Results...)
	if err != nil {
		return err
	}
	if c.Output == "-" {
		return r.HTML(stdout, report.Options{})
	}
	return writePage(c.Output, r)
}

// writePage leaves no half page behind: on an error the file is removed.
func writePage(path string, r *report.Report) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	b := bufio.NewWriter(f)
	err = errors.Join(r.HTML(b, report.Options{}), b.Flush(), f.Close())
	if err != nil {
		return errors.Join(fmt.Errorf("write page %s: %w", path, err), os.Remove(path))
	}
	return nil
}
