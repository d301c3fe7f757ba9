package engine

import (
	"fmt"
	"time"
)

// reconcile brings queues and index in step with the recovered log. What points
// behind the end of the log is cut off; what the log has and they have not is
// dispatched again, before any reader sees them.
func (s *Store) reconcile(l *loading, v verdict) error {
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
	if !l.clean || !s.complete(l, v) {
		d.at.Store(first)
	}
	d.repair = true
	if err := s.catchUp(l); err != nil {
		return fmt.Errorf("dispatch the log from %d: %w", first, err)
	}
	d.repair = false
	for _, e := range s.queues.All() {
		e.CorrectMin(first)
		s.log.RaiseQueueOffset(e.Topic, e.ID, e.Max())
	}
	return nil
}

// complete reports whether every queue ends where the log says, and the index
// reaches the end of the log.
func (s *Store) complete(l *loading, v verdict) bool {
	for key, next := range v.next {
		if l.found.isDeleted(key) {
			continue
		}
		if q := s.queues.Get(key.Topic, key.ID); q == nil || q.Max() != next {
			return false
		}
	}
	return s.index == nil || s.index.EndPhysical() >= v.lastKeyed
}

// catchUp dispatches up to the end of the log. In recovery all of it counts as
// durable.
func (s *Store) catchUp(l *loading) error {
	d, from, end := s.dispatch, s.dispatch.at.Load(), s.log.Committed()
	l.meter.begin("dispatch", 0, end-from)
	for d.at.Load() < end {
		before := d.at.Load()
		if _, err := d.Step(time.Time{}); err != nil {
			return err
		}
		l.meter.add(d.at.Load()-before, false)
	}
	_, took := l.meter.end()
	s.recovery.DispatchOffset, s.recovery.RecordsDispatched, s.recovery.DispatchNs = from, d.messages.Load(), took.Nanoseconds()
	return nil
}
