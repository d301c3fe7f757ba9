package index

import "fmt"

// A bulk is the part of a new file that is kept in memory while the index is built
// from the log and nobody searches it. The slots of the keys lie anywhere, and a
// first store to each page of a mapping costs the system more than all the rest of a
// put, twice: so slots are put together in memory and written at once, and items some
// thousand at a time. The header comes last. A process that is killed before leaves a file
// without items, which the next Load sets aside.
type bulk struct {
	slots *slotTable
	items []byte // the last ones, not in the file yet; never grows
}

// bulkItemBytes is how many bytes of items are written at a time.
const bulkItemBytes = 10_000 * ItemBytes

func newBulk(l Layout) (*bulk, error) {
	slots, err := newSlotTable(l)
	if err != nil {
		return nil, err
	}
	return &bulk{slots: slots, items: make([]byte, 0, bulkItemBytes)}, nil
}

// release gives the memory back. Without a bulk there is none.
func (b *bulk) release() error {
	if b == nil {
		return nil
	}
	return b.slots.release()
}

// BeginBuild keeps what is put into new files in memory until EndBuild, for recovery:
// no search may run meanwhile. The writer calls both.
func (s *Set) BeginBuild() { s.building = true }

// EndBuild puts into the files what BeginBuild kept back. It must be called before
// anything is searched; after an error the index is to be built again.
func (s *Set) EndBuild() error {
	s.building = false
	for _, f := range s.Files() {
		if err := f.finish(); err != nil {
			return err
		}
	}
	return nil
}

// collect is put for a file with a bulk.
func (f *File) collect(hash int32, physical, storeMs int64) error {
	if len(f.bulk.items) == cap(f.bulk.items) {
		if err := f.writeItems(); err != nil {
			return err
		}
	}
	n := f.count.Load()
	it := Item{Hash: hash, Physical: physical, Previous: f.bulk.slots.exchange(f.layout.SlotOf(hash), n)}
	if n == 1 {
		f.beginMs.Store(storeMs)
		f.beginPhysical.Store(physical)
	} else {
		it.Seconds = secondsBetween(f.beginMs.Load(), storeMs)
		if storeMs < f.endMs.Load() {
			f.ordered.Store(false)
		}
	}
	at := len(f.bulk.items)
	f.bulk.items = f.bulk.items[:at+ItemBytes]
	encodeItem(f.bulk.items[at:], it)
	if it.Previous == 0 {
		f.used.Store(f.used.Load() + 1)
	}
	f.endPhysical.Store(physical)
	f.endMs.Store(storeMs)
	f.count.Store(n + 1)
	if int(n)+1 == f.layout.Items {
		f.full.Store(true)
		return f.finish() // after an error EndBuild tries again
	}
	return nil
}

// writeItems writes the items that are only in memory.
func (f *File) writeItems() error {
	if f.bulk == nil || len(f.bulk.items) == 0 {
		return nil
	}
	first := int(f.count.Load()) - len(f.bulk.items)/ItemBytes
	if err := f.seg.Write(f.bulk.items, int64(f.layout.itemAt(first))); err != nil {
		return fmt.Errorf("index: write items: %w", err)
	}
	f.bulk.items = f.bulk.items[:0]
	return nil
}

// finish writes all that is only in memory. Without a bulk there is nothing to do.
func (f *File) finish() error {
	if f.bulk == nil {
		return nil
	}
	if err := f.writeItems(); err != nil {
		return err
	}
	if err := f.bulk.slots.writeTo(f); err != nil {
		return fmt.Errorf("index: write slots: %w", err)
	}
	head := make([]byte, HeaderBytes)
	encodeHeader(head, f.Header())
	if err := f.seg.Write(head, 0); err != nil {
		return fmt.Errorf("index: write header: %w", err)
	}
	return f.dropBulk()
}

// dropBulk gives up what is only in memory.
func (f *File) dropBulk() error {
	kept := f.bulk
	f.bulk = nil
	return kept.release()
}
