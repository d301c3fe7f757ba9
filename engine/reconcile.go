package engine

import (
	"fmt"
	"time"
)

// reconcile brings queues and index in step with the recovered log. What points
// behind the end of the log is cut off; what the log has and they have not is
// dispatched again, before any reader sees them. After a clean exit with all
// queues complete there is nothing to do.
func (s *Store) reconcile(clean bool) error {
	end, first := s.log.Appended(), s.log.Min()
	if err := s.queues.TruncateTo(end); err != nil {
		return fmt.Errorf("cut consume queues at %d: %w", end, err)
	}
	if s.index != nil {
		if err := s.index.Truncate(end); err != nil {
			return fmt.Errorf("cut index at %d: %w", end, err)
		}
		if err := s.checkpoint.setIndex(s.index.DurableMs()); err != nil {
			return err
		}
	}
	d := s.dispatch
	d.at.Store(end)
	if !clean || !s.complete() {
		d.at.Store(first)
		d.repair = true
		if err := s.catchUp(); err != nil {
			return fmt.Errorf("dispatch the log from %d: %w", first, err)
		}
		d.repair = false
	}
	for _, e := range s.queues.All() {
		e.CorrectMin(first)
		s.log.RaiseQueueOffset(e.Topic, e.ID, e.Max())
	}
	return nil
}

// complete reports whether every queue ends where the log says, and the index
// reaches the last record that has a key.
func (s *Store) complete() bool {
	if s.index != nil && s.index.EndPhysical() < s.found.lastKeyed {
		return false
	}
	complete := true
	s.log.QueueOffsets(func(topic string, id int32, next int64) bool {
		q := s.queues.Get(topic, id)
		complete = q != nil && q.Max() == next
		return complete
	})
	return complete
}

// catchUp dispatches up to the end of the log. In recovery all of it counts as
// durable.
func (s *Store) catchUp() error {
	start := time.Now()
	defer func() { s.catchUpNs = time.Since(start).Nanoseconds() }()
	for s.dispatch.at.Load() < s.log.Committed() {
		if _, err := s.dispatch.Step(time.Time{}); err != nil {
			return err
		}
	}
	return nil
}
