package host

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Slice is how long the calling thread runs on before one that waits gets its
// processor, if nothing wakes up that is more urgent; 0 if the system does not tell.
func Slice() time.Duration {
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil || attr.Policy != unix.SCHED_NORMAL {
		return 0
	}
	return time.Duration(attr.Runtime)
}

// SetSlice sets the slice of all threads of this process, and of those they will make;
// 0 gives them the system's again. It needs no privilege. Linux knows slices of a thread
// since 6.12; before, and without it, the error is errors.ErrUnsupported.
func SetSlice(d time.Duration) error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("slices of threads: %w", err)
	}
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			return fmt.Errorf("slices of threads: %w", err)
		}
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Runtime: uint64(d)}
		if err := unix.SchedSetAttr(id, &attr, 0); err != nil && !errors.Is(err, unix.ESRCH) { // it has ended
			return fmt.Errorf("slice of thread %d: %w", id, err)
		}
	}
	if got := Slice(); d > 0 && got != d {
		return fmt.Errorf("slice of %v: %w: the system says %v", d, errors.ErrUnsupported, got)
	}
	return nil
}
