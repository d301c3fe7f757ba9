package main

import (
	"context"

	"commitlab/bench/result"
	"commitlab/bench/study"
)

// cellCommand is the program of study.Process.
type cellCommand struct {
	Dir      string `required:"" help:"Directory for the store."`
	Result   string `arg:"" help:"Directory of the study."`
	Cell     string `arg:"" help:"Name of the cell."`
	Block    int    `arg:"" help:"Block, from 1."`
	Position int    `arg:"" help:"Place in the order of the block, from 1."`
}

// Run runs the slot until it ends or standard input does.
func (c *cellCommand) Run(ctx context.Context, con console) error {
	dir, err := result.Open(c.Result)
	if err != nil {
		return err
	}
	slot := result.Slot{Block: c.Block, Position: c.Position, Cell: c.Cell}
	return study.RunSlot(study.UntilClosed(ctx, con.stdin), dir, slot, c.Dir)
}
