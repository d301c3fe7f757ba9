package engine

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A cleaner deletes what the store need not keep: files of the commit log as
// retention.plan says, then what points to them: files of queues whose last unit
// is below the log's minimum, and files of the index likewise. The last file of
// each always stays. It is a service.
//
//	pass, every CleanIntervalMs:   plan ─► retire one ─► pause ─► plan ─► …   a batch at most
//	then, if the log's minimum moved:   queues ─► index
//
// It plans again for every file, so that it stops as soon as a disk is empty
// enough. A retired file is off the log at once; taking it down is the reaper's. No
// more are retired while mostBacklog files wait for that.
type cleaner struct {
	store    *Store
	began    time.Time // with the monotonic clock
	policy   retention
	interval time.Duration // between passes
	pause    time.Duration // between two files
	force    time.Duration // how long readers may keep a deleted file
	retry    time.Duration // between attempts at a file that cannot be removed

	mu      sync.Mutex
	clock   steadyClock    // guarded by mu
	passAt  time.Time      // guarded by mu; when the next pass begins
	left    int            // guarded by mu; files that this pass may still delete; 0: no pass
	nextAt  time.Time      // guarded by mu; the pause ends
	hungAt  time.Time      // guarded by mu; last attempt at a file that could not be removed
	minAt   int64          // guarded by mu; the log's minimum that queues and index were cleaned to
	warned  map[int64]bool // guarded by mu; bases of files whose age is doubtful, said once
	stopped bool           // guarded by mu; nothing is deleted any more

	forced atomic.Int64 // files deleted that had not expired
	held   atomic.Int64 // deleted files that readers hold
}

func newCleaner(s *Store) *cleaner {
	o := s.opt
	return &cleaner{
		store: s, began: time.Now(), policy: o.retention(), warned: make(map[int64]bool),
		interval: ms(o.CleanIntervalMs), pause: ms(o.DeleteFileIntervalMs), force: ms(o.DestroyForceMs), retry: ms(o.RetryHangedMs),
	}
}

// Name implements service.Service.
func (c *cleaner) Name() string { return "clean" }

// tick is how often Step is to be called.
func (c *cleaner) tick() time.Duration { return min(c.interval, c.pause) }

// mostBacklog is how many files of the log may wait to be taken down. Each still has its space,
// a mapping and a descriptor: to delete faster than files are taken down would free
// nothing.
const mostBacklog = 32

// backlogged reports whether so many files wait to be taken down.
func (c *cleaner) backlogged() bool { return c.store.log.Waiting() >= mostBacklog }

// Step deletes at most one file of the commit log, and what points to it at the
// end of a pass. It reports no work: the pauses are part of it.
func (c *cleaner) Step(now time.Time) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Before(c.nextAt) {
		return 0, nil
	}
	if c.left == 0 {
		if now.Before(c.passAt) && (!c.oversize() || c.backlogged()) {
			return 0, nil
		}
		c.passAt, c.left = now.Add(c.interval), c.policy.batch
	}
	freed, err := c.retire(now, false, c.limit())
	c.nextAt = now.Add(c.pause)
	c.left--
	if freed == 0 {
		c.left = 0
	}
	if c.left == 0 {
		err = errors.Join(err, c.finish(now), c.finishDeletions(now))
	}
	return 0, err
}

// oversize reports whether the log is larger than it may be.
func (c *cleaner) oversize() bool {
	most := c.policy.maxLogBytes
	return most > 0 && c.store.log.End()-c.store.log.Min() > most
}

// retire deletes the first file that the plan names, if any, and returns its size.
// A file that ends behind limit stays, and all stay while too many wait to be taken
// down. The caller holds mu.
func (c *cleaner) retire(now time.Time, asked bool, limit int64) (size int64, err error) {
	s := c.store
	if c.stopped {
		return 0, ErrClosing
	}
	settled, stepped := c.clock.at(now, now.Sub(c.began))
	if stepped {
		s.opt.Logger.Warn("the clock was set forward; ages of files follow in an hour", "now", now, "until then", settled)
	}
	disks, _ := s.disk.measure() // what cannot be measured is the disk watch's to say
	// A full disk needs the space more than the log needs a spare file.
	reuse := fullest(disks).percent <= c.policy.maxUsed
	if s.spares != nil && !reuse {
		if err := s.spares.Drop(); err != nil {
			return 0, err
		}
	}
	if c.backlogged() {
		return 0, nil
	}
	due := c.policy.plan(situation{
		now: now, ahead: now.Sub(settled), disks: disks, files: s.log.FileStates(), limit: limit, asked: asked, freeing: s.reaper.Backlog() > 0,
	})
	if len(due) == 0 {
		return 0, nil
	}
	r := due[0]
	if r.doubt != "" && !c.warned[r.Base] {
		c.warned[r.Base] = true
		s.opt.Logger.Warn("age of a commit log file is doubtful", "file", r.Path, "reason", r.doubt)
	}
	if r.Hanged && !c.hungAt.IsZero() && now.Sub(c.hungAt) < c.retry {
		return 0, nil
	}
	retired, err := s.log.Retire(r.Base, now, reuse)
	if !retired {
		c.hungAt = now
		return 0, err
	}
	if err != nil {
		s.opt.Logger.Warn("a deleted commit log file could not be given back to the system", "err", err)
	}
	c.hungAt = time.Time{}
	delete(c.warned, r.Base)
	if r.forced {
		c.forced.Add(1)
		s.opt.Logger.Warn("commit log file deleted by force", "file", r.Path, "reason", r.reason)
	} else {
		s.opt.Logger.Info("commit log file deleted", "file", r.Path, "reason", r.reason)
	}
	return r.End - r.Base, nil
}

// begin starts the clock that ages are judged by. storeMs are times of records, the
// newest among them; those from the future tell nothing.
func (c *cleaner) begin(now time.Time, storeMs ...int64) {
	var newestMs int64
	for _, ms := range storeMs {
		if ms <= now.UnixMilli() {
			newestMs = max(newestMs, ms)
		}
	}
	if newestMs == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	newest := time.UnixMilli(newestMs)
	if c.clock.begin(newest, now, now.Sub(c.began)) {
		c.store.opt.Logger.Info("nothing was stored for a while; ages of files follow in an hour", "now", now, "until then", newest)
	}
}

// makeRoom deletes expired files before Open changes anything else, as long as a
// disk is fuller than it may be: what follows in Open has to write. end is where the
// log will end. Above the limit from which files go by force the wall clock counts,
// right or wrong: the store may not open otherwise. A file that cannot be deleted is
// only said: whether there is room enough without, those find out who write.
func (c *cleaner) makeRoom(now time.Time, end int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	byForce, clock := c.policy.byForce, c.clock
	c.policy.byForce = false
	defer func() { c.policy.byForce, c.clock = byForce, clock }()
	for {
		disks, _ := c.store.disk.measure()
		used := fullest(disks).percent
		if used <= c.policy.maxUsed {
			return
		}
		if c.clock = clock; used > c.policy.forcibly {
			c.clock = steadyClock{}
		}
		size, err := c.retire(now, false, end)
		if err != nil {
			c.store.opt.Logger.Warn("a full disk keeps an expired file of the commit log; the store opens with it", "percent", used, "err", err)
		}
		if size == 0 || err != nil {
			return
		}
		c.store.reaper.Drain()
	}
}

// limit is the log offset up to which nobody needs the log any more but readers.
func (c *cleaner) limit() int64 {
	limit := c.store.log.Flushed()
	if d := c.store.dispatch; d != nil {
		limit = min(limit, d.at.Load())
	}
	return limit
}

// finish ends a pass: it deletes what points to records that are gone, and looks
// after deleted files that readers hold. The caller holds mu.
func (c *cleaner) finish(now time.Time) error {
	s := c.store
	if c.stopped {
		return ErrClosing
	}
	held, err := s.log.Reap(now, c.force)
	errs := []error{err}
	if s.queues != nil {
		errs = append(errs, c.follow(s.log.Min(), now))
		n, err := s.queues.Reap(now, c.force)
		held += n
		errs = append(errs, err)
	}
	c.held.Store(int64(held))
	return errors.Join(errs...)
}

// follow deletes what points to records below first, the log's minimum. The caller
// holds mu.
func (c *cleaner) follow(first int64, now time.Time) error {
	s := c.store
	var errs []error
	if first != c.minAt {
		for _, e := range s.queues.All() {
			_, err := e.DeleteBefore(first, now)
			errs = append(errs, err)
		}
	}
	if s.index != nil {
		_, err := s.index.DeleteBefore(first, now, c.force)
		errs = append(errs, err)
	}
	err := errors.Join(errs...)
	if err == nil {
		c.minAt = first
	}
	return err
}

// finishDeletions tries again the deletions of topics that failed, and forgets those
// that the log has left behind. It is no part of finish: what cannot be removed of one
// topic says nothing of expired files. The caller holds mu.
func (c *cleaner) finishDeletions(now time.Time) error {
	s := c.store
	if s.queues == nil || c.stopped {
		return nil
	}
	return errors.Join(s.queues.FinishDeletions(now), s.dispatch.forgetForgotten(s.dir))
}

// stop lets nobody delete any more. It waits for a deletion that is under way.
func (c *cleaner) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
}

// Deleted is what a deletion by hand did.
type Deleted struct {
	Files int   `json:"files"` // of the commit log
	Bytes int64 `json:"bytes"`
}

// passesByHand is how many passes one DeleteExpired makes at most.
const passesByHand = 20

// DeleteExpired deletes expired files of the commit log now, whatever the hour,
// and what points to them in queues and index: at most 20 batches, with the usual
// pause after each file, and none while 32 files wait to be taken down: then the next
// call goes on. When it returns the files are off the log; their disk space follows
// as the option destroy says. What has expired is as with the option
// fileReservedMs.
func (s *Store) DeleteExpired() (Deleted, error) {
	var d Deleted
	c := s.cleaner
	for range passesByHand * c.policy.batch {
		c.mu.Lock()
		size, err := c.retire(time.Now(), true, c.limit())
		c.mu.Unlock()
		if err != nil {
			return d, fmt.Errorf("delete expired files: %w", err)
		}
		if size == 0 {
			break
		}
		d.Files++
		d.Bytes += size
		select {
		case <-time.After(c.pause):
		case <-s.closing:
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.finish(time.Now()); err != nil {
		return d, fmt.Errorf("delete expired files: %w", err)
	}
	return d, nil
}
