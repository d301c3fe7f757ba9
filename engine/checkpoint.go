package engine

import (
	"time"

	"commitlab/engine/storedir"
)

// checkpointInterval is how often the checkpoint is saved.
const checkpointInterval = time.Second

// A checkpointer saves how far log, queues and index are durable: in store times,
// as RocketMQ reads them, and in log offsets. They only tell recovery what must be
// there; they never run ahead of the syncs. It is a service.
type checkpointer struct {
	store  *Store
	file   *storedir.CheckpointFile
	queues *queueFlusher       // nil with dispatch off
	saved  storedir.Checkpoint // as in the file, but for what logDurable noted since
}

// Name implements service.Service.
func (c *checkpointer) Name() string { return "checkpoint" }

// Step saves the checkpoint if it has changed.
func (c *checkpointer) Step(time.Time) (int, error) { return 0, c.save(c.now()) }

// now is the checkpoint as it could be saved now.
func (c *checkpointer) now() storedir.Checkpoint {
	s, next := c.store, c.saved
	set := func(field *int64, ms int64) {
		if ms > 0 {
			*field = ms
		}
	}
	set(&next.CommitLogMs, s.log.DurableMs())
	p := &next.Positions
	p.Known = true
	p.LogDurable = s.log.Flushed()
	if c.queues != nil {
		if d := c.queues.durable.Load(); d != nil {
			set(&next.ConsumeQueueMs, d.storeMs)
			p.QueuesDurable, p.QueuesSum = d.offset, d.sum
		}
	}
	if s.index != nil {
		set(&next.IndexMs, s.index.DurableMs())
		p.Indexed = s.dispatch.at.Load() // before the end of the index, which may move
		p.IndexEnd = s.index.EndPhysical()
	}
	if s.delivery != nil {
		if d := s.delivery.covered.Load(); d != nil {
			p.DelaysSaved, p.DelaysSum = d.offset, d.sum
		}
	}
	return next
}

// save makes a checkpoint durable, if it is another than the last.
func (c *checkpointer) save(next storedir.Checkpoint) error {
	if next == c.saved {
		return nil
	}
	if err := c.file.Save(next); err != nil {
		return err
	}
	c.saved = next
	return nil
}

// logDurable is called when the log has become durable up to an offset, before
// anybody is told. An error shows at the next Step.
func (c *checkpointer) logDurable(offset int64) { _ = c.file.NoteLogDurable(offset) }

// final saves the checkpoint of a store that was stopped in order: everything
// is durable.
func (c *checkpointer) final() error {
	if c.queues != nil {
		c.queues.reached()
	}
	_, err := c.Step(time.Time{})
	return err
}
