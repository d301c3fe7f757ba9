package index

import (
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"sync/atomic"

	"commitlab/engine/mmap"
	"commitlab/engine/segment"
)

// A File is one index file of a Set. What readers need of the header is kept in
// memory, so that they touch no page of a file that cannot have an answer.
type File struct {
	layout Layout        // immutable
	seg    *segment.File // immutable
	own    segment.View  // the whole file; held until the file leaves the set
	b      []byte        // own.Bytes(), for the writer and recovery only
	bulk   *bulk         // of the writer; nil unless the index is being built

	// Written by the writer and recovery only.
	count         atomic.Int32 // number of the next item, at least 1; stored before a slot leads to the item
	beginMs       atomic.Int64 // 0 if unknown
	endMs         atomic.Int64
	beginPhysical atomic.Int64
	endPhysical   atomic.Int64
	used          atomic.Int32
	// ordered: all store times are known not to fall, so that begin and end bound
	// them. Only what this process wrote is known.
	ordered atomic.Bool
	// full: no more stores come; set after the last one.
	full atomic.Bool

	durable atomic.Bool // synced since it became full, or found durable by Open
	damaged atomic.Bool // a bad link was met and reported
}

// newFile takes over a mapped segment whose header is h.
func newFile(layout Layout, seg *segment.File, h Header) (*File, error) {
	own, err := seg.View(0, layout.FileBytes())
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	f := &File{layout: layout, seg: seg, own: own, b: own.Bytes()}
	f.adopt(h)
	return f, nil
}

// adopt takes the header's values over into memory.
func (f *File) adopt(h Header) {
	count := max(h.Count, 1)
	f.beginMs.Store(h.BeginMs)
	f.endMs.Store(h.EndMs)
	f.beginPhysical.Store(h.BeginPhysical)
	f.endPhysical.Store(h.EndPhysical)
	f.used.Store(h.UsedSlots)
	f.ordered.Store(count == 1)
	f.full.Store(int(count) >= f.layout.Items)
	f.count.Store(count)
}

// Header is the header now. Fields may be of different moments while the file
// is written to.
func (f *File) Header() Header {
	return Header{
		BeginMs: f.beginMs.Load(), EndMs: f.endMs.Load(),
		BeginPhysical: f.beginPhysical.Load(), EndPhysical: f.endPhysical.Load(),
		UsedSlots: f.used.Load(), Count: f.count.Load(),
	}
}

// Path is the name the file was opened under.
func (f *File) Path() string { return f.seg.Path() }

// Name is the last part of Path: the time of creation.
func (f *File) Name() string { return filepath.Base(f.seg.Path()) }

// Len is the number of items.
func (f *File) Len() int { return int(f.count.Load()) - 1 }

// put adds an item; the file is not full. If a store faults, the item does not
// count, or no slot leads to it: putting it again is right in either case.
func (f *File) put(hash int32, physical, storeMs int64) (err error) {
	if f.bulk != nil {
		return f.collect(hash, physical, storeMs)
	}
	defer mmap.Recover(&err, mmap.GuardFaults())
	n := f.count.Load()
	slot := f.layout.slotAt(f.layout.SlotOf(hash))
	previous := int32(mmap.LoadUint32BE(f.b, slot))
	if previous < 0 || previous >= n {
		previous = 0
	}
	it := Item{Hash: hash, Physical: physical, Previous: previous}
	if n == 1 {
		f.beginMs.Store(storeMs)
		f.beginPhysical.Store(physical)
		binary.BigEndian.PutUint64(f.b[beginTimeAt:], uint64(storeMs))
		binary.BigEndian.PutUint64(f.b[beginPhysicalAt:], uint64(physical))
	} else {
		// Note: the original takes the first item's seconds from the end of the
		// previous file, which makes its time too late (see File.times).
		it.Seconds = secondsBetween(f.beginMs.Load(), storeMs)
		if storeMs < f.endMs.Load() && f.ordered.Load() {
			f.ordered.Store(false)
		}
	}
	encodeItem(f.b[f.layout.itemAt(int(n)):], it)

	f.count.Store(n + 1)
	mmap.StoreUint32BE(f.b, countAt, uint32(n+1))
	mmap.StoreUint32BE(f.b, slot, uint32(n))

	if previous == 0 {
		used := f.used.Load() + 1
		f.used.Store(used)
		binary.BigEndian.PutUint32(f.b[usedSlotsAt:], uint32(used))
	}
	if f.endPhysical.Load() != physical || n == 1 {
		f.endPhysical.Store(physical)
		binary.BigEndian.PutUint64(f.b[endPhysicalAt:], uint64(physical))
	}
	if f.endMs.Load() != storeMs || n == 1 {
		f.endMs.Store(storeMs)
		binary.BigEndian.PutUint64(f.b[endTimeAt:], uint64(storeMs))
	}
	if int(n)+1 == f.layout.Items {
		f.full.Store(true)
	}
	return nil
}

// prefetch asks for the cache line of a hash's slot.
func (f *File) prefetch(hash int32) {
	if f.bulk != nil {
		f.bulk.slots.prefetch(f.layout.SlotOf(hash))
		return
	}
	slot := f.layout.slotAt(f.layout.SlotOf(hash))
	mmap.PrefetchWrite(f.b[slot : slot+SlotBytes])
}

// misses reports that no item of the file can lie in [beginMs, endMs].
func (f *File) misses(beginMs, endMs int64) bool {
	return f.ordered.Load() && (endMs < f.beginMs.Load() || beginMs > f.endMs.Load())
}

// times is the range in which the store time of item n lies, as far as the item
// tells. A clock that was set back before begin leaves 0 seconds; a file that ends
// before it begins, by such a clock or by damage, tells nothing. The original
// stores a first item with the seconds since the end of the previous file,
// although it lies at begin.
func (f *File) times(n, seconds int32) (earliest, latest int64) {
	begin := f.beginMs.Load()
	if begin <= 0 || seconds < 0 || f.endMs.Load() < begin {
		return math.MinInt64, math.MaxInt64
	}
	earliest = begin + int64(seconds)*1000
	latest = earliest + 999
	switch {
	case n == 1:
		earliest = begin
	case seconds == 0 && !f.ordered.Load():
		earliest = math.MinInt64
	case seconds == math.MaxInt32:
		latest = math.MaxInt64
	}
	return earliest, latest
}

// close gives the file up and keeps it on disk. Cursors in it stay valid.
func (f *File) close() {
	_ = f.dropBulk() // of a set that could not be built: nobody is to read the file
	f.own.Release()
	f.b = nil
	f.seg.Shutdown()
}

// hashesAt returns the hashes of the last items, as far as they are of the
// record at physical, newest first.
func (f *File) hashesAt(physical int64) (hashes []int32, err error) {
	if err := f.writeItems(); err != nil {
		return nil, err
	}
	held, err := f.seg.View(0, f.layout.FileBytes())
	if err != nil {
		return nil, nil // taken down meanwhile: it has only older records
	}
	defer held.Release()
	defer mmap.Recover(&err, mmap.GuardFaults())
	for n := f.Len(); n > 0; n-- {
		it := f.layout.Item(held.Bytes(), n)
		if it.Physical != physical {
			break
		}
		hashes = append(hashes, it.Hash)
	}
	return hashes, nil
}
