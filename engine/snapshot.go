package engine

import (
	"commitlab/engine/commitlog"
	"commitlab/engine/index"
)

// A Snapshot is the state of a store at one moment, for reports.
type Snapshot struct {
	CommitLog commitlog.Snapshot `json:"commitLog"`
	// DispatchedOffset is the log offset below which messages are found by queue
	// and key, Dispatched the number of records dispatched since Open.
	DispatchedOffset int64           `json:"dispatchedOffset"`
	Dispatched       int64           `json:"dispatched"`
	Index            *index.Snapshot `json:"index,omitempty"`
	// Recovery is what Open did; it does not change any more.
	Recovery Recovery `json:"recovery"`
	// SystemCalls tells how the optional system calls went: "ok", or the first
	// failure with its errno. A call that is not listed was not tried.
	SystemCalls map[string]string `json:"systemCalls"`
	// SystemCallFailures counts failures, for the calls that failed.
	SystemCallFailures map[string]int64 `json:"systemCallFailures,omitempty"`
}

// Dispatched is the log offset below which messages are found by queue and key;
// 0 with dispatch off. It costs one load.
func (s *Store) Dispatched() int64 {
	if s.dispatch == nil {
		return 0
	}
	return s.dispatch.at.Load()
}

// Snapshot returns the state now.
func (s *Store) Snapshot() Snapshot {
	snap := Snapshot{Recovery: s.recovery, SystemCalls: s.optional.Outcomes(), SystemCallFailures: s.optional.Failures()}
	if s.dispatch != nil { // before the log: it follows
		snap.DispatchedOffset, snap.Dispatched = s.dispatch.at.Load(), s.dispatch.messages.Load()
	}
	if s.index != nil {
		i := s.index.Snapshot()
		snap.Index = &i
	}
	snap.CommitLog = s.log.Snapshot()
	return snap
}

// Sub returns the snapshot with the counters of an earlier one taken off.
// Offsets, numbers of files and maxima stay as they are.
func (s Snapshot) Sub(earlier Snapshot) Snapshot {
	s.CommitLog = s.CommitLog.Sub(earlier.CommitLog)
	s.Dispatched -= earlier.Dispatched
	return s
}
