package consumequeue

import (
	"encoding/binary"
	"math"
)

// Positions in a unit.
const (
	atPhysicalOffset = 0
	atSize           = atPhysicalOffset + 8
	atTagsCode       = atSize + 4

	// UnitBytes is the size of a unit. The size of a queue file is a multiple.
	UnitBytes = atTagsCode + 8
)

// A Unit is one entry of a queue.
type Unit struct {
	PhysicalOffset int64 // of the record, in the commit log
	Size           int32 // of the record, in bytes
	TagsCode       int64 // or due time, or address in the extension file
}

// prefill stands at the offsets below the first message of a queue.
var prefill = Unit{Size: math.MaxInt32}

// End is the log offset behind the record.
func (u Unit) End() int64 { return u.PhysicalOffset + int64(u.Size) }

// Valid reports whether u can stand in a queue: as the entry of a message or as
// a pre-fill unit. Zero bytes are no valid unit.
func (u Unit) Valid() bool {
	return u.PhysicalOffset >= 0 && u.Size > 0 && u.PhysicalOffset <= math.MaxInt64-int64(u.Size)
}

// IsPrefill reports whether u only fills its place and points at no message.
func (u Unit) IsPrefill() bool { return u == prefill }

// EncodeUnit writes u to the first UnitBytes bytes of dst.
func EncodeUnit(dst []byte, u Unit) {
	_ = dst[UnitBytes-1]
	binary.BigEndian.PutUint64(dst[atPhysicalOffset:], uint64(u.PhysicalOffset))
	binary.BigEndian.PutUint32(dst[atSize:], uint32(u.Size))
	binary.BigEndian.PutUint64(dst[atTagsCode:], uint64(u.TagsCode))
}

// DecodeUnit reads the unit in the first UnitBytes bytes of b, whatever they are.
func DecodeUnit(b []byte) Unit {
	_ = b[UnitBytes-1]
	return Unit{
		PhysicalOffset: int64(binary.BigEndian.Uint64(b[atPhysicalOffset:])),
		Size:           int32(binary.BigEndian.Uint32(b[atSize:])),
		TagsCode:       int64(binary.BigEndian.Uint64(b[atTagsCode:])),
	}
}
