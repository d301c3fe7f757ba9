package engine

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"commitlab/engine/message"
	"commitlab/engine/storedir"
)

// DeleteTopic removes all queues of a topic. From then on nothing is found in them
// of what was put before the call: Get answers NoMessageInQueue. Their files are
// taken down as those of the log are, so that readers who hold messages or units
// keep them. An unknown topic is no error.
//
// The records stay in the log until their files go, and are found by offset and
// key until then. That they belong to no queue any more is remembered in the store
// directory, so that no recovery brings them back.
//
// A message put to the topic later makes its queue anew. Its queue offset
// continues where the topic was, so that an offset never stands for two messages,
// as long as the store stays open or the log reaches back to the deletion.
//
// It fails with ErrNoDispatch, with ErrClosing, or if files cannot be removed: then
// it may be called again, and the cleaner tries after each of its passes. Until one
// succeeds dispatch waits at the first message that was put to the topic since.
func (s *Store) DeleteTopic(topic string) error {
	if s.dispatch == nil {
		return fmt.Errorf("delete topic %s: %w", topic, ErrNoDispatch)
	}
	if topic == message.ScheduleTopic || topic == message.HalfTopic {
		return fmt.Errorf("delete topic %s: %w: the topic is the store's own", topic, ErrIllegalMessage)
	}
	// Deletions and cleaning are one at a time, and none comes after Close.
	s.cleaner.mu.Lock()
	defer s.cleaner.mu.Unlock()
	if s.cleaner.stopped {
		return fmt.Errorf("delete topic %s: %w", topic, ErrClosing)
	}
	if err := s.dispatch.forget(topic, s.dir); err != nil {
		return fmt.Errorf("delete topic %s: %w", topic, err)
	}
	return nil
}

// forget deletes the queues of a topic while nobody dispatches.
func (d *dispatcher) forget(topic string, dir storedir.Layout) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	end, next := d.log.QueueOffsets(topic)
	if len(next) > 0 { // else no record of it could come back
		// A power cut must not leave a log that ends before: what is then put there
		// was never deleted.
		if err := d.log.Flush(); err != nil {
			return err
		}
		deleted := maps.Clone(d.deleted)
		if deleted == nil {
			deleted = make(storedir.DeletedTopics)
		}
		deleted[topic] = storedir.DeletedTopic{Before: end, Next: next}
		if err := dir.SaveDeletedTopics(deleted); err != nil {
			return err
		}
		d.deleted = deleted
	}
	d.known.DropTopic(topic)
	defer d.deletions.Add(1)
	return d.queues.Delete(topic, time.Now())
}

// forgetForgotten drops what is remembered of deleted topics whose records have
// left the log.
func (d *dispatcher) forgetForgotten(dir storedir.Layout) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	first := d.log.Min()
	left := maps.Clone(d.deleted)
	maps.DeleteFunc(left, func(_ string, t storedir.DeletedTopic) bool { return t.Before <= first })
	if len(left) == len(d.deleted) {
		return nil
	}
	if err := dir.SaveDeletedTopics(left); err != nil {
		return err
	}
	d.deleted = left
	return nil
}

// cutDeletions keeps deletions to a log that recovery has ended at an offset,
// durably: what is put behind it is put after them, though a deletion may have
// been remembered when the log reached further than was durable.
func (d *dispatcher) cutDeletions(end int64, dir storedir.Layout) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	cut, changed := maps.Clone(d.deleted), false
	for topic, deletion := range cut {
		if deletion.Before > end {
			deletion.Before, changed = end, true
			cut[topic] = deletion
		}
	}
	if !changed {
		return nil
	}
	if err := dir.SaveDeletedTopics(cut); err != nil {
		return err
	}
	d.deleted = cut
	return nil
}

// finishDeletions removes the queues of topics whose deletion a crash interrupted:
// those with nothing from after it.
func (d *dispatcher) finishDeletions() error {
	if len(d.deleted) == 0 {
		return nil
	}
	newest := make(map[string]int64) // topic: log offset behind its last record with a unit
	for _, e := range d.queues.All() {
		newest[e.Topic] = max(newest[e.Topic], e.MaxPhysical())
	}
	var errs []error
	for topic, deletion := range d.deleted {
		if end, ok := newest[topic]; ok && end <= deletion.Before {
			errs = append(errs, d.queues.Delete(topic, time.Now()))
		}
	}
	return errors.Join(errs...)
}
