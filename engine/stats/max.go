package stats

import "sync/atomic"

// A Max keeps the largest value it was shown. The zero value holds 0. Safe for
// concurrent use.
type Max struct{ v atomic.Int64 }

// Raise lifts the maximum to n if n is larger.
func (m *Max) Raise(n int64) {
	for {
		old := m.v.Load()
		if n <= old || m.v.CompareAndSwap(old, n) {
			return
		}
	}
}

// Load returns the maximum so far.
func (m *Max) Load() int64 { return m.v.Load() }
