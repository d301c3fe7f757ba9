package mmap

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"
)

// LoadUint32BE reads the big-endian word at b[off] as one ordered access: whatever
// was stored before the StoreUint32BE that it observes is visible after it. The
// address must be a multiple of 4, which a multiple of 4 as off in Bytes is; else,
// and if the word does not lie in b, it panics.
func LoadUint32BE(b []byte, off int) uint32 {
	return swap32(atomic.LoadUint32(word32(b, off)))
}

// StoreUint32BE publishes v at b[off]; see LoadUint32BE.
func StoreUint32BE(b []byte, off int, v uint32) {
	atomic.StoreUint32(word32(b, off), swap32(v))
}

// LoadUint64BE is LoadUint32BE for a word of 8 bytes at a multiple of 8.
func LoadUint64BE(b []byte, off int) uint64 {
	return swap64(atomic.LoadUint64(word64(b, off)))
}

// StoreUint64BE is StoreUint32BE for a word of 8 bytes at a multiple of 8.
func StoreUint64BE(b []byte, off int, v uint64) {
	atomic.StoreUint64(word64(b, off), swap64(v))
}

func word32(b []byte, off int) *uint32 {
	p := unsafe.Pointer(unsafe.SliceData(b[off : off+4]))
	if uintptr(p)%4 != 0 {
		panic(fmt.Sprintf("mmap: word of 4 bytes at unaligned offset %d", off))
	}
	return (*uint32)(p)
}

func word64(b []byte, off int) *uint64 {
	p := unsafe.Pointer(unsafe.SliceData(b[off : off+8]))
	if uintptr(p)%8 != 0 {
		panic(fmt.Sprintf("mmap: word of 8 bytes at unaligned offset %d", off))
	}
	return (*uint64)(p)
}

// swap32 turns the machine's byte order into big-endian and back.
func swap32(v uint32) uint32 {
	var w [4]byte
	binary.BigEndian.PutUint32(w[:], v)
	return binary.NativeEndian.Uint32(w[:])
}

func swap64(v uint64) uint64 {
	var w [8]byte
	binary.BigEndian.PutUint64(w[:], v)
	return binary.NativeEndian.Uint64(w[:])
}
