package pace

import (
	"syscall"
	"time"
)

// nap sleeps in the kernel, whose timers are some ten times finer than those of
// the Go runtime. An interruption by a signal only shortens the nap: callers
// look at the clock again.
func nap(d time.Duration) {
	spec := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&spec, nil) // EINTR: see above
}
