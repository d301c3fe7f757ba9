//go:build !amd64

package mmap

// Prefetch does nothing on this architecture.
func Prefetch([]byte) {}

// PrefetchWrite does nothing on this architecture.
func PrefetchWrite([]byte) {}
