package host

import (
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
