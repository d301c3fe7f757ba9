package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"commitlab/engine/audit"
	"commitlab/engine/fsutil"
)

// storeCommand has what is about one store: looking into its directory without
// opening it, and holding it against RocketMQ's.
type storeCommand struct {
	Verify storeVerifyCommand `cmd:"" help:"Audit a store that nobody has open: log, consume queues and index against each other. Changes nothing. Exit code 1: damage was found."`
	Dump   storeDumpCommand   `cmd:"" help:"Print records, units of consume queues, headers of index files and the checkpoint. Changes nothing."`

	Plan    storePlanCommand    `cmd:"" help:"Print a plan: content of every kind, to be put into a store of ours or of RocketMQ's."`
	Apply   storeApplyCommand   `cmd:"" help:"Put a plan into a store and print what it says. A directory that holds a store is gone on with."`
	Answers storeAnswersCommand `cmd:"" help:"Open a store and print everything it answers."`
	Holds   storeHoldsCommand   `cmd:"" help:"Check answers against a plan and what was acknowledged of it. Exit code 1: something is lost or changed."`
	Compare storeCompareCommand `cmd:"" help:"Compare two texts of answers. Exit code 1: they differ."`
	Bytes   storeBytesCommand   `cmd:"" help:"Compare records and units of two stores that were made from the same plan, byte by byte. Exit code 1: they differ where the plan leaves no choice."`
}

// storeVerifyCommand audits a store.
type storeVerifyCommand struct {
	Dir         string `arg:"" help:"Directory of the store, the one with commitlog in it."`
	Format      string `default:"text" enum:"text,json" help:"text or json."`
	EvenLocked  bool   `help:"Go on when a process has the store open; what it changes meanwhile looks like damage."`
	IndexSlots  int    `help:"Slots of an index file. Default: found out from the files."`
	IndexItems  int    `help:"Items of an index file."`
	DelayLevels string `help:"Table of delays that the store had, like '1s 5s 10s'. Default: the usual one."`
}

// Run prints the report. Damage makes it exit with 1, a directory that cannot be
// audited with 2.
func (c *storeVerifyCommand) Run(ctx context.Context, con console) error {
	r, err := audit.Verify(ctx, c.Dir, audit.Options{
		IndexSlots: c.IndexSlots, IndexItems: c.IndexItems, DelayLevels: c.DelayLevels, EvenLocked: c.EvenLocked,
	})
	var locked *fsutil.LockedError
	switch {
	case errors.As(err, &locked):
		return usage(fmt.Errorf("%w; close the store first, or look at it with --even-locked", err))
	case errors.Is(err, audit.ErrNoStore), errors.Is(err, audit.ErrOptions):
		return usage(err)
	case err != nil:
		return err
	}
	if c.Format == "json" {
		e := json.NewEncoder(con.stdout)
		e.SetIndent("", "  ")
		err = e.Encode(r)
	} else {
		err = printAudit(con.stdout, r)
	}
	if err == nil && !r.Clean() {
		err = fmt.Errorf("%s: faults found: %d", c.Dir, r.FaultCount)
	}
	return err
}

func printAudit(out io.Writer, r *audit.Report) error {
	l, q, x := r.CommitLog, r.Queues, r.Index
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "commit log\t%d files, %d records, %d of them damaged, offsets %d to %d, last stored %s\n",
		l.Files, l.Records, l.Damaged, l.Min, l.End, timeOf(l.LastStoreMs))
	fmt.Fprintf(w, "consume queues\t%d queues, %d files, %d units: %d live, %d expired, %d pre-fill; up to offset %d\n",
		q.Queues, q.Files, q.Units, q.Live, q.Expired, q.Prefill, q.PhysicalEnd)
	fmt.Fprintf(w, "index\t%d files, %d items: %d live, %d of tags, %d expired, for %d keys; last record at offset %d; files of %d slots, %d items\n",
		x.Files, x.Items, x.Live, x.Tags, x.Expired, x.Keys, x.PhysicalEnd, x.FileSlots, x.FileItems)
	if q.Untimed > 0 {
		fmt.Fprintf(w, "note\t%d units of delayed messages have no time of delivery, as after a recovery by RocketMQ 4.9\n", q.Untimed)
	}
	if c := r.State.Checkpoint; c != nil {
		fmt.Fprintf(w, "checkpoint\tcommit log %s, consume queues %s, index %s\n", timeOf(c.CommitLogMs), timeOf(c.ConsumeQueueMs), timeOf(c.IndexMs))
	}
	for _, n := range r.Notes {
		fmt.Fprintf(w, "note\t%s\n", n)
	}
	for _, f := range r.Faults {
		fmt.Fprintf(w, "FAULT\t%s\n", f)
	}
	if more := r.FaultCount - len(r.Faults); more > 0 {
		fmt.Fprintf(w, "FAULT\t%d more\n", more)
	}
	if r.Clean() {
		fmt.Fprintln(w, "clean")
	}
	return w.Flush()
}

// timeOf writes a time of the store, epoch ms, in UTC.
func timeOf(ms int64) string {
	if ms == 0 {
		return "never"
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

// storeDumpCommand prints what a store holds.
type storeDumpCommand struct {
	Dir    string   `arg:"" help:"Directory of the store."`
	What   []string `default:"records" enum:"records,units,index,checkpoint" help:"Any of records, units, index, checkpoint, separated by commas."`
	From   int64    `help:"Leave out what lies in the log before this offset, or points there."`
	Limit  int      `help:"Lines of each kind; 0: all."`
	Format string   `default:"text" enum:"text,json" help:"text, or json: one object on each line."`
}

// Run prints one line for each thing.
func (c *storeDumpCommand) Run(ctx context.Context, con console) error {
	if err := audit.CheckStore(c.Dir); err != nil {
		return usage(err)
	}
	if c.From < 0 || c.Limit < 0 {
		return usage(fmt.Errorf("--from %d and --limit %d: neither may be negative", c.From, c.Limit))
	}
	out := bufio.NewWriter(con.stdout)
	line := func(s fmt.Stringer) error {
		_, err := fmt.Fprintln(out, s)
		return err
	}
	if c.Format == "json" {
		e := json.NewEncoder(out)
		line = func(s fmt.Stringer) error { return e.Encode(s) }
	}
	d := audit.Dump{From: c.From, Limit: c.Limit}
	for _, kind := range []struct {
		name string
		dump func() error
	}{
		{"checkpoint", func() error { return d.Checkpoint(c.Dir, line) }},
		{"records", func() error { return d.Records(ctx, c.Dir, line) }},
		{"units", func() error { return d.Units(ctx, c.Dir, line) }},
		{"index", func() error { return d.Index(c.Dir, line) }},
	} {
		if !slices.Contains(c.What, kind.name) {
			continue
		}
		if err := kind.dump(); err != nil {
			return errors.Join(err, out.Flush())
		}
	}
	return out.Flush()
}
