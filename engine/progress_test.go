package engine

import "testing"

// Goal: who waits for Open is told of each phase, from nothing to all of it, never
// backwards, and the snapshot says the same afterwards.
func TestOpenTellsItsProgress(t *testing.T) {
	o := small(Options{Dispatch: On, CommitLogFileBytes: fileBytes, RecoverFrom: RecoverFirst})
	dir, all, _ := damaged(t, o, true)
	var told []RecoveryProgress
	o.Progress = func(p RecoveryProgress) { told = append(told, p) }
	s := openUnchecked(t, dir, o)
	r := s.Snapshot().Recovery
	if r.Clean || r.FilesScanned != r.Files || r.RecordsScanned != int64(len(all)) || r.RecordsDispatched != int64(len(all)) ||
		r.EndOffset != s.log.Appended() || r.BytesScanned <= 0 || r.Queues != 2 || r.TotalNs < r.ScanNs+r.DispatchNs {
		t.Errorf("recovery says %+v", r)
	}
	last := make(map[string]RecoveryProgress)
	for _, p := range told {
		before, seen := last[p.Phase]
		if !seen && p.Bytes+int64(p.Files) != 0 || p.Bytes < before.Bytes || p.Files < before.Files || p.Bytes > p.BytesTotal || p.Remaining < 0 {
			t.Errorf("told %+v after %+v", p, before)
		}
		last[p.Phase] = p
	}
	for _, phase := range []string{"scan", "dispatch"} {
		if p := last[phase]; p.Bytes != p.BytesTotal || p.Files != p.FilesTotal || p.BytesTotal == 0 {
			t.Errorf("phase %s ended with %+v", phase, p)
		}
	}
}
