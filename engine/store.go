package engine

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"commitlab/engine/commitlog"
	"commitlab/engine/consumequeue"
	"commitlab/engine/fsutil"
	"commitlab/engine/index"
	"commitlab/engine/message"
	"commitlab/engine/segment"
	"commitlab/engine/stats"
	"commitlab/engine/storedir"
)

// A Store is an open store directory. All methods are safe for concurrent use.
type Store struct {
	dir      storedir.Layout
	opt      Options // resolved
	limits   message.Limits
	delays   message.DelayLevels
	durable  bool // Flush is FlushSync: puts wait for the disk
	timeout  time.Duration
	optional *stats.Optional

	lock    *fsutil.DirLock
	spares  *segment.Spares // nil unless destroy is recycle
	reaper  *segment.Reaper
	disk    *diskWatch
	cleaner *cleaner
	log     *commitlog.Log
	queues  *consumequeue.Table // nil with dispatch off
	index   *index.Set          // nil with dispatch or index off
	waiters *waiters

	dispatch   *dispatcher         // nil with dispatch off
	queueNames *consumequeue.Names // of new queue files, to be made durable
	checkpoint *checkpointer
	delivery   *delivery // nil with dispatch off
	services   services
	recovery   Recovery // immutable after Open

	closing   chan struct{} // closed when Close begins
	closeOnce sync.Once
	closeErr  error
}

// Open opens the store in dir, which is made if absent. It first takes the
// directory lock, then reads and recovers what is there, then accepts messages.
// A directory that is open already gives a *LockedError, a commit log that is
// damaged in the middle a *DamageError; in both cases no message, unit or key was
// changed or removed.
func Open(dir string, o Options) (*Store, error) {
	opt, err := o.Resolve()
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	delays, err := message.ParseDelayLevels(opt.DelayLevels)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w delayLevels: %w", dir, ErrOption, err)
	}
	if err := storedir.Layout(dir).Make(); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	s := &Store{
		dir: storedir.Layout(dir), opt: opt, delays: delays,
		limits: message.Limits{
			MaxBodyBytes:   int(opt.MaxBodyBytes),
			MaxRecordBytes: int(opt.CommitLogFileBytes) - message.BlankBytes,
			AppendCRC:      opt.AppendCRC == On,
		},
		durable:  opt.Flush == FlushSync,
		timeout:  time.Duration(opt.SyncFlushTimeoutMs) * time.Millisecond,
		optional: stats.NewOptional(opt.Logger),
		waiters:  &waiters{},
		closing:  make(chan struct{}),
	}
	s.queueNames = &consumequeue.Names{Wake: s.services.wakeQueueNames}
	if s.lock, err = fsutil.AcquireLock(s.dir.Lock()); err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	if err := s.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", dir, err), s.release(), s.lock.Release())
	}
	s.sayRetention(o.Destroy)
	s.services.start(s)
	return s, nil
}

// saveCatalog lets the next start go past the queues that are at rest. If it cannot be
// saved that start takes longer, and nothing else; but an older one must not stay.
func (s *Store) saveCatalog() error {
	err := s.dir.MakeConfig()
	if err == nil {
		err = s.queues.SaveCatalog()
	}
	if err == nil {
		return nil
	}
	s.opt.Logger.Warn("the next start has to read all consume queues", "error", err)
	err = os.Remove(s.dir.QueueCatalog())
	if _, gone := os.Lstat(s.dir.QueueCatalog()); gone != nil {
		return nil
	}
	return fmt.Errorf("remove the old catalog of consume queues: %w", err)
}

// release gives back what load has opened. Whether it is durable is the caller's
// concern.
func (s *Store) release() error {
	var errs []error
	if s.index != nil {
		errs = append(errs, s.index.Close())
	}
	if s.queues != nil {
		s.queues.Close()
	}
	if s.log != nil {
		errs = append(errs, s.log.Close())
	}
	if s.reaper != nil {
		s.reaper.Stop()
	}
	if s.spares != nil {
		errs = append(errs, s.spares.Close())
	}
	if s.checkpoint != nil {
		errs = append(errs, s.checkpoint.file.Close())
	}
	return errors.Join(errs...)
}

// diskPaths are the directories whose disks can become full.
func (s *Store) diskPaths() []string {
	if s.opt.Dispatch == Off {
		return []string{s.dir.CommitLog()}
	}
	return []string{s.dir.CommitLog(), s.dir.ConsumeQueue()}
}

// isClosing reports whether Close has begun, so that what cannot be read may
// still be in the store.
func (s *Store) isClosing() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// orClosing returns err, or ErrClosing in its place once Close has begun.
func (s *Store) orClosing(err error) error {
	if s.isClosing() {
		return ErrClosing
	}
	return err
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
	close(s.closing)
	err := s.services.stop(s)
	if err == nil && s.queues != nil {
		err = s.saveCatalog()
	}
	err = errors.Join(err, s.release())
	if err == nil && s.spares != nil {
		err = segment.RemoveSpares(s.dir.Recycle(), s.opt.Disk, true)
	}
	if err == nil {
		err = s.dir.AbortMarker().Clear()
	}
	if err = errors.Join(err, s.lock.Release()); err != nil {
		return fmt.Errorf("close store %s: %w", s.dir, err)
	}
	return nil
}
