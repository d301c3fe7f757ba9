package scenario

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"commitlab/bench/measure"
	"commitlab/engine"
)

// lookup finds messages by key and copies what it found: the answers are whole
// records, compared with their key by the store. What is asked for is the ask
// function's choice.
//
// Concurrency: the store and the messages are shared and only read; the rest
// belongs to one worker.
type lookup struct {
	filled
	ask     func(l *lookup, r *lookupReader, w *measure.Worker) question
	readers []*lookupReader
}

// A question is a key and the record it must lead to.
type question struct {
	topic, key string
	offset     int64 // of the record; -1 if there is none
}

// lookupReader is the state of one worker.
type lookupReader struct {
	found []engine.View
	copy  []byte
	zipf  *rand.Zipf // ranks of hot keys
}

func newLookup(ask func(*lookup, *lookupReader, *measure.Worker) question) func(Spec) (measure.Instance, error) {
	return func(spec Spec) (measure.Instance, error) {
		if spec.MaxBytes <= 0 {
			return nil, fmt.Errorf("maxBytes is %d, want a positive number of bytes", spec.MaxBytes)
		}
		return &lookup{filled: filled{spec: spec}, ask: ask}, nil
	}
}

// Setup fills the store.
func (l *lookup) Setup(ctx context.Context) error {
	if err := l.fill(ctx); err != nil {
		return err
	}
	for range l.spec.Writers {
		l.readers = append(l.readers, &lookupReader{copy: make([]byte, l.data.Spec().Body.Max()+recordRoomBytes)})
	}
	return nil
}

// recordRoomBytes is how much larger than its body a record of a workload may
// be.
const recordRoomBytes = 4 << 10

// errAnswer is what Op reports when the store answers something else.
var errAnswer = errors.New("wrong answer")

// Op asks one question and copies the answer.
func (l *lookup) Op(w *measure.Worker) error {
	r := l.readers[w.ID]
	return l.answer(r, l.ask(l, r, w))
}

// answer asks the store, copies the answer and judges it.
func (l *lookup) answer(r *lookupReader, q question) error {
	found, err := l.store.AppendQuery(r.found[:0], q.topic, q.key, 1, 0, math.MaxInt64)
	if err != nil {
		return err
	}
	r.found = found
	offset := int64(-1)
	for i := range found {
		copy(r.copy, found[i].Bytes())
		offset = found[i].PhysicalOffset
		found[i].Release()
	}
	if offset != q.offset {
		return fmt.Errorf("%w: key %s led to offset %d, want %d", errAnswer, q.key, offset, q.offset)
	}
	return nil
}

// askUniform asks for a message that is there, each as likely as another.
func askUniform(l *lookup, _ *lookupReader, w *measure.Worker) question {
	return l.question(w.Rand.IntN(len(l.put)))
}

// hotSkew is the exponent of the Zipf distribution of hot keys.
const hotSkew = 1.2

// askHot asks for messages that are there, a few of them most of the time.
func askHot(l *lookup, r *lookupReader, w *measure.Worker) question {
	if r.zipf == nil {
		r.zipf = rand.NewZipf(w.Rand, hotSkew, 1, uint64(len(l.put)-1))
	}
	return l.question(int(r.zipf.Uint64()))
}

// askMiss asks for a key as long as the others that nobody put.
func askMiss(l *lookup, r *lookupReader, w *measure.Worker) question {
	q := l.question(w.Rand.IntN(len(l.put)))
	q.key, q.offset = "-"+q.key[1:], -1
	return q
}

func (l *lookup) question(i int) question {
	m := &l.put[i]
	return question{topic: m.topic, key: m.key, offset: m.offset}
}
