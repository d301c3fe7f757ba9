package scenario

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"commitlab/bench/workload"
	"commitlab/engine"
)

// tails are readers at the end of every queue of a workload, one goroutine
// each: they wait for the next message and get what has come.
type tails struct {
	store   *engine.Store
	gets    aside
	cancel  context.CancelFunc
	readers sync.WaitGroup
	read    atomic.Int64 // messages got by all readers
	failure atomic.Pointer[error]
}

// followTails starts the readers. Each begins at the first message of its queue.
func followTails(s *engine.Store, w workload.Spec) *tails {
	ctx, cancel := context.WithCancel(context.Background())
	t := &tails{store: s, gets: aside{op: opTailGet}, cancel: cancel}
	for _, topic := range w.TopicNames() {
		for id := range int32(w.Queues) {
			t.readers.Go(func() {
				if err := t.follow(ctx, topic, id); err != nil && ctx.Err() == nil {
					err = fmt.Errorf("tail reader: %w", err)
					t.failure.CompareAndSwap(nil, &err)
				}
			})
		}
	}
	return t
}

// follow reads one queue until the context ends. What is timed is a get that
// finds something; the wait before it is not.
func (t *tails) follow(ctx context.Context, topic string, id int32) error {
	var r engine.GetResult
	for next := int64(0); ; next = r.NextBegin {
		if err := t.store.Wait(ctx, topic, id, next); err != nil {
			return err
		}
		start := time.Now()
		if err := t.store.GetInto(&r, topic, id, next, getMessages, nil); err != nil {
			return err
		}
		took := time.Since(start)
		n := int64(len(r.Messages))
		gapless := n > 0 && r.NextBegin == next+n
		for i := range r.Messages {
			gapless = gapless && r.Messages[i].QueueOffset == next+int64(i)
		}
		r.Release()
		if !gapless {
			return fmt.Errorf("%w: get %s/%d at %d: %v, %d messages, next %d", errAnswer, topic, id, next, r.Status, n, r.NextBegin)
		}
		t.gets.add(took)
		t.read.Add(n)
	}
}

// failed is why a reader ended before it was told to; nil if none did.
func (t *tails) failed() error {
	if err := t.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// await returns when the readers have got so many messages.
func (t *tails) await(ctx context.Context, messages int64) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if err := t.failed(); err != nil {
			return err
		}
		read := t.read.Load()
		if read >= messages {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("tail readers have %d of %d messages: %w", read, messages, ctx.Err())
		case <-tick.C:
		}
	}
}

// stop ends all readers.
func (t *tails) stop() {
	t.cancel()
	t.readers.Wait()
}
