package pace

import (
	"runtime"
	"syscall"
	"time"
)

// nap sleeps in the kernel, whose timers are some ten times finer than those of
// the Go runtime. An interruption by a signal only shortens the nap: callers
// look at the clock again.
//
// It goes through the scheduler first. The Go runtime takes a goroutine that
// comes back from system calls for 10 ms without passing the scheduler for a
// blocked one, and its monitor thread then wakes every 20 µs for a while. Naps of
// 1 ms did that all the time: a goroutine that spun beside them saw 4,200 to
// 10,100 gaps of 5 µs and more per second, and 1,400 to 2,300 since, not more than
// without naps (2-core virtual machine with other load).
func nap(d time.Duration) {
	runtime.Gosched()
	spec := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&spec, nil) // EINTR: see above
}
