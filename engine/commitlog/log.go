package commitlog

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"commitlab/engine/message"
	"commitlab/engine/segment"
	"commitlab/engine/service"
)

// Errors of a Log. ErrClosing, ErrSyncFailed and ErrBusy end one append;
// nothing was stored.
var (
	// ErrClosing refuses appends while the log closes.
	ErrClosing = errors.New("commit log is closing")
	// ErrSyncFailed refuses appends for good after a failed sync.
	ErrSyncFailed = errors.New("a sync failed earlier: what was not durable then may be lost, no more is accepted")
	// ErrBusy refuses an append because another one has held the append lock
	// for too long.
	ErrBusy = errors.New("page cache is busy: an append is taking too long")
	// ErrRecordTooLarge refuses a record that fits no file.
	ErrRecordTooLarge = message.ErrRecordTooLarge
	// ErrFlushTimeout ends the wait for a sync. The record is stored and may
	// become durable later.
	ErrFlushTimeout = errors.New("record is stored, but was not synced in time")
	// ErrUnreadable says that the disk does not give the bytes at an offset: whether
	// a record begins there is not known.
	ErrUnreadable = errors.New("record cannot be read")
	// ErrNotFound says that no record begins at an offset.
	ErrNotFound = errors.New("no record at this offset")
)

// A Log is an open commit log.
type Log struct {
	opt      Options
	queue    *segment.Queue
	prealloc *segment.Prealloc
	window   *segment.Window // nil unless pages are populated ahead
	pool     *segment.Pool   // nil unless appends go to transient buffers
	clock    *clock
	largest  int64  // immutable; bytes that one append may have
	skipped  Ranges // immutable after Settle
	busy     atomic.Bool

	lock appendLock
	// Guarded by lock.
	offsets QueueMap[int64] // next queue offset, in units
	counts  appendCounts

	lastCounts atomic.Pointer[appendCounts] // as of the last snapshot that got the lock

	storedMs atomic.Int64 // store time of the last published append; written under lock

	failedReads atomic.Int64

	retired retired

	refused atomic.Pointer[error] // why appends are refused; nil while accepted

	syncMu    sync.Mutex   // orders commits and syncs
	committed atomic.Int64 // written under syncMu
	flushed   atomic.Int64 // written under syncMu
	durableMs atomic.Int64 // written under syncMu; see DurableMs
	syncs     syncCounts
	group     *group

	loops struct{ pulse, prealloc, window, commit, flush *service.Loop }
}

// Open loads the files of the log in dir, which is made if absent. Where the log
// ends is not known until Settle, and no service runs until Start.
func Open(dir string, o Options) (*Log, error) {
	l := &Log{opt: o, clock: newClock(o.ExactClock), group: newGroup()}
	l.retired.firstMs = make(map[int64]int64)
	l.lock.spin = o.SpinLock
	l.storedMs.Store(l.clock.nowMs())
	l.largest = o.Files.FileBytes - message.BlankBytes
	if o.SyncPath == segment.SyncPwrite {
		l.largest = min(l.largest, o.BufferBytes)
		pool, err := segment.NewPool(o.BufferCount, o.BufferBytes, &l.opt.Files, l.wakeCommit)
		if err != nil {
			return nil, err
		}
		l.pool, l.opt.Files.Transient = pool, pool
	}
	queue, err := segment.OpenQueue(dir, &l.opt.Files, o.Logger)
	if err != nil {
		return nil, errors.Join(err, l.closePool())
	}
	l.queue = queue
	l.prealloc = segment.NewPrealloc(dir, &l.opt.Files, !o.Preallocate, func() { l.loops.prealloc.Wake() })
	if o.Files.Populate == segment.PopulateWindow {
		l.window = segment.NewWindow(queue)
	}
	return l, nil
}

// backgroundNice is the priority of the services that make pages: on a machine
// without a processor to spare they must not take the writer's.
const backgroundNice = 10

// Start begins the background services, in the order in which data flows.
func (l *Log) Start() {
	warn := service.WarnOnce(l.opt.Logger)
	l.loops.prealloc = service.Start(l.prealloc, service.Options{Interval: time.Second, Nice: backgroundNice, OnError: warn})
	if l.window != nil {
		l.loops.window = service.Start(l.window, service.Options{Interval: time.Second, Nice: backgroundNice, OnError: warn})
	}
	if l.pool != nil && !l.opt.GroupSync {
		l.loops.commit = service.Start(&committer{log: l}, service.Options{Interval: l.opt.CommitInterval, OnError: warn})
	}
	l.loops.flush = service.Start(&flusher{log: l}, service.Options{Interval: l.opt.FlushInterval, Timed: !l.opt.GroupSync, OnError: warn})
	var next int64
	if tail := l.queue.Last(); tail != nil {
		next = tail.End()
	}
	l.prealloc.Request(next)
	// Last: it wakes the others.
	l.loops.pulse = service.Start(&pulse{log: l, limit: l.opt.BusyAfter}, service.Options{Interval: pulseInterval, Timed: true, OnError: warn})
}

// Min is the offset of the first byte still in the log.
func (l *Log) Min() int64 { return l.queue.MinOffset() }

// End is the offset behind the file that is written.
func (l *Log) End() int64 {
	if tail := l.queue.Last(); tail != nil {
		return tail.End()
	}
	return 0
}

// Appended is the offset behind the last appended byte.
func (l *Log) Appended() int64 {
	if tail := l.queue.Last(); tail != nil {
		return tail.Base() + tail.Wrote()
	}
	return 0
}

// Committed is the offset up to which records can be read.
func (l *Log) Committed() int64 {
	if l.pool == nil {
		return l.Appended()
	}
	return l.committed.Load()
}

// Flushed is the offset up to which the log is durable.
func (l *Log) Flushed() int64 { return l.flushed.Load() }

// DurableMs is a time in epoch milliseconds such that every record with an
// earlier store time is durable; 0 before the first sync. If the wall clock is
// set back it follows, with the next sync.
func (l *Log) DurableMs() int64 { return l.durableMs.Load() }

// refuse ends acceptance with err. The first reason stays.
func (l *Log) refuse(err error) { l.refused.CompareAndSwap(nil, &err) }

// Failed reports whether a sync failed.
func (l *Log) Failed() bool {
	r := l.refused.Load()
	return r != nil && errors.Is(*r, ErrSyncFailed)
}

// Stop refuses further appends, ends the services, makes everything appended
// durable and removes the file prepared ahead. Reads go on until Close. The
// error says what is not durable.
func (l *Log) Stop() error {
	l.lock.lock() // an append that got in before is complete behind this
	l.refuse(ErrClosing)
	l.lock.unlock()

	errs := []error{l.prealloc.Stop()}
	for _, loop := range []*service.Loop{l.loops.flush, l.loops.commit, l.loops.window, l.loops.prealloc, l.loops.pulse} {
		if loop != nil {
			loop.Stop()
		}
	}
	err := l.Flush()
	l.group.close(err)
	if err != nil {
		errs = append(errs, fmt.Errorf("final flush: %w", err))
	} else {
		errs = append(errs, l.eraseStale())
	}
	return errors.Join(errs...)
}

// eraseStale erases what a former life of the tail left behind the end of the log:
// a log that was closed in order holds records and zeros, nothing else that
// anybody could come across.
func (l *Log) eraseStale() error {
	tail := l.queue.Last()
	if tail == nil || !tail.Stale() {
		return nil
	}
	return tail.Erase(tail.Wrote(), true, &l.opt.Files)
}

// Close gives up all mappings of a log that was stopped, or never started.
// Views that are still held stay valid until their Release.
func (l *Log) Close() error {
	l.queue.Close()
	return l.closePool()
}

func (l *Log) closePool() error {
	if l.pool == nil {
		return nil
	}
	return l.pool.Close()
}

func (l *Log) wakeCommit() {
	if loop := l.loops.commit; loop != nil {
		loop.Wake()
		return
	}
	l.loops.flush.Wake()
}
