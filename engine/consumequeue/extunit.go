package consumequeue

import (
	"encoding/binary"
	"math"
)

// Layout of a unit in an extension file; all integers are big-endian and signed.
//
//	offset  width  field
//	     0      2  unit size         20 + n
//	     2      8  tags code         the hash, which the queue has no room for
//	    10      8  store timestamp   epoch ms
//	    18      2  filter length     n
//	    20      n  filter            bitmap
//
// Where the next unit does not fit with 4 bytes to spare, a unit size of -1 sends
// the reader to the next file.
const (
	atExtSize         = 0
	atExtTagsCode     = atExtSize + 2
	atExtStoreTime    = atExtTagsCode + 8
	atExtFilterLength = atExtStoreTime + 8
	extHeadBytes      = atExtFilterLength + 2

	maxExtUnitBytes = math.MaxInt16
	extSpareBytes   = 4
	extEndMarker    = -1

	// MaxFilterBytes is the size of the largest filter.
	MaxFilterBytes = maxExtUnitBytes - extHeadBytes
)

// Addresses of extension units lie below every hash of 32 bits and every time, so
// that a tags code tells what it is.
const (
	maxExtAddress = math.MinInt32 - 1
	maxExtOffset  = maxExtAddress - math.MinInt64
)

// IsExtAddress reports whether a tags code is the address of an extension unit.
func IsExtAddress(tagsCode int64) bool { return tagsCode <= maxExtAddress }

// extOffset is the byte of the extension that an address stands for, extAddress
// the reverse.
func extOffset(address int64) int64 { return address - math.MinInt64 }
func extAddress(offset int64) int64 { return offset + math.MinInt64 }

// An ExtUnit is what a queue keeps of a message beside its unit.
type ExtUnit struct {
	TagsCode         int64 // the real one
	StoreTimestampMs int64 // epoch ms
	Filter           []byte
}

func (u *ExtUnit) size() int64 { return extHeadBytes + int64(len(u.Filter)) }

// encode writes u to the first u.size() bytes of dst.
func (u *ExtUnit) encode(dst []byte) {
	binary.BigEndian.PutUint16(dst[atExtSize:], uint16(u.size()))
	binary.BigEndian.PutUint64(dst[atExtTagsCode:], uint64(u.TagsCode))
	binary.BigEndian.PutUint64(dst[atExtStoreTime:], uint64(u.StoreTimestampMs))
	binary.BigEndian.PutUint16(dst[atExtFilterLength:], uint16(len(u.Filter)))
	copy(dst[extHeadBytes:], u.Filter)
}

// extSizeAt returns the size of the unit at the start of b; false if there is
// none. The file of b ends left bytes behind its start, b may end before.
func extSizeAt(b []byte, left int64) (size int64, ok bool) {
	if len(b) < extHeadBytes {
		return 0, false
	}
	size = int64(int16(binary.BigEndian.Uint16(b[atExtSize:])))
	filter := int64(int16(binary.BigEndian.Uint16(b[atExtFilterLength:])))
	return size, filter >= 0 && size == extHeadBytes+filter && size <= int64(len(b)) && size <= left-extSpareBytes
}

// decodeExt reads the unit in b, with the filter appended to buf.
func decodeExt(b, buf []byte) ExtUnit {
	return ExtUnit{
		TagsCode:         int64(binary.BigEndian.Uint64(b[atExtTagsCode:])),
		StoreTimestampMs: int64(binary.BigEndian.Uint64(b[atExtStoreTime:])),
		Filter:           append(buf, b[extHeadBytes:]...),
	}
}
