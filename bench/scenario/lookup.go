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
// records, compared with their key by the store.
//
// Concurrency: the store and the messages are shared and only read; the rest
// belongs to one worker.
type lookup struct {
	filled
	readers []*lookupReader
}

// A question is a key and the record it must lead to.
type question struct {
	topic, key string
	offset     int64 // of the record; -1 if there is none
}

// lookupReader is the state of one worker.
type lookupReader struct {
	asked question
	hand  byte // see take
	found []engine.View
	copy  []byte
	zipf  *rand.Zipf // ranks of hot keys
}

// take is the question in the worker's hand. Whoever asks a store has just got the
// key from somewhere, so its bytes are read here, and the store does not wait for
// the memory of the generator.
func (r *lookupReader) take(q question) {
	for i := range len(q.key) {
		r.hand ^= q.key[i]
	}
	for i := range len(q.topic) {
		r.hand ^= q.topic[i]
	}
	r.asked = q
}

// keyLookup is a lookup of what the ask function chooses. The choice is not
// measured: it goes to a random place in a list of all messages.
type keyLookup struct {
	lookup
	ask func(l *lookup, r *lookupReader, w *measure.Worker) question
}

func newLookup(ask func(*lookup, *lookupReader, *measure.Worker) question) func(Spec) (measure.Instance, error) {
	return func(spec Spec) (measure.Instance, error) {
		if spec.MaxBytes <= 0 {
			return nil, fmt.Errorf("maxBytes is %d, want a positive number of bytes", spec.MaxBytes)
		}
		return &keyLookup{lookup: lookup{filled: filled{spec: spec}}, ask: ask}, nil
	}
}

// Prepare chooses the next question.
func (k *keyLookup) Prepare(w *measure.Worker) {
	r := k.readers[w.ID]
	r.take(k.ask(&k.lookup, r, w))
}

// Op asks the question and copies the answer.
func (k *keyLookup) Op(w *measure.Worker) error {
	r := k.readers[w.ID]
	return k.answer(r, r.asked)
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
