package engine

import (
	"time"

	"commitlab/engine/commitlog"
	"commitlab/engine/storedir"
)

// checkpointInterval is how often the checkpoint is saved.
const checkpointInterval = time.Second

// A checkpointer saves how far the log is durable. The time only tells recovery
// which records must be there; it never runs ahead of the syncs. It is a
// service.
type checkpointer struct {
	log   *commitlog.Log
	file  *storedir.CheckpointFile
	saved storedir.Checkpoint // as in the file
}

// Name implements service.Service.
func (c *checkpointer) Name() string { return "checkpoint" }

// Step saves the checkpoint if it has changed.
func (c *checkpointer) Step(time.Time) (int, error) {
	next := c.saved
	if ms := c.log.DurableMs(); ms > 0 {
		next.CommitLogMs = ms
	}
	if next == c.saved {
		return 0, nil
	}
	if err := c.file.Save(next); err != nil {
		return 0, err
	}
	c.saved = next
	return 1, nil
}

// close saves once more and closes the file, after the log is closed and the
// service stopped.
func (c *checkpointer) close() error {
	_, err := c.Step(time.Time{})
	if closeErr := c.file.Close(); err == nil {
		err = closeErr
	}
	return err
}
