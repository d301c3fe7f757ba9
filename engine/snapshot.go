package engine

import "commitlab/engine/commitlog"

// A Snapshot is the state of a store at one moment, for reports.
type Snapshot struct {
	CommitLog commitlog.Snapshot `json:"commitLog"`
	// SystemCalls tells how the optional system calls went: "ok", or the first
	// failure with its errno. A call that is not listed was not tried.
	SystemCalls map[string]string `json:"systemCalls"`
	// SystemCallFailures counts failures, for the calls that failed.
	SystemCallFailures map[string]int64 `json:"systemCallFailures,omitempty"`
}

// Snapshot returns the state now.
func (s *Store) Snapshot() Snapshot {
	return Snapshot{
		CommitLog:          s.log.Snapshot(),
		SystemCalls:        s.optional.Outcomes(),
		SystemCallFailures: s.optional.Failures(),
	}
}

// Sub returns the snapshot with the counters of an earlier one taken off.
// Offsets, numbers of files and maxima stay as they are.
func (s Snapshot) Sub(earlier Snapshot) Snapshot {
	s.CommitLog = s.CommitLog.Sub(earlier.CommitLog)
	return s
}
