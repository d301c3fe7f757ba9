package mmap

import "golang.org/x/sys/unix"

// PhysicalMemory is the memory of the machine in bytes, 0 if the system does
// not say. Limits of a container are not considered.
func PhysicalMemory() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}
