package scenario

import (
	"sync/atomic"
	"time"
)

// milestones are the last of the log offsets that dispatch has passed, with the times.
// One at a time adds, any may look.
type milestones struct {
	count atomic.Int64 // added so far
	ring  [1 << 13]struct{ offset, at atomic.Int64 }
}

func (m *milestones) add(offset int64, at time.Duration) {
	n := m.count.Load()
	s := &m.ring[n%int64(len(m.ring))]
	s.offset.Store(offset)
	s.at.Store(int64(at))
	m.count.Store(n + 1)
}

// when returns the time at which dispatch had passed a log offset; ok is false if it
// has not. Who asks keeps seen from one question to the next, and asks for no smaller
// offset then. Of a milestone that is no longer known the next one stands for it.
func (m *milestones) when(offset int64, seen *int64) (at time.Duration, ok bool) {
	for *seen < m.count.Load() {
		s := &m.ring[*seen%int64(len(m.ring))]
		passed, at := s.offset.Load(), s.at.Load()
		if oldest := m.count.Load() + 1 - int64(len(m.ring)); *seen < oldest { // perhaps just written over
			*seen = oldest
			continue
		}
		if passed >= offset {
			return time.Duration(at), true
		}
		*seen++
	}
	return 0, false
}
