package commitlog

import "runtime"

// A Snapshot is the state of a log at one moment, for reports. Counters count
// from Open; fields ending in Ns are nanoseconds.
type Snapshot struct {
	MinOffset       int64 `json:"minOffset"`
	AppendedOffset  int64 `json:"appendedOffset"`
	CommittedOffset int64 `json:"committedOffset"`
	FlushedOffset   int64 `json:"flushedOffset"`
	Files           int   `json:"files"`
	// Prepared reports that no file is being made: the next one is ready, or
	// is made only when it is needed.
	Prepared bool `json:"prepared"`

	Appends       int64 `json:"appends"`
	AppendBytes   int64 `json:"appendBytes"`
	Rolls         int64 `json:"rolls"`
	RollWaits     int64 `json:"rollWaits"` // rolls that waited 10 µs or more for their file
	RollWaitNs    int64 `json:"rollWaitNs"`
	RollWaitMaxNs int64 `json:"rollWaitMaxNs"`

	CommitBytes    int64 `json:"commitBytes"`
	BufferWaits    int64 `json:"bufferWaits"` // appends that waited for a transient buffer
	Syncs          int64 `json:"syncs"`
	SyncBytes      int64 `json:"syncBytes"`
	SyncNs         int64 `json:"syncNs"`
	SyncMaxNs      int64 `json:"syncMaxNs"`
	SyncGroups     int64 `json:"syncGroups"`
	GroupedAppends int64 `json:"groupedAppends"`

	RetiredFiles int64 `json:"retiredFiles"` // taken out of the log
	RetiredBytes int64 `json:"retiredBytes"`

	FailedReads int64 `json:"failedReads"` // of records whose bytes the disk did not give

	PopulatedBytes int64 `json:"populatedBytes"`
	OvertakenBytes int64 `json:"overtakenBytes"` // written before the window had populated them
}

// countsTries is how often a snapshot tries for the append lock.
const countsTries = 200

// countsNow returns the append counts; those of the last snapshot if an append
// holds the lock for long, since a report must not wait for it.
func (l *Log) countsNow() appendCounts {
	for range countsTries {
		if l.lock.tryLock() {
			c := l.counts
			l.lock.unlock()
			l.lastCounts.Store(&c)
			return c
		}
		runtime.Gosched()
	}
	if c := l.lastCounts.Load(); c != nil {
		return *c
	}
	return appendCounts{}
}

// Snapshot returns the state now. It does not block: while one append takes
// long, the append counters are those of the snapshot before.
func (l *Log) Snapshot() Snapshot {
	c := l.countsNow()
	s := Snapshot{
		MinOffset: l.Min(), FlushedOffset: l.Flushed(), CommittedOffset: l.Committed(), AppendedOffset: l.Appended(),
		Files: len(l.queue.Files()), Prepared: l.prealloc.Idle(),
		Appends: c.appends, AppendBytes: c.bytes,
		Rolls: c.rolls, RollWaits: c.rollWaits, RollWaitNs: c.rollWaitNs, RollWaitMaxNs: c.rollWaitMax,
		CommitBytes: l.syncs.commitBytes.Load(),
		Syncs:       l.syncs.syncs.Load(), SyncBytes: l.syncs.syncBytes.Load(), SyncNs: l.syncs.syncNs.Load(), SyncMaxNs: l.syncs.syncMax.Load(),
		SyncGroups: l.syncs.groups.Load(), GroupedAppends: l.syncs.grouped.Load(),
		RetiredFiles: l.retired.files.Load(), RetiredBytes: l.retired.bytes.Load(),
		FailedReads: l.failedReads.Load(),
	}
	if l.pool != nil {
		s.BufferWaits = l.pool.Waits()
	}
	if l.window != nil {
		s.PopulatedBytes, s.OvertakenBytes = l.window.Populated(), l.window.Overtaken()
	}
	return s
}

// CheckWatermarks returns an error if the watermarks are out of order.
func (s Snapshot) CheckWatermarks() error {
	return checkOrder(
		watermark{"min", s.MinOffset}, watermark{"flushed", s.FlushedOffset},
		watermark{"committed", s.CommittedOffset}, watermark{"appended", s.AppendedOffset})
}

// Sub returns s with the counters of an earlier snapshot taken off. Offsets,
// the number of files and maxima stay as they are.
func (s Snapshot) Sub(earlier Snapshot) Snapshot {
	for _, c := range []struct{ now, then *int64 }{
		{&s.Appends, &earlier.Appends}, {&s.AppendBytes, &earlier.AppendBytes},
		{&s.Rolls, &earlier.Rolls}, {&s.RollWaits, &earlier.RollWaits}, {&s.RollWaitNs, &earlier.RollWaitNs},
		{&s.CommitBytes, &earlier.CommitBytes}, {&s.BufferWaits, &earlier.BufferWaits},
		{&s.Syncs, &earlier.Syncs}, {&s.SyncBytes, &earlier.SyncBytes}, {&s.SyncNs, &earlier.SyncNs},
		{&s.SyncGroups, &earlier.SyncGroups}, {&s.GroupedAppends, &earlier.GroupedAppends},
		{&s.RetiredFiles, &earlier.RetiredFiles}, {&s.RetiredBytes, &earlier.RetiredBytes},
		{&s.FailedReads, &earlier.FailedReads},
		{&s.PopulatedBytes, &earlier.PopulatedBytes}, {&s.OvertakenBytes, &earlier.OvertakenBytes},
	} {
		*c.now -= *c.then
	}
	return s
}
