package segment

import "sync/atomic"

// A lifetime counts the references to a file and runs its cleanup exactly
// once, when the file has been shut down and the last reference is gone.
//
//	state = references<<1 | closed
//
// The owner holds the first reference and gives it up in shutdown.
type lifetime struct {
	state   atomic.Int64
	cleanup func() // set before first use; called once
}

const (
	closedBit    = 1
	oneReference = 2
)

func (l *lifetime) init(cleanup func()) {
	l.cleanup = cleanup
	l.state.Store(oneReference)
}

// hold takes a reference; false means that the file is shut down.
func (l *lifetime) hold() bool {
	for {
		s := l.state.Load()
		if s&closedBit != 0 {
			return false
		}
		if l.state.CompareAndSwap(s, s+oneReference) {
			return true
		}
	}
}

// release gives a reference back. One release too many is a broken invariant.
func (l *lifetime) release() {
	switch s := l.state.Add(-oneReference); {
	case s == closedBit:
		l.cleanup()
	case s < closedBit:
		panic("segment: reference released more often than held")
	}
}

// shutdown refuses new references and gives up the owner's. It reports whether
// this call was the first.
func (l *lifetime) shutdown() bool {
	for {
		s := l.state.Load()
		if s&closedBit != 0 {
			return false
		}
		if l.state.CompareAndSwap(s, (s|closedBit)-oneReference) {
			if s == oneReference {
				l.cleanup()
			}
			return true
		}
	}
}

// available reports whether hold would succeed.
func (l *lifetime) available() bool { return l.state.Load()&closedBit == 0 }

// references is the number of references now held, the owner's included.
func (l *lifetime) references() int64 { return l.state.Load() >> 1 }
