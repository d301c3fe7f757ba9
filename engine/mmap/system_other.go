//go:build !linux

package mmap

import (
	"errors"

	"golang.org/x/sys/unix"
)

func fdatasync(fd int) error { return unix.Fsync(fd) }

func adviceNumber(a Advice) (int, error) {
	switch a {
	case Normal:
		return unix.MADV_NORMAL, nil
	case Sequential:
		return unix.MADV_SEQUENTIAL, nil
	case Random:
		return unix.MADV_RANDOM, nil
	case WillNeed:
		return unix.MADV_WILLNEED, nil
	case DontNeed:
		return unix.MADV_DONTNEED, nil
	}
	return 0, errors.ErrUnsupported
}

func populate([]byte, PopulateMode) error { return errors.ErrUnsupported }

func mlockOnFault([]byte) error { return errors.ErrUnsupported }

func cachestat(int, int64, int64) (CacheStat, error) { return CacheStat{}, errors.ErrUnsupported }
