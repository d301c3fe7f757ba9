package mmap

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

func fdatasync(fd int) error { return unix.Fdatasync(fd) }

func adviceNumber(a Advice) (int, error) {
	numbers := [...]int{
		Normal: unix.MADV_NORMAL, Sequential: unix.MADV_SEQUENTIAL, Random: unix.MADV_RANDOM,
		WillNeed: unix.MADV_WILLNEED, DontNeed: unix.MADV_DONTNEED, HugePage: unix.MADV_HUGEPAGE,
		SmallPage: unix.MADV_NOHUGEPAGE,
		Cold:      unix.MADV_COLD, PageOut: unix.MADV_PAGEOUT,
	}
	if a < 0 || int(a) >= len(numbers) {
		return 0, unix.EINVAL
	}
	return numbers[a], nil
}

func populate(mem []byte, m PopulateMode) error {
	if m == PopulateWrite {
		return unix.Madvise(mem, unix.MADV_POPULATE_WRITE)
	}
	return unix.Madvise(mem, unix.MADV_POPULATE_READ)
}

func mlockOnFault(mem []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_MLOCK2, uintptr(unsafe.Pointer(unsafe.SliceData(mem))), uintptr(len(mem)), unix.MLOCK_ONFAULT)
	if errno != 0 {
		return errno
	}
	return nil
}

func cachestat(fd int, off, n int64) (CacheStat, error) {
	var counts unix.Cachestat_t
	err := unix.Cachestat(uint(fd), &unix.CachestatRange{Off: uint64(off), Len: uint64(n)}, &counts, 0)
	if err != nil {
		return CacheStat{}, err
	}
	return CacheStat{
		CachedPages:          int64(counts.Cache),
		DirtyPages:           int64(counts.Dirty),
		WritebackPages:       int64(counts.Writeback),
		EvictedPages:         int64(counts.Evicted),
		RecentlyEvictedPages: int64(counts.Recently_evicted),
	}, nil
}
