package mmap

// Prefetch asks the processor to fetch the cache lines of b, to be read soon. It
// is a hint that reads nothing: it never faults, whatever became of the pages, it
// waits for nothing, and it is no access in the sense of the memory model.
// Elsewhere than on amd64 it does nothing.
//
//go:noescape
func Prefetch(b []byte)

// PrefetchWrite is Prefetch for lines that are to be written. It pays where memory
// is written once, in order, and every write ends in an ordered store, which has
// to wait until the lines before it have arrived.
//
//go:noescape
func PrefetchWrite(b []byte)
