package commitlog

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"commitlab/engine/stats"
)

// syncCounts are what commits and syncs did.
type syncCounts struct {
	commitBytes atomic.Int64
	syncs       atomic.Int64
	syncBytes   atomic.Int64
	syncNs      atomic.Int64
	syncMax     stats.Max
	groups      atomic.Int64
	grouped     atomic.Int64 // appends that a group sync answered
}

// Flush makes everything appended before the call durable. After a failed sync
// it fails for good.
func (l *Log) Flush() error {
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	if l.Failed() {
		err := *l.refused.Load() // with the cause
		if l.pool != nil {
			l.pool.Fail(err)
		}
		return err
	}
	now := l.publishedMs()
	if _, err := l.commit(); err != nil {
		return err
	}
	before := l.flushed.Load()
	defer func() {
		if at := l.flushed.Load(); at != before && l.opt.Durable != nil {
			l.opt.Durable(at)
		}
	}()
	for {
		at := l.flushed.Load()
		f := l.queue.Find(at)
		if f == nil {
			l.durableMs.Store(now)
			return nil
		}
		start := time.Now()
		n, err := f.Sync(l.opt.SyncPath)
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrSyncFailed, err)
			l.refused.Store(&err) // also in the place of ErrClosing: nobody may try again
			return err
		}
		if n > 0 {
			ns := time.Since(start).Nanoseconds()
			l.syncs.syncs.Add(1)
			l.syncs.syncBytes.Add(n)
			l.syncs.syncNs.Add(ns)
			l.syncs.syncMax.Raise(ns)
		}
		l.flushed.Store(f.Base() + f.Flushed())
		if f.Flushed() < f.Size() {
			l.durableMs.Store(now)
			return nil
		}
	}
}

// publishedMs returns a time such that every record with an earlier store time
// is published. An append under way may have read its store time long ago; then
// only the last published one tells.
func (l *Log) publishedMs() int64 {
	if l.lock.tryLock() {
		defer l.lock.unlock()
		return l.clock.nowMs()
	}
	return l.storedMs.Load()
}

// A flusher makes the log durable: for the group of appends that wait, and every
// interval what nobody waits for. It is a service.
type flusher struct {
	log      *Log
	thorough time.Time // of the last flush that took whatever there was
	grouped  time.Time // of the last Step that did a group sync
}

// Name implements service.Service.
func (f *flusher) Name() string { return "flush" }

// Step flushes once and returns the number of bytes or waiting appends served.
func (f *flusher) Step(now time.Time) (int, error) {
	l := f.log
	starved := l.pool != nil && l.pool.Starved()
	if l.opt.GroupSync {
		if members, err := l.group.sync(l.Flush); members > 0 {
			l.syncs.groups.Add(1)
			l.syncs.grouped.Add(int64(members))
			f.grouped = now
			return members, err
		}
		if now.Sub(f.grouped) < l.opt.FlushInterval && !starved {
			return 0, nil
		}
	}
	if l.Failed() && !starved {
		return 0, nil // reported when it happened
	}
	if now.Sub(f.thorough) >= l.opt.FlushThorough || starved {
		f.thorough = now
	} else if !l.opt.GroupSync && l.Appended()/pageBytes-l.flushed.Load()/pageBytes < int64(l.opt.FlushLeastPages) {
		return 0, nil // with group sync readers wait for it: they see only what is durable
	}
	before := l.flushed.Load()
	err := l.Flush()
	return int(l.flushed.Load() - before), err
}

// WaitDurable returns when the log is durable up to end, an offset that was
// appended. It fails with ErrFlushTimeout after timeout, with ErrSyncFailed if
// the sync failed, or with a disk error if the bytes could not be committed.
// For logs with GroupSync: otherwise nobody answers but Close.
func (l *Log) WaitDurable(end int64, timeout time.Duration) error {
	if l.flushed.Load() >= end {
		return nil
	}
	r := l.group.join()
	l.loops.flush.Wake()
	return r.wait(timeout)
}

// IsDiskFull reports whether err means that there is no space left.
func IsDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
