package scenario

import (
	"context"
	"fmt"
	"strings"

	"commitlab/bench/measure"
)

// baselineMap is what lookup is held against: a Go map from key to place, and
// the same copy of the record.
type baselineMap struct {
	keyLookup
	places map[string]int64 // key: offset of the record
}

func newBaselineMap(spec Spec) (measure.Instance, error) {
	return &baselineMap{keyLookup: keyLookup{lookup: lookup{filled: filled{spec: spec}}, ask: askUniform}}, nil
}

// Setup fills the store and the map.
func (b *baselineMap) Setup(ctx context.Context) error {
	if err := b.lookup.Setup(ctx); err != nil {
		return err
	}
	b.places = make(map[string]int64, len(b.put))
	for i := range b.put {
		b.places[b.put[i].key] = b.put[i].offset
	}
	return nil
}

// Prepare chooses the next key.
func (b *baselineMap) Prepare(w *measure.Worker) {
	b.keyLookup.Prepare(w)
	q := &b.readers[w.ID].asked
	q.key = strings.Clone(q.key) // as a caller would have it: not the map's own bytes
}

// Op looks the key up and copies its record.
func (b *baselineMap) Op(w *measure.Worker) error {
	r := b.readers[w.ID]
	offset, ok := b.places[r.asked.key]
	if !ok || offset != r.asked.offset {
		return fmt.Errorf("%w: key %s", errAnswer, r.asked.key)
	}
	view, err := b.store.At(offset)
	if err != nil {
		return err
	}
	copy(r.copy, view.Bytes())
	view.Release()
	return nil
}
