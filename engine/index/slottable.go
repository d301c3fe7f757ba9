package index

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"commitlab/engine/mmap"
)

// tablePageBytes is how a slot table is divided.
const tablePageBytes = 4096

// A slotTable is what the slots of a file are to be, made in memory from the
// items. A table of the default layout has 20 MB, of which the keys of a short log
// use little: what neither the items use nor the file ever stored is not touched.
// It lies outside of the heap, in large pages where the system has them: its slots are
// used in no order.
type slotTable struct {
	memory mmap.Region
	b      []byte // as in the file, from slot 0 on; all zeros at first
	used   []bool // by page of b: a slot in it has an item
}

// newSlotTable makes a table, which is to be released.
func newSlotTable(l Layout) (*slotTable, error) {
	n := SlotBytes * l.Slots
	memory, err := mmap.Anonymous(int64(n))
	if err != nil {
		return nil, fmt.Errorf("index: table of slots: %w", err)
	}
	_ = memory.Advise(0, int64(n), mmap.HugePage) // without it only slower
	return &slotTable{memory: memory, b: memory.Bytes(), used: make([]bool, (n+tablePageBytes-1)/tablePageBytes)}, nil
}

// release gives the memory back. The table must not be used any more.
func (t *slotTable) release() error { return t.memory.Unmap() }

// exchange makes n the newest item of a slot and returns which one was before, 0
// for none.
func (t *slotTable) exchange(slot int, n int32) (before int32) {
	b := t.b[SlotBytes*slot:]
	before = int32(binary.BigEndian.Uint32(b))
	binary.BigEndian.PutUint32(b, uint32(n))
	t.used[SlotBytes*slot/tablePageBytes] = true
	return before
}

// storeTo makes the slots of f those of the table and reports whether any was
// another.
func (t *slotTable) storeTo(f *File) (changed bool, err error) {
	stored, err := f.seg.Stored(HeaderBytes, HeaderBytes+int64(len(t.b)))
	if err != nil {
		return false, err
	}
	for page, used := range t.used {
		from := page * tablePageBytes
		to := min(from+tablePageBytes, len(t.b))
		for len(stored) > 0 && stored[0].To <= HeaderBytes+int64(from) {
			stored = stored[1:]
		}
		if !used && (len(stored) == 0 || stored[0].From >= HeaderBytes+int64(to)) {
			continue
		}
		if bytes.Equal(f.b[HeaderBytes+from:HeaderBytes+to], t.b[from:to]) {
			continue
		}
		changed = true
		for at := from; at < to; at += SlotBytes {
			slot, want := at/SlotBytes, binary.BigEndian.Uint32(t.b[at:])
			if f.layout.Slot(f.b, slot) != int32(want) {
				mmap.StoreUint32BE(f.b, f.layout.slotAt(slot), want)
			}
		}
	}
	return changed, nil
}

// prefetch asks for the cache line of a slot.
func (t *slotTable) prefetch(slot int) {
	mmap.PrefetchWrite(t.b[SlotBytes*slot : SlotBytes*slot+SlotBytes])
}

// writeTo writes the slots to a new file, without those pages that no item uses.
func (t *slotTable) writeTo(f *File) error {
	for page := 0; page < len(t.used); page++ {
		if !t.used[page] {
			continue
		}
		first := page
		for page < len(t.used) && t.used[page] {
			page++
		}
		from, to := first*tablePageBytes, min(page*tablePageBytes, len(t.b))
		if err := f.seg.Write(t.b[from:to], HeaderBytes+int64(from)); err != nil {
			return err
		}
	}
	return nil
}
