//go:build !linux

package mmap

// PhysicalMemory is the memory of the machine in bytes, 0 if the system does
// not say.
func PhysicalMemory() int64 { return 0 }
