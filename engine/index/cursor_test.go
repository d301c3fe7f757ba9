package index

import (
	"slices"
	"testing"

	"commitlab/engine/message"
)

// Goal: the reach of a candidate is how far the next record with a key begins behind
// it. Method: records 100, 250 and 1000 bytes apart, with one to five keys, in two
// files of eleven items.
func TestReachIsTheDistanceToTheNextRecord(t *testing.T) {
	s := newBed(t).open(Layout{Slots: 3, Items: 12})
	add(t, s, 0, 1000, "k", "a")
	add(t, s, 100, 1000, "k")
	add(t, s, 350, 1000, "k", "b", "c", "d", "e")  // as many behind k as are looked at
	add(t, s, 1350, 1000, "b", "c", "d", "e", "k") // the first file ends with d
	add(t, s, 2350, 1000, "k")
	for key, want := range map[string][][2]int64{
		"k": {{2350, 0}, {1350, 1000}, {350, 0}, {100, 250}, {0, 100}},
		"d": {{1350, 0}, {350, 1000}},
	} {
		c := s.Search(message.KeyHash("T", key), 0, forever)
		var got [][2]int64
		for c.Next() {
			got = append(got, [2]int64{c.Physical(), c.Reach()})
		}
		if err := c.Err(); err != nil {
			t.Fatal(err)
		}
		c.Release()
		if !slices.Equal(got, want) {
			t.Errorf("candidates of %s with their reach %v, want %v", key, got, want)
		}
	}
}
