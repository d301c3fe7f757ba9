package mmaptest

import (
	"fmt"
	"slices"
)

// Op names a kind of call in the trace.
type Op string

// The calls of a Heap and, from sync to unmap, of a Region.
const (
	OpAllocate  Op = "allocate"
	OpZeroFill  Op = "zerofill"
	OpSyncFile  Op = "syncfile"
	OpSyncDir   Op = "syncdir"
	OpPunchHole Op = "punchhole"
	OpTruncate  Op = "truncate"
	OpRename    Op = "rename"
	OpRemove    Op = "remove"
	OpMap       Op = "map"
	OpSync      Op = "sync"
	OpSyncData  Op = "syncdata"
	OpWrite     Op = "write"
	OpRead      Op = "read"
	OpAdvise    Op = "advise"
	OpPopulate  Op = "populate"
	OpLock      Op = "lock"
	OpUnlock    Op = "unlock"
	OpCacheStat Op = "cachestat"
	OpReplace   Op = "replace"
	OpUnmap     Op = "unmap"
)

// Event is one call, in the order in which the Heap saw it. Calls with bad arguments
// are not in the trace, calls that were made to fail are.
type Event struct {
	Op   Op
	Path string // of the file or directory, as the caller named it
	Off  int64  // range in bytes, where the call has one
	N    int64
}

func (e Event) String() string {
	switch e.Op {
	case OpSyncFile, OpSyncDir, OpRemove, OpRename:
		return fmt.Sprintf("%s %s", e.Op, e.Path)
	}
	return fmt.Sprintf("%s %s [%d,%d)", e.Op, e.Path, e.Off, e.Off+e.N)
}

// Trace returns a copy of the events so far.
func (h *Heap) Trace() []Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.trace)
}

// Record puts an event into the trace that the Heap cannot see by itself, such as the
// creation of a file or the moment when a Put returned.
func (h *Heap) Record(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.trace = append(h.trace, e)
}

// failure is an error to be injected.
type failure struct {
	err  error
	left int // calls still to fail
}

// Fail makes the next times calls of op return err and do nothing else. It replaces
// an earlier order for the same op; times 0 only takes that back.
func (h *Heap) Fail(op Op, err error, times int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures[op] = &failure{err: err, left: times}
}

// FailSync makes the next times calls of Sync and SyncData together return err; none
// of their bytes becomes durable.
func (h *Heap) FailSync(err error, times int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	both := &failure{err: err, left: times}
	h.failures[OpSync], h.failures[OpSyncData] = both, both
}

// FailMap makes the next times calls of Map return err.
func (h *Heap) FailMap(err error, times int) { h.Fail(OpMap, err, times) }

// happened records the event and returns the error ordered for it, if any; mu is held.
func (h *Heap) happened(e Event) error {
	h.trace = append(h.trace, e)
	if f := h.failures[e.Op]; f != nil && f.left > 0 {
		f.left--
		return f.err
	}
	return nil
}
