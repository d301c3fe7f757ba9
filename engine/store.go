package engine

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"commitlab/engine/commitlog"
	"commitlab/engine/fsutil"
	"commitlab/engine/message"
	"commitlab/engine/service"
	"commitlab/engine/stats"
	"commitlab/engine/storedir"
)

// A Store is an open store directory. All methods are safe for concurrent use.
type Store struct {
	dir      storedir.Layout
	opt      Options // resolved
	limits   message.Limits
	sync     bool // Flush is FlushSync
	timeout  time.Duration
	optional *stats.Optional

	lock       *fsutil.DirLock
	log        *commitlog.Log
	checkpoint *checkpointer
	loop       *service.Loop // of the checkpoint

	closeOnce sync.Once
	closeErr  error
}

// Open opens the store in dir, which is made if absent. It first takes the
// directory lock, then reads and recovers what is there, then accepts messages.
// A directory that is open already gives a *LockedError, a commit log that is
// damaged in the middle a *DamageError; in both cases nothing was changed.
func Open(dir string, o Options) (*Store, error) {
	opt, err := o.Resolve()
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	if err := storedir.Layout(dir).Make(); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	s := &Store{
		dir: storedir.Layout(dir), opt: opt,
		limits: message.Limits{
			MaxBodyBytes:   int(opt.MaxBodyBytes),
			MaxRecordBytes: int(opt.CommitLogFileBytes) - message.BlankBytes,
			AppendCRC:      opt.AppendCRC == On,
		},
		sync:     opt.Flush == FlushSync,
		timeout:  time.Duration(opt.SyncFlushTimeoutMs) * time.Millisecond,
		optional: stats.NewOptional(opt.Logger),
	}
	if s.lock, err = fsutil.AcquireLock(s.dir.Lock()); err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	if err := s.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", dir, err), s.lock.Release())
	}
	return s, nil
}

// load reads and recovers the directory and starts the services. On failure
// everything but the lock is given back.
func (s *Store) load() error {
	marker := s.dir.AbortMarker()
	unclean, err := marker.Present()
	if err != nil {
		return err
	}
	file, saved, err := s.dir.OpenCheckpoint()
	if err != nil {
		return err
	}
	history := commitlog.History{Clean: !unclean, DurableMs: saved.CommitLogMs}
	log, err := commitlog.Open(s.dir.CommitLog(), s.opt.commitLog(s.optional), history)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	if err := marker.Set(); err != nil {
		return errors.Join(err, log.Abandon(), file.Close())
	}
	s.log, s.checkpoint = log, &checkpointer{log: log, file: file, saved: saved}
	s.log.Start()
	s.loop = service.Start(s.checkpoint, service.Options{
		Interval: checkpointInterval, Timed: true, OnError: service.WarnOnce(s.opt.Logger),
	})
	return nil
}

// Options are the options as resolved in Open.
func (s *Store) Options() Options { return s.opt }

// Flush makes every message put before the call durable.
func (s *Store) Flush() error { return classify(s.log.Flush()) }

// Close refuses further puts, makes everything durable and gives the directory
// back. Views that are still held stay valid until their Release. If something
// could not be made durable the error says so and the abort marker stays, so
// that the next Open recovers with care. Further calls return the same error.
func (s *Store) Close() error {
	s.closeOnce.Do(func() { s.closeErr = s.close() })
	return s.closeErr
}

func (s *Store) close() error {
	err := s.log.Close()
	s.loop.Stop()
	err = errors.Join(err, s.checkpoint.close())
	if err == nil {
		err = s.dir.AbortMarker().Clear()
	}
	if err = errors.Join(err, s.lock.Release()); err != nil {
		return fmt.Errorf("close store %s: %w", s.dir, err)
	}
	return nil
}
