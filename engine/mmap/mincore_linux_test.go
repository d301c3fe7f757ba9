package mmap

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// mincore asks which pages of mem are in the page cache.
func mincore(mem, resident []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mem[0])), uintptr(len(mem)), uintptr(unsafe.Pointer(&resident[0])))
	if errno != 0 {
		return errno
	}
	return nil
}
