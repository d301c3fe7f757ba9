package scenario

import (
	"runtime"
	"sync"
)

// groupWriter makes many concurrent records durable with few syncs. The first
// writer that finds no group open leads a new one: it waits for the sync
// before it to end, while others join, then writes all records of the group
// with one call and syncs once. All return together.
//
//	writers   A ──join──┐              C ─join─┐
//	          B ──join──┤              A ─join─┤
//	group 1   lead ─────┴─ write+sync ─┐       │
//	group 2                  lead ─────┴ wait ─┴─ write+sync ─
//
// write is called by one leader at a time, in the order of the groups.
type groupWriter struct {
	write func(records []byte) error

	mu   sync.Mutex
	open *group   // guarded by mu; nil when no group takes members
	free []*group // guarded by mu; buffers to use again

	turn chan struct{} // holds a token while a leader writes
}

func newGroupWriter(write func(records []byte) error) *groupWriter {
	return &groupWriter{write: write, turn: make(chan struct{}, 1)}
}

// group is the records that one sync makes durable.
type group struct {
	records []byte
	members int           // that have not returned yet
	done    chan struct{} // closed after err is set
	err     error
}

// append returns when the record is durable.
func (w *groupWriter) append(record []byte) error {
	w.mu.Lock()
	g, leads := w.open, w.open == nil
	if leads {
		g = w.newGroup()
		w.open = g
	}
	g.records = append(g.records, record...)
	g.members++
	w.mu.Unlock()

	if leads {
		w.lead(g)
	} else {
		<-g.done
	}
	err := g.err
	w.leave(g)
	return err
}

func (w *groupWriter) lead(g *group) {
	w.turn <- struct{}{}
	// Those that the sync before has just released are about to come back. Let
	// them run first, or every second group has one member only.
	runtime.Gosched()
	w.mu.Lock()
	w.open = nil
	w.mu.Unlock()
	g.err = w.write(g.records)
	<-w.turn
	close(g.done)
}

// newGroup is called with mu held.
func (w *groupWriter) newGroup() *group {
	if n := len(w.free); n > 0 {
		g := w.free[n-1]
		w.free = w.free[:n-1]
		g.records, g.done, g.err = g.records[:0], make(chan struct{}), nil
		return g
	}
	return &group{done: make(chan struct{})}
}

func (w *groupWriter) leave(g *group) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if g.members--; g.members == 0 {
		w.free = append(w.free, g)
	}
}
