package scenario

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"commitlab/bench/measure"
	"commitlab/engine"
	"commitlab/engine/message"
)

// mixer is everything at once: messages are put and dispatched, each queue has
// a reader at its end, and every so many puts a worker looks an earlier message
// of its own up by key.
//
//	worker         put ─────► log ─► queues ─► tail reader of each queue
//	               lookup ◄───────── index
//
// One operation is a put, what was observed of the tail readers since the last
// one, and now and then a lookup.
type mixer struct {
	*appender
	lookers []*looker // by worker
	tails   *tails
}

// looker is the lookup side of one worker.
type looker struct {
	puts  uint64
	known sample[known]
	found []engine.View
	copy  []byte
}

// known is a message that may be asked for once it is dispatched.
type known struct {
	question
	end int64 // log offset behind it
}

// lookupEvery is how many puts of a worker come to one lookup.
const lookupEvery = 16

func newMixer(spec Spec) (measure.Instance, error) {
	spec.Workload.UniqueKeys = true
	a, err := newAppender(spec)
	if err != nil {
		return nil, err
	}
	return &mixer{appender: a}, nil
}

// Setup opens the store with one message in it, starts the tail readers and
// waits until the message is found in both ways.
func (m *mixer) Setup(ctx context.Context) error {
	if err := m.appender.Setup(ctx); err != nil {
		return err
	}
	err := awaitDispatch(ctx, m.store)
	if err == nil {
		m.tails = followTails(m.store, m.spec.Workload)
		err = m.tails.await(ctx, 1)
	}
	if err != nil {
		return errors.Join(err, m.Close())
	}
	writer := m.writers[0]
	first := writer.written.kept[0]
	for range m.writers {
		l := &looker{known: newSample[known](), copy: make([]byte, m.spec.Workload.Body.Max()+recordRoomBytes)}
		l.remember(writer.generator.At(first.sequence), first.physicalOffset, first.physicalOffset)
		m.lookers = append(m.lookers, l)
	}
	return nil
}

// Op puts the worker's next message.
func (m *mixer) Op(w *measure.Worker) error {
	writer, l := m.writers[w.ID], m.lookers[w.ID]
	m.tails.gets.observe(w)
	if err := m.tails.failed(); err != nil {
		return err
	}
	sequence := writer.generator.Sequence()
	start := w.Now()
	r, err := m.put(writer)
	if err != nil {
		return err
	}
	w.Observe(opAppend, w.Now()-start)
	w.Note(noteOffset, r.PhysicalOffset)
	if l.puts++; l.puts%lookupEvery != 1 {
		return nil
	}
	l.remember(writer.generator.At(sequence), r.PhysicalOffset, r.End())
	return l.lookUp(w, m.store)
}

// remember offers a message to those that are asked for.
func (l *looker) remember(m *message.Message, offset, end int64) {
	key, _ := m.Properties.Get(message.PropertyUniqueKey)
	l.known.offer(known{question{topic: m.Topic, key: string(key), offset: offset}, end})
}

// lookUp asks for one of the messages that are dispatched; the first one is.
func (l *looker) lookUp(w *measure.Worker, s *engine.Store) error {
	k := &l.known.kept[w.Rand.IntN(len(l.known.kept))]
	if k.end > s.Dispatched() {
		k = &l.known.kept[0]
	}
	key := strings.Clone(k.key) // as a caller would have it
	start := w.Now()
	found, err := s.AppendQuery(l.found[:0], k.topic, key, 1, 0, math.MaxInt64)
	if err != nil {
		return err
	}
	l.found = found
	offset := int64(-1)
	for i := range found {
		copy(l.copy, found[i].Bytes())
		offset = found[i].PhysicalOffset
		found[i].Release()
	}
	w.Observe(opLookup, w.Now()-start)
	if offset != k.offset {
		return fmt.Errorf("%w: key %s led to offset %d, want %d", errAnswer, k.key, offset, k.offset)
	}
	return nil
}

// tailPatience is how long Verify waits for readers that have all they need.
const tailPatience = 10 * time.Second

// Verify demands that each tail reader has got every message of its queue, and
// compares a sample of the log.
func (m *mixer) Verify(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tailPatience)
	defer cancel()
	err := awaitDispatch(ctx, m.store)
	if err == nil {
		err = m.tails.await(ctx, m.store.Snapshot().CommitLog.Appends)
	}
	return errors.Join(err, m.appender.Verify(ctx))
}

// Close ends the tail readers and closes the store.
func (m *mixer) Close() error {
	if m.tails != nil {
		m.tails.stop()
	}
	return m.appender.Close()
}
