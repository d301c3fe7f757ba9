package index

import (
	"errors"
	"fmt"
	"testing"

	"commitlab/engine/segment"
)

// A slot that leads to an item it has none of is cleared, wherever it lies and
// whether or not the file has other slots near it.
func TestRepairClearsSlotsWithoutItems(t *testing.T) {
	const slots = 10_000 // ten pages
	l := Layout{Slots: slots, Items: 100}
	for _, used := range [][]int32{{5}, {5, 2000, 9999}, {1023, 1024}} {
		for _, stale := range []int{0, 6, 1022, 1025, 4095, 7000, 9998} {
			b := newRealBed(t)
			s := b.open(l)
			for i, slot := range used {
				if err := s.Put(slot, int64(i), 1000); err != nil {
					t.Fatal(err)
				}
			}
			name := s.Files()[0].Name()
			closeSet(t, s)
			b.patch(name, l.slotAt(stale), word(1))
			s = b.openUnclean(l, 0)
			for i, slot := range used[:s.Files()[0].Len()] {
				if got := search(t, s, slot, 0, forever); len(got) != 1 || got[0] != int64(i) {
					t.Errorf("slots %v, stale %d: slot %d leads to %v", used, stale, slot, got)
				}
			}
			if got := l.Slot(s.Files()[0].b, stale); got != 0 {
				t.Errorf("slots %v: slot %d still leads to item %d", used, stale, got)
			}
			closeSet(t, s)
		}
	}
}

// B-44: after a kill all slots of the newest file were read, though a short log uses
// few, and reading them made pages for each.
func TestB44_RepairLeavesSlotsAloneThatWereNeverUsed(t *testing.T) {
	b := newRealBed(t)
	l := Layout{Slots: DefaultSlots, Items: 1000}
	o := b.options(l)
	o.Files.Advise = segment.AdviseRandom // else the system makes pages around each that is used
	s := b.openWith(o)
	for i := range 100 {
		add(t, s, int64(i), 1000, fmt.Sprint("key", i))
	}
	f := s.Files()[0]
	before, err := f.seg.CacheStat()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	abandon(s)
	o.Unclean = true
	again, openErr := Open(b.dir, o)
	if err := errors.Join(err, openErr); err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	after, err := f.seg.CacheStat()
	if made := after.CachedPages - before.CachedPages; err != nil || made > 500 {
		t.Errorf("repair made %d pages, %v", made, err)
	}
	f.close()
	if found := find(t, again, "key7", 0, forever); len(found) != 1 || found[0] != 7 {
		t.Errorf("the key leads to %v", found)
	}
}
