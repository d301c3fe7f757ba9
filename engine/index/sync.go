package index

import (
	"fmt"
	"time"
)

// Name implements service.Service.
func (s *Set) Name() string { return "index-sync" }

// Step syncs the oldest full file that is not durable yet and returns 1, or 0 if
// there is none. The unfinished file is left to Sync: what a crash takes from it
// is added again. After a failure no file is synced any more, because a later
// sync would prove nothing; Open repairs what was lost.
func (s *Set) Step(time.Time) (int, error) {
	if err := s.syncFailed(); err != nil {
		return 0, err
	}
	for _, f := range s.Files() {
		if f.durable.Load() {
			continue
		}
		if !f.full.Load() {
			break
		}
		if err := s.sync(f); err != nil {
			return 0, err
		}
		return 1, nil
	}
	return 0, nil
}

// Sync makes all files durable, the unfinished one too. The writer must be
// stopped, and Step.
func (s *Set) Sync() error {
	if err := s.syncFailed(); err != nil {
		return err
	}
	for _, f := range s.Files() {
		if f.durable.Load() {
			continue
		}
		if err := s.sync(f); err != nil {
			return err
		}
	}
	return nil
}

// sync makes one file durable. A file taken down meanwhile needs no sync.
func (s *Set) sync(f *File) error {
	full := f.full.Load()
	held, err := f.seg.View(0, 0)
	if err != nil {
		return nil
	}
	defer held.Release()
	if err := f.seg.SyncAll(); err != nil && f.seg.Available() {
		err = fmt.Errorf("index: %w", err)
		s.syncErr.CompareAndSwap(nil, &err)
		return err
	}
	if full {
		s.mu.Lock()
		f.durable.Store(true)
		s.settleDurable()
		s.mu.Unlock()
	}
	return nil
}

// settleDurable derives the timestamp for the checkpoint from the files. The
// caller holds mu or is alone.
func (s *Set) settleDurable() {
	durableMs := int64(0)
	for _, f := range s.Files() {
		if !f.durable.Load() {
			break
		}
		durableMs = f.endMs.Load()
	}
	s.durableMs.Store(durableMs)
}

func (s *Set) syncFailed() error {
	if err := s.syncErr.Load(); err != nil {
		return fmt.Errorf("index: an earlier sync failed: %w", *err)
	}
	return nil
}

// DurableMs is what the checkpoint is to say about the index: the end time of
// the newest full file such that it and all older ones are durable, in epoch
// milliseconds; 0 if there is none. Recovery and DeleteBefore can lower it. What
// recovery lowered has to be in the checkpoint before records are added: files
// filled anew could have the old end time and would be believed after a crash.
func (s *Set) DurableMs() int64 { return s.durableMs.Load() }
