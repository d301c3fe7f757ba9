package engine

import "fmt"

// reconcile completes queues and index by the recovered log, before any reader
// sees them: what the log has and they may not have is dispatched again.
func (s *Store) reconcile(l *loading) error {
	first, end := s.log.Min(), s.log.Appended()
	d := s.dispatch
	d.at.Store(bounded(first, l.from.dispatch, end))
	d.queuesFrom = l.from.queues
	d.repair = true
	if err := s.catchUp(l); err != nil {
		return fmt.Errorf("dispatch the log from %d: %w", s.recovery.DispatchOffset, err)
	}
	if l.from.partial {
		if err := s.giveUpUnits(l.verdict); err != nil {
			return err
		}
	}
	d.repair, d.queuesFrom = false, 0
	if err := s.queues.CorrectMin(first); err != nil {
		return err
	}
	s.resumeQueueOffsets()
	return nil
}

// resumeQueueOffsets lets the log go on giving queue offsets: where each queue ends,
// and where a deleted topic was, unless something was put to it since.
//
// Note: the log itself does not tell. RocketMQ begins anew with the offsets of a
// topic that it has deleted, and the older ones, which are higher, may still be there.
// No queue takes a unit that leaves a gap behind the last one.
func (s *Store) resumeQueueOffsets() {
	for _, e := range s.queues.All() {
		s.log.RaiseQueueOffset(e.Topic, e.ID, e.Max())
	}
	for topic, deletion := range s.dispatch.deleted {
		for id, next := range deletion.Next {
			if q := s.queues.Get(topic, id); q == nil || q.MaxPhysical() == 0 {
				s.log.RaiseQueueOffset(topic, id, next)
			}
		}
	}
}

// catchUp dispatches up to the end of the log. In recovery all of it counts as
// durable.
func (s *Store) catchUp(l *loading) error {
	d, end := s.dispatch, s.log.Committed()
	from := d.at.Load()
	s.recovery.DispatchOffset = from
	l.meter.begin("dispatch", 0, end-from)
	if s.index != nil {
		s.index.BeginBuild()
	}
	c := catchUp{dispatch: d, lookahead: d.lookahead, end: end, progress: func(bytes int64) { l.meter.add(bytes, false) }}
	if err := c.run(s.opt.RecoveryWorkers > 1); err != nil {
		return err
	}
	if s.index != nil {
		if err := s.index.EndBuild(); err != nil {
			return err
		}
	}
	_, took := l.meter.end()
	s.recovery.RecordsDispatched, s.recovery.DispatchNs = d.messages.Load(), took.Nanoseconds()
	return nil
}

// giveUpUnits moves queues on to the next offset that the log has given, where they
// did not get all units of the log: the messages between are not found by queue
// any more, and the next one has its place. A deleted topic that nothing was put to
// since has no queues, and lacks none.
func (s *Store) giveUpUnits(v verdict) error {
	for key, next := range v.next {
		if next <= s.dispatch.deleted[key.Topic].Next[key.ID] && s.queues.Get(key.Topic, key.ID) == nil {
			continue
		}
		q, err := s.queues.GetOrCreate(key.Topic, key.ID)
		if err != nil {
			return err
		}
		if q.Max() < next {
			s.opt.Logger.Warn("consume queue lacks messages that the log has; they were not looked for (option recoverFrom)",
				"topic", key.Topic, "queue", key.ID, "from", q.Max(), "to", next)
		}
		for q.Max() < next {
			if q.MaxPhysical() == 0 {
				err = q.Reset(next)
			} else {
				err = q.Skip(min(next, q.Max()+s.dispatch.unitsPerFile))
			}
			if err != nil {
				return fmt.Errorf("give up units: %w", err)
			}
		}
	}
	return nil
}
