package scenario

import "commitlab/engine"

// A Holder is an instance whose records readers can hold on to, for pressure.
type Holder interface {
	// HoldOldest returns a record of the oldest file, which is the next to be
	// destroyed. The caller releases it. It may be called from any goroutine
	// between Setup and Close.
	HoldOldest() (engine.View, error)
}

// HoldOldest implements Holder.
func (a *appender) HoldOldest() (engine.View, error) { return holdOldest(a.store) }

// HoldOldest implements Holder.
func (f *filled) HoldOldest() (engine.View, error) { return holdOldest(f.store) }

func holdOldest(s *engine.Store) (engine.View, error) {
	return s.At(s.Snapshot().CommitLog.MinOffset)
}
