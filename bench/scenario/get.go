package scenario

import (
	"context"
	"fmt"

	"commitlab/bench/measure"
	"commitlab/engine"
)

// getter reads neighbouring messages of a queue from a random place on.
type getter struct {
	filled
	results []*engine.GetResult
	counts  map[queue]int64 // messages in each queue
	queues  []queue
}

type queue struct {
	topic string
	id    int32
}

// getMessages is how many messages one get asks for.
const getMessages = 32

func newGetter(spec Spec) (measure.Instance, error) { return &getter{filled: filled{spec: spec}}, nil }

// Setup fills the store.
func (g *getter) Setup(ctx context.Context) error {
	if err := g.fill(ctx); err != nil {
		return err
	}
	g.counts = make(map[queue]int64)
	for i := range g.put {
		q := queue{g.put[i].topic, g.put[i].queue}
		if g.counts[q] == 0 {
			g.queues = append(g.queues, q)
		}
		g.counts[q]++
	}
	for range g.spec.Writers {
		g.results = append(g.results, &engine.GetResult{})
	}
	return nil
}

// Op reads messages from a random offset of a random queue.
func (g *getter) Op(w *measure.Worker) error {
	q := g.queues[w.Rand.IntN(len(g.queues))]
	from := w.Rand.Int64N(g.counts[q])
	r := g.results[w.ID]
	if err := g.store.GetInto(r, q.topic, q.id, from, getMessages, nil); err != nil {
		return err
	}
	defer r.Release()
	if r.Status != engine.Found || r.Messages[0].QueueOffset != from {
		return fmt.Errorf("%w: get %s/%d at %d: %v", errAnswer, q.topic, q.id, from, r.Status)
	}
	return nil
}

// Verify compares a sample of the messages, read by queue, with what the
// generator made.
func (g *getter) Verify(context.Context) error {
	check := g.data.Generator(0)
	var r engine.GetResult
	for i := 0; i < len(g.put); i += max(len(g.put)/sampleSize, 1) {
		m := &g.put[i]
		if err := g.store.GetInto(&r, m.topic, m.queue, m.queueOffset, 1, nil); err != nil {
			return err
		}
		err := fmt.Errorf("%w: message %d: %v", errAnswer, i, r.Status)
		if r.Status == engine.Found {
			v := &r.Messages[0]
			err = check.Check(uint64(i), v.Topic, v.QueueID, v.Body)
		}
		r.Release()
		if err != nil {
			return err
		}
	}
	return nil
}
