package mmap

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func (r *region) Lock(off, n int64, onFault bool) error {
	op := "lock"
	if onFault {
		op = "lock on fault"
	}
	return r.withRange(op, off, n, func(mem []byte) error {
		call := unix.Mlock
		if onFault {
			call = mlockOnFault
		}
		if err := retry(func() error { return call(mem) }); err != nil {
			return fmt.Errorf("%w (RLIMIT_MEMLOCK %s)", err, memlockLimit())
		}
		return nil
	})
}

func (r *region) Unlock(off, n int64) error {
	return r.withRange("unlock", off, n, func(mem []byte) error {
		return retry(func() error { return unix.Munlock(mem) })
	})
}

// memlockLimit is the soft limit of locked memory in bytes, for messages.
func memlockLimit() string {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit); err != nil {
		return "unknown: " + err.Error()
	}
	if limit.Cur == unix.RLIM_INFINITY {
		return "unlimited"
	}
	return fmt.Sprintf("%d bytes", limit.Cur)
}
