package index

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Sizes of the parts of a file in bytes, and the original's sizes of a file.
const (
	HeaderBytes = 40
	SlotBytes   = 4
	ItemBytes   = 20

	DefaultSlots = 5_000_000
	DefaultItems = 20_000_000
)

// Places in the header.
const (
	beginTimeAt     = 0
	endTimeAt       = 8
	beginPhysicalAt = 16
	endPhysicalAt   = 24
	usedSlotsAt     = 32
	countAt         = 36
)

// Places in an item.
const (
	hashAt     = 0
	physicalAt = 4
	secondsAt  = 12
	previousAt = 16
)

// A Layout is the geometry of a file. The file itself does not tell it.
type Layout struct {
	Slots int
	Items int // with item 0, which is never used
}

// Check reports why files of this layout cannot exist. The limit is the
// original's: positions in a file are 32-bit.
func (l Layout) Check() error {
	if l.Slots < 1 || l.Items < 2 {
		return fmt.Errorf("index: %d slots and %d items: need at least 1 and 2", l.Slots, l.Items)
	}
	if l.Slots > math.MaxInt32 || l.Items > math.MaxInt32 || l.FileBytes() > math.MaxInt32 {
		return fmt.Errorf("index: %d slots and %d items make a file of more than %d bytes", l.Slots, l.Items, math.MaxInt32)
	}
	return nil
}

// FileBytes is the size of a file.
func (l Layout) FileBytes() int64 {
	return HeaderBytes + SlotBytes*int64(l.Slots) + ItemBytes*int64(l.Items)
}

// Capacity is the number of items that a full file has.
func (l Layout) Capacity() int { return l.Items - 1 }

// SlotOf is the slot of a key hash.
func (l Layout) SlotOf(hash int32) int { return int(uint32(hash) % uint32(l.Slots)) }

func (l Layout) slotAt(slot int) int { return HeaderBytes + SlotBytes*slot }
func (l Layout) itemAt(n int) int    { return HeaderBytes + SlotBytes*l.Slots + ItemBytes*n }

// Slot is the number of the newest item in a slot of the file b, as stored.
func (l Layout) Slot(b []byte, slot int) int32 {
	return int32(binary.BigEndian.Uint32(b[l.slotAt(slot):]))
}

// Item is item n of the file b, as stored.
func (l Layout) Item(b []byte, n int) Item { return decodeItem(b[l.itemAt(n):]) }

// A Header is the first part of a file.
type Header struct {
	BeginMs       int64 // store time of the first item, epoch milliseconds
	EndMs         int64 // store time of the last item
	BeginPhysical int64 // physical offset of the first item
	EndPhysical   int64 // physical offset of the last item
	UsedSlots     int32 // releases before 4.8 count every item here
	Count         int32 // number of the next item; 0 and 1: no items
}

// DecodeHeader reads the header of the file b.
func DecodeHeader(b []byte) Header {
	_ = b[HeaderBytes-1]
	return Header{
		BeginMs:       int64(binary.BigEndian.Uint64(b[beginTimeAt:])),
		EndMs:         int64(binary.BigEndian.Uint64(b[endTimeAt:])),
		BeginPhysical: int64(binary.BigEndian.Uint64(b[beginPhysicalAt:])),
		EndPhysical:   int64(binary.BigEndian.Uint64(b[endPhysicalAt:])),
		UsedSlots:     int32(binary.BigEndian.Uint32(b[usedSlotsAt:])),
		Count:         int32(binary.BigEndian.Uint32(b[countAt:])),
	}
}

func encodeHeader(b []byte, h Header) {
	_ = b[HeaderBytes-1]
	binary.BigEndian.PutUint64(b[beginTimeAt:], uint64(h.BeginMs))
	binary.BigEndian.PutUint64(b[endTimeAt:], uint64(h.EndMs))
	binary.BigEndian.PutUint64(b[beginPhysicalAt:], uint64(h.BeginPhysical))
	binary.BigEndian.PutUint64(b[endPhysicalAt:], uint64(h.EndPhysical))
	binary.BigEndian.PutUint32(b[usedSlotsAt:], uint32(h.UsedSlots))
	binary.BigEndian.PutUint32(b[countAt:], uint32(h.Count))
}

// An Item is one key of one record.
type Item struct {
	Hash     int32 // message.KeyHash, not negative
	Physical int64 // offset of the record in the commit log
	Seconds  int32 // whole seconds from the header's begin to the store time, at least 0
	Previous int32 // next older item of the slot, 0 at the end
}

func decodeItem(b []byte) Item {
	_ = b[ItemBytes-1]
	return Item{
		Hash:     int32(binary.BigEndian.Uint32(b[hashAt:])),
		Physical: int64(binary.BigEndian.Uint64(b[physicalAt:])),
		Seconds:  int32(binary.BigEndian.Uint32(b[secondsAt:])),
		Previous: int32(binary.BigEndian.Uint32(b[previousAt:])),
	}
}

func encodeItem(b []byte, it Item) {
	_ = b[ItemBytes-1]
	binary.BigEndian.PutUint32(b[hashAt:], uint32(it.Hash))
	binary.BigEndian.PutUint64(b[physicalAt:], uint64(it.Physical))
	binary.BigEndian.PutUint32(b[secondsAt:], uint32(it.Seconds))
	binary.BigEndian.PutUint32(b[previousAt:], uint32(it.Previous))
}

// secondsBetween is the time of an item as it is stored: whole seconds since
// begin, held within [0, 2³¹).
func secondsBetween(beginMs, storeMs int64) int32 {
	if beginMs <= 0 || storeMs <= beginMs {
		return 0
	}
	return int32(min((storeMs-beginMs)/1000, math.MaxInt32))
}
