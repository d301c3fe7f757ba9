package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"commitlab/bench/host"
	"commitlab/bench/report"
	"commitlab/bench/result"
	"commitlab/bench/study"
)

// studyCommand runs a study or goes on with one.
type studyCommand struct {
	Study    string        `arg:"" default:"quick" help:"A study file (YAML), the name of a built-in study, or the result directory of a study to go on with."`
	Dir      string        `placeholder:"DIR" help:"Where the stores live while they are measured; default inside the result. Choose the disk with it."`
	Blocks   int           `placeholder:"N" help:"Blocks, instead of what the study says."`
	Duration time.Duration `placeholder:"TIME" help:"Measured window of a run, instead of what the study says."`
	Out      string        `default:"results" help:"Directory in which the result directory <utc>-<name> is made."`
	Quiet    bool          `short:"q" help:"No progress."`
}

// Run runs the study and prints the comparison. After an interrupt it prints
// what there is.
func (c *studyCommand) Run(ctx context.Context, con console) error {
	dir, spec, err := c.open()
	if err != nil {
		return err
	}
	total := len(dir.Study.Order)
	p := newProgress(con.stderr, c.Quiet, int64(total), con.statusEvery)
	c.announce(p, dir)
	missing, err := study.PressureMissing(dir.Study, c.store(dir))
	if err != nil {
		return err
	}
	for _, m := range missing {
		p.note("warning: pressure %s", m)
	}
	for _, o := range study.Peers(dir.Study) {
		askPeer(ctx, p, o)
	}
	tally, runErr := c.runner(p, dir, spec).Run(ctx, dir)
	if tally.Left > 0 {
		p.note("%d of %d runs were left out to end within %s; go on with: %s", tally.Left, total, spec.Limit, quoteCommand(c.resume(dir)))
	}
	p.close()

	printed, err := c.print(con, dir, tally)
	if runErr != nil {
		if printed {
			runErr = fmt.Errorf("%w; go on with: %s", runErr, quoteCommand(c.resume(dir)))
		}
		return errors.Join(runErr, err)
	}
	return errors.Join(err, c.verdict(tally, total))
}

// open plans a new study or opens one that was begun.
func (c *studyCommand) open() (*result.Dir, study.Spec, error) {
	if _, err := os.Stat(filepath.Join(c.Study, result.StudyFile)); err == nil {
		dir, err := result.Open(c.Study)
		if err != nil {
			return nil, study.Spec{}, usage(err)
		}
		spec, err := study.SpecOf(dir.Study)
		return dir, spec, err
	}
	spec, ok := study.FindNamed(c.Study)
	if !ok {
		var err error
		if spec, err = study.Load(c.Study); errors.Is(err, fs.ErrNotExist) {
			return nil, spec, usage(fmt.Errorf("study %q is no file, no result directory and no built-in study; see loadgen list", c.Study))
		} else if err != nil {
			return nil, spec, usage(err)
		}
	}
	if c.Blocks != 0 {
		spec.Blocks, spec.Exploratory = c.Blocks, true // too few are said to be too few
	}
	if c.Duration != 0 {
		spec.Duration = study.Duration(c.Duration)
	}
	where := c.Dir
	if where == "" {
		where = c.Out
	}
	room, err := study.RoomAt(where)
	if err != nil {
		return nil, spec, err
	}
	plan, err := spec.Plan(room)
	if err != nil {
		return nil, spec, usage(err)
	}
	plan.Command = commandOf("study", c.Study)
	if c.Blocks != 0 {
		plan.Command = append(plan.Command, "--blocks", fmt.Sprint(c.Blocks))
	}
	if c.Duration != 0 {
		plan.Command = append(plan.Command, "--duration", c.Duration.String())
	}
	if c.Dir != "" {
		plan.Command = append(plan.Command, "--dir", c.Dir)
	}
	plan.Host = host.Collect(existingParent(where))
	dir, err := result.CreateStudy(c.Out, plan)
	if err != nil {
		return nil, spec, err
	}
	spec, err = study.SpecOf(dir.Study)
	return dir, spec, err
}

func existingParent(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// resume is the command that goes on with the study.
func (c *studyCommand) resume(dir *result.Dir) []string {
	words := commandOf("study", dir.Path)
	if c.Dir != "" {
		words = append(words, "--dir", c.Dir)
	}
	return words
}

func (c *studyCommand) announce(p *progress, dir *result.Dir) {
	s := dir.Study
	p.note("study %s: %d cells in %d blocks, into %s", s.Name, len(s.Cells), s.Blocks, dir.Path)
	for _, f := range host.Judge(s.Host) {
		if f.Severity >= host.Warning {
			p.note("%s: %s (more: loadgen doctor)", f.Severity, f.What)
		}
	}
}

// store is the directory below which the stores of all cells live.
func (c *studyCommand) store(dir *result.Dir) string {
	if c.Dir != "" {
		return c.Dir
	}
	return filepath.Join(dir.Path, "store")
}

func (c *studyCommand) runner(p *progress, dir *result.Dir, spec study.Spec) *study.Runner {
	total := len(dir.Study.Order)
	behind := 0
	return &study.Runner{
		Launch:   (&study.Process{Program: program(), Store: c.store(dir)}).Launch,
		Cooldown: time.Duration(*spec.Cooldown),
		Limit:    time.Duration(spec.Limit),
		Begin: func(slot result.Slot, n int) {
			behind = n
			p.step(int64(behind), "%d of %d: %s, block %d of %d", n+1, total, slot.Cell, slot.Block, dir.Study.Blocks)
		},
		Ended: func(slot result.Slot, m result.Manifest) {
			p.at(int64(behind+1), "%d of %d done", behind+1, total)
			if m.Status() != result.OK {
				p.note("%s, block %d is %s: %s", slot.Cell, slot.Block, m.Status(), m.Reason())
			}
		},
	}
}

// program is this program, for the processes of cells.
func program() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// print writes the comparison to stdout and the page beside the study. It
// reports whether there was anything to print.
func (c *studyCommand) print(con console, dir *result.Dir, tally study.Tally) (bool, error) {
	if tally.OK+tally.Invalid+tally.Failed+tally.Unavailable == 0 {
		return false, nil
	}
	r, err := report.Load(dir.Path)
	if err != nil {
		return false, err
	}
	if err := r.Text(con.stdout, report.Options{}); err != nil {
		return false, err
	}
	page := filepath.Join(dir.Path, "report.html")
	if err := writePage(page, r); err != nil {
		return true, err
	}
	_, err = fmt.Fprintf(con.stdout, "\nreport: %s\n", page)
	return true, err
}

func writePage(path string, r *report.Report) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return r.HTML(f, report.Options{})
}

// verdict is the error of a study that ran to its end.
func (c *studyCommand) verdict(t study.Tally, total int) error {
	switch {
	case t.Failed > 0:
		return codedError{exitFailed, fmt.Errorf("%d of %d runs failed; the first: %s", t.Failed, total, t.Reasons[0])}
	case t.Unavailable > 0:
		return codedError{exitUnavailable, fmt.Errorf("%d of %d runs could not be made on this machine; the first: %s", t.Unavailable, total, t.Reasons[0])}
	case t.OK == 0:
		return codedError{exitInvalid, fmt.Errorf("no run of %d is valid; the first: %s", total, t.Reasons[0])}
	}
	return nil
}
