//go:build !amd64

package mmap

// PrefetchWrite does nothing on this architecture.
func PrefetchWrite([]byte) {}
