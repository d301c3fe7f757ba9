package engine

import (
	"time"

	"commitlab/engine/storedir"
)

// checkpointInterval is how often the checkpoint is saved.
const checkpointInterval = time.Second

// A checkpointer saves up to which store time log, queues and index are
// durable. The times only tell recovery what must be there; they never run ahead
// of the syncs. It is a service.
type checkpointer struct {
	store  *Store
	file   *storedir.CheckpointFile
	queues *queueFlusher       // nil with dispatch off
	saved  storedir.Checkpoint // as in the file
}

// Name implements service.Service.
func (c *checkpointer) Name() string { return "checkpoint" }

// Step saves the checkpoint if it has changed.
func (c *checkpointer) Step(time.Time) (int, error) {
	next := c.saved
	set := func(field *int64, ms int64) {
		if ms > 0 {
			*field = ms
		}
	}
	set(&next.CommitLogMs, c.store.log.DurableMs())
	if c.queues != nil {
		set(&next.ConsumeQueueMs, c.queues.durableMs.Load())
	}
	if c.store.index != nil {
		set(&next.IndexMs, c.store.index.DurableMs())
	}
	if next == c.saved {
		return 0, nil
	}
	if err := c.file.Save(next); err != nil {
		return 0, err
	}
	c.saved = next
	return 0, nil
}

// setIndex saves how far the index is durable. Recovery of the index may take
// it back, and that must be known before anything is added.
func (c *checkpointer) setIndex(ms int64) error {
	if ms == c.saved.IndexMs {
		return nil
	}
	c.saved.IndexMs = ms
	return c.file.Save(c.saved)
}

// final saves the checkpoint of a store that was stopped in order: everything
// is durable.
func (c *checkpointer) final() error {
	if d := c.store.dispatch; c.queues != nil {
		c.queues.durableMs.Store(d.storeMs.Load())
	}
	_, err := c.Step(time.Time{})
	return err
}
