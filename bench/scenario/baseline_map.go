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
	lookup
	places map[string]int // key: index in put
}

func newBaselineMap(spec Spec) (measure.Instance, error) {
	return &baselineMap{lookup: lookup{filled: filled{spec: spec}}}, nil
}

// Setup fills the store and the map.
func (b *baselineMap) Setup(ctx context.Context) error {
	if err := b.lookup.Setup(ctx); err != nil {
		return err
	}
	b.places = make(map[string]int, len(b.put))
	for i := range b.put {
		b.places[b.put[i].key] = i
	}
	return nil
}

// Op looks one key up and copies its record.
func (b *baselineMap) Op(w *measure.Worker) error {
	want := w.Rand.IntN(len(b.put))
	key := strings.Clone(b.put[want].key) // as a caller would have it: not the map's own bytes
	i, ok := b.places[key]
	if !ok || i != want {
		return fmt.Errorf("%w: key %s", errAnswer, key)
	}
	view, err := b.store.At(b.put[i].offset)
	if err != nil {
		return err
	}
	copy(b.readers[w.ID].copy, view.Bytes())
	view.Release()
	return nil
}
