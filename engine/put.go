package engine

import (
	"fmt"

	"commitlab/engine/commitlog"
	"commitlab/engine/message"
)

// A PutResult says where a message was stored.
type PutResult = commitlog.Position

// Put stores a message. When it returns without error the message can be read
// and survives the process; with flush sync it survives a power cut as well,
// unless the message carries the property WAIT=false. The store reads the
// message only during the call.
//
// A message with the property DELAY waits in the schedule topic until it is due
// and is then put again; the result is its place in the schedule topic.
//
// If the result of a failed Put has a Size, the message is stored but not known
// to be durable: ErrFlushTimeout, ErrSyncFailed, or ErrDiskFull where a sparse
// file found no blocks for what was in a transient buffer. Otherwise nothing was
// stored.
func (s *Store) Put(m *message.Message) (PutResult, error) {
	var plan message.Plan
	err := plan.Prepare(m, &s.limits)
	if err == nil && plan.Delayed {
		if m, err = s.delayed(m); err == nil {
			err = plan.Prepare(m, &s.limits)
		}
	}
	if err != nil {
		return PutResult{}, fmt.Errorf("put: %w", err)
	}
	return s.put(m, &plan)
}

// put appends a prepared message and waits as the options and the message say.
func (s *Store) put(m *message.Message, plan *message.Plan) (PutResult, error) {
	if err := s.disk.check(); err != nil {
		return PutResult{}, fmt.Errorf("put: %w", err)
	}
	pos, err := s.log.Append(m, plan)
	if err != nil {
		return PutResult{}, fmt.Errorf("put: %w", classify(err))
	}
	if s.durable && !plan.NoWait {
		if err := s.awaitDurable(pos); err != nil {
			return pos, err
		}
	}
	s.assist(int64(pos.Size))
	return pos, nil
}

// assist has a put of so many bytes help to dispatch, if need be.
func (s *Store) assist(bytes int64) {
	if s.dispatch != nil && !s.dispatch.assist(bytes) {
		s.services.dispatch.Wake()
	}
}

// PutBatch stores messages of one topic and queue next to each other in the
// log, all or none. Results and errors are as for Put, one result for each
// message.
func (s *Store) PutBatch(batch []message.Message) ([]PutResult, error) {
	if len(batch) == 0 {
		return nil, fmt.Errorf("put batch: %w: it is empty", ErrIllegalMessage)
	}
	plans := make([]message.Plan, len(batch))
	wait := false
	for i := range batch {
		m := &batch[i]
		if m.Topic != batch[0].Topic || m.QueueID != batch[0].QueueID {
			return nil, fmt.Errorf("put batch: %w: message %d goes to queue %s/%d, message 0 to %s/%d",
				ErrIllegalMessage, i, m.Topic, m.QueueID, batch[0].Topic, batch[0].QueueID)
		}
		if message.TransactionOf(m.SysFlag) != message.TransactionNone {
			return nil, fmt.Errorf("put batch: %w: message %d is part of a transaction", ErrIllegalMessage, i)
		}
		plan := &plans[i]
		if err := plan.Prepare(m, &s.limits); err != nil {
			return nil, fmt.Errorf("put batch: message %d: %w", i, err)
		}
		if plan.Delayed {
			return nil, fmt.Errorf("put batch: %w: message %d is delayed", ErrIllegalMessage, i)
		}
		wait = wait || !plan.NoWait
	}
	if err := s.disk.check(); err != nil {
		return nil, fmt.Errorf("put batch: %w", err)
	}
	results := make([]PutResult, len(batch))
	if err := s.log.AppendBatch(batch, plans, results); err != nil {
		return nil, fmt.Errorf("put batch: %w", classify(err))
	}
	last := results[len(results)-1]
	if s.durable && wait {
		if err := s.awaitDurable(last); err != nil {
			return results, err
		}
	}
	s.assist(last.End() - results[0].PhysicalOffset)
	return results, nil
}

// awaitDurable waits until the record that ends the put is.
func (s *Store) awaitDurable(last PutResult) error {
	if err := s.log.WaitDurable(last.End(), s.timeout); err != nil {
		return fmt.Errorf("put at offset %d: %w", last.PhysicalOffset, classify(err))
	}
	return nil
}
