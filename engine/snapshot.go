package engine

import (
	"commitlab/engine/commitlog"
	"commitlab/engine/index"
)

// A Snapshot is the state of a store at one moment, for reports.
type Snapshot struct {
	CommitLog commitlog.Snapshot `json:"commitLog"`
	// DispatchedOffset is the log offset below which messages are found by queue
	// and key, Dispatched the number of records dispatched since Open, and
	// DispatchAssists the number of puts that helped.
	DispatchedOffset int64             `json:"dispatchedOffset"`
	Dispatched       int64             `json:"dispatched"`
	DispatchAssists  int64             `json:"dispatchAssists"`
	Index            *index.Snapshot   `json:"index,omitempty"`
	Retention        RetentionSnapshot `json:"retention"`
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
		snap.DispatchAssists = s.dispatch.assists.Load()
	}
	if s.index != nil {
		i := s.index.Snapshot()
		snap.Index = &i
	}
	snap.Retention = s.retentionSnapshot()
	snap.CommitLog = s.log.Snapshot()
	return snap
}

// Sub returns the snapshot with the counters of an earlier one taken off.
// Offsets, numbers of files and maxima stay as they are.
func (s Snapshot) Sub(earlier Snapshot) Snapshot {
	s.CommitLog = s.CommitLog.Sub(earlier.CommitLog)
	s.Dispatched -= earlier.Dispatched
	s.DispatchAssists -= earlier.DispatchAssists
	s.Retention.ForcedFiles -= earlier.Retention.ForcedFiles
	s.Retention.FreedBytes -= earlier.Retention.FreedBytes
	s.Retention.RecycledFiles -= earlier.Retention.RecycledFiles
	return s
}

// A RetentionSnapshot is the state of what deletes files. Files of the commit log
// that were deleted are counted in its own snapshot.
type RetentionSnapshot struct {
	ForcedFiles   int64 `json:"forcedFiles"`   // deleted though not expired, because the disk was full
	RecycledFiles int64 `json:"recycledFiles"` // deleted files that became the log's next
	FreedBytes    int64 `json:"freedBytes"`    // of the disk, given back by files of all kinds
	HeldFiles     int64 `json:"heldFiles"`     // deleted, but held by readers, at the last pass
	ReaperBacklog int   `json:"reaperBacklog"` // deleted files that wait to be taken down
	SpareFiles    int   `json:"spareFiles"`    // deleted files that wait to be used again
	DiskPercent   int   `json:"diskPercent"`   // in use on the fullest disk, at the last look; 0 unknown
	// Refusing is why puts are refused, empty while they are accepted.
	Refusing string `json:"refusing,omitempty"`
}

func (s *Store) retentionSnapshot() RetentionSnapshot {
	r := RetentionSnapshot{
		ForcedFiles: s.cleaner.forced.Load(), HeldFiles: s.cleaner.held.Load(), DiskPercent: int(s.disk.percent.Load()),
		FreedBytes: s.reaper.FreedBytes(), ReaperBacklog: s.reaper.Backlog(),
	}
	if s.spares != nil {
		r.RecycledFiles, r.SpareFiles = s.spares.Used(), s.spares.Waiting()
	}
	if err := s.disk.check(); err != nil {
		r.Refusing = err.Error()
	}
	return r
}
