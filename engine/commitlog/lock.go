package commitlog

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// appendLock orders appends: a mutex, or a spin lock that yields. It is one
// struct and not an interface so that the uncontended mutex stays inlined.
type appendLock struct {
	spin bool // immutable
	mu   sync.Mutex
	word atomic.Bool // held, when spin
}

// spinTries is how often a spinning appender looks before it yields.
const spinTries = 64

func (l *appendLock) lock() {
	if !l.spin {
		l.mu.Lock()
		return
	}
	for tries := 0; !l.word.CompareAndSwap(false, true); tries++ {
		if tries%spinTries == spinTries-1 {
			runtime.Gosched()
		}
	}
}

func (l *appendLock) unlock() {
	if !l.spin {
		l.mu.Unlock()
		return
	}
	l.word.Store(false)
}

func (l *appendLock) tryLock() bool {
	if !l.spin {
		return l.mu.TryLock()
	}
	return l.word.CompareAndSwap(false, true)
}
