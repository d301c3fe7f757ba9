package plan

import (
	"context"
	"fmt"

	"commitlab/engine"
	"commitlab/engine/message"
)

// A Result is what a store said about an operation: where its first message was
// put and how many bytes and messages were written. The same line comes from
// RocketMQ's store; Status is in its words.
type Result struct {
	Kind        string `json:"kind"` // put
	Number      int    `json:"n"`
	Status      string `json:"status"`
	Offset      int64  `json:"offset"`
	Bytes       int    `json:"bytes"`
	QueueOffset int64  `json:"queueOffset"`
	Messages    int    `json:"messages"`
}

// Options returns the options of a store that holds the plan: the sizes of the
// head, everything else as in o.
func (h Head) Options(o engine.Options) engine.Options {
	o.CommitLogFileBytes, o.ConsumeQueueFileBytes = h.CommitLogFileBytes, h.ConsumeQueueFileBytes
	o.IndexSlots, o.IndexItems = h.IndexSlots, h.IndexItems
	return o
}

// Apply puts what a release can store into s, in order, and calls each with
// every result. It ends at the first message that is refused: a plan holds none
// that should be.
func (p *Plan) Apply(ctx context.Context, s *engine.Store, r Release, each func(Result) error) error {
	for _, o := range p.For(r) {
		if err := ctx.Err(); err != nil {
			return err
		}
		result, err := o.apply(s)
		if err != nil {
			return fmt.Errorf("operation %d, a %s to %s/%d: %w", o.Number, o.Kind, o.Messages[0].Topic, o.Messages[0].QueueID, err)
		}
		if err := each(result); err != nil {
			return err
		}
	}
	return nil
}

func (o *Operation) apply(s *engine.Store) (Result, error) {
	var positions []engine.PutResult
	var err error
	if o.Kind == "put" {
		positions = make([]engine.PutResult, 1)
		positions[0], err = s.Put(o.Messages[0].Encode())
	} else {
		batch := make([]message.Message, len(o.Messages))
		for i := range batch {
			batch[i] = *o.Messages[i].Encode()
		}
		positions, err = s.PutBatch(batch)
	}
	if err != nil {
		return Result{}, err
	}
	result := Result{
		Kind: "put", Number: o.Number, Status: "PUT_OK", Messages: len(positions),
		Offset: positions[0].PhysicalOffset, QueueOffset: positions[0].QueueOffset,
	}
	for _, p := range positions {
		result.Bytes += int(p.Size)
	}
	return result, nil
}
