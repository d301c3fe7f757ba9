package index

// A Snapshot is what a Set reports about itself. Offsets are physical offsets of
// the log, times epoch milliseconds.
type Snapshot struct {
	Files         int    `json:"files"`
	Items         int64  `json:"items"`
	UnsyncedFiles int    `json:"unsyncedFiles"` // full and not durable yet
	HeldFiles     int    `json:"heldFiles"`     // deleted, still held by cursors
	BeginPhysical int64  `json:"beginPhysical"` // -1: empty
	EndPhysical   int64  `json:"endPhysical"`   // -1: empty
	EndMs         int64  `json:"endMs"`
	DurableMs     int64  `json:"durableMs"`
	Rolls         int64  `json:"rolls"`                 // files made since Open
	DroppedItems  int64  `json:"droppedItems"`          // by recovery, to be added again
	DamagedFiles  int64  `json:"damagedFiles"`          // in which a bad link was met
	Unavailable   string `json:"unavailable,omitempty"` // why no new file can be made
	SyncFailed    string `json:"syncFailed,omitempty"`
}

// Snapshot returns the state now.
func (s *Set) Snapshot() Snapshot {
	snap := Snapshot{
		BeginPhysical: s.BeginPhysical(), EndPhysical: s.EndPhysical(), EndMs: s.EndMs(), DurableMs: s.DurableMs(),
		Rolls: s.rolls.Load(), DroppedItems: s.dropped.Load(), DamagedFiles: s.damages.Load(),
	}
	for _, f := range s.Files() {
		snap.Files++
		snap.Items += int64(f.Len())
		if f.full.Load() && !f.durable.Load() {
			snap.UnsyncedFiles++
		}
	}
	s.mu.Lock()
	snap.HeldFiles = len(s.gone)
	s.mu.Unlock()
	if err := s.openErr.Load(); err != nil {
		snap.Unavailable = (*err).Error()
	}
	if err := s.syncErr.Load(); err != nil {
		snap.SyncFailed = (*err).Error()
	}
	return snap
}
