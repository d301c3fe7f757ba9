package mmap

// PrefetchWrite asks the processor to fetch the cache lines of b, to be written
// soon. It is a hint that reads nothing: it never faults, whatever became of the
// pages, it waits for nothing, and it is no access in the sense of the memory
// model. Elsewhere than on amd64 it does nothing.
//
// It pays where memory is written once, in order, and every write ends in an
// ordered store, which has to wait until the lines before it have arrived.
//
//go:noescape
func PrefetchWrite(b []byte)
