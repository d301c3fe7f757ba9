package engine

import (
	"fmt"
	"time"

	"commitlab/engine/commitlog"
	"commitlab/engine/consumequeue"
	"commitlab/engine/index"
	"commitlab/engine/segment"
	"commitlab/engine/storedir"
)

// A loading is what Open has learned of a directory, step by step.
type loading struct {
	store   *Store
	clean   bool
	reused  bool // see commitlog.History
	saved   storedir.Checkpoint
	skipped commitlog.Ranges
	found   found
	meter   recoveryMeter
}

// load reads and recovers the directory. What it has opened when it fails is in
// s, for release.
func (s *Store) load() error {
	began := time.Now()
	marker := s.dir.AbortMarker()
	unclean, err := marker.Present()
	if err != nil {
		return err
	}
	reused, err := s.prepareRetention()
	if err != nil {
		return err
	}
	file, saved, err := s.dir.OpenCheckpoint()
	if err != nil {
		return err
	}
	s.checkpoint = &checkpointer{store: s, file: file, saved: saved}
	l := &loading{store: s, clean: !unclean, reused: reused, saved: saved, found: found{delays: s.delays, recreated: make(map[commitlog.QueueKey]bool)}}
	l.found.lastKeyed.Store(-1)
	l.meter = recoveryMeter{tell: s.opt.Progress, logger: s.opt.Logger}
	if l.skipped, err = loadSkipped(s.dir); err != nil {
		return err
	}
	if l.found.deleted, err = s.dir.LoadDeletedTopics(); err != nil {
		return err
	}
	s.recovery.Clean = l.clean

	options := s.opt.commitLog(s.optional, s.reaper)
	options.Beat = s.beat
	if s.log, err = commitlog.Open(s.dir.CommitLog(), options); err != nil {
		return err
	}
	v, err := l.scan()
	if err != nil {
		return err
	}
	if err := l.settle(v); err != nil {
		return err
	}
	if err := s.cleaner.makeRoom(time.Now()); err != nil {
		return err
	}
	if s.opt.Dispatch == On {
		if err := l.derived(v); err != nil {
			return err
		}
	}
	s.recovery.TotalNs = time.Since(began).Nanoseconds()
	if s.spares == nil && reused { // no stale bytes are left
		if err := segment.RemoveSpares(s.dir.Recycle(), s.opt.Disk, true); err != nil {
			return err
		}
	}
	return marker.Set()
}

// scan verifies the log and decides what to make of it.
func (l *loading) scan() (verdict, error) {
	s := l.store
	heads, err := s.log.Heads()
	if err != nil {
		return verdict{}, err
	}
	h := commitlog.History{Clean: l.clean, Durable: -1, DurableMs: l.saved.CommitLogMs, Reused: l.reused, Skipped: l.skipped}
	l.meter.begin("scan", len(heads), int64(len(heads))*s.opt.CommitLogFileBytes)
	scans, err := s.log.Scan(commitlog.ScanOptions{
		Workers: s.opt.RecoveryWorkers, History: h, Visit: l.found.visit, Read: l.meter.add,
	})
	if err != nil {
		return verdict{}, err
	}
	done, took := l.meter.end()
	r := &s.recovery
	r.Files, r.FilesScanned, r.ScanNs = len(heads), done.Files, took.Nanoseconds()
	for _, scan := range scans {
		for _, run := range scan.Runs {
			r.BytesScanned += run.To - run.From
			r.RecordsScanned += run.Records
		}
	}
	if len(scans) > 0 {
		r.StartOffset = scans[0].Base
	}
	v, err := judge(scans, h, s.opt.Damage)
	if err != nil {
		return v, err
	}
	v.lastKeyed = l.found.lastKeyed.Load()
	r.EndOffset, r.Skipped = v.end, v.skipped
	for _, d := range v.damages {
		s.opt.Logger.Warn("commit log is damaged", "file", d.File, "position", d.Position, "offset", d.Offset,
			"reason", d.Reason, "behind", d.Behind, "damage", s.opt.Damage, "end", v.end)
	}
	if s.opt.Damage == DamageSkip {
		r.NewlySkipped = len(v.damages)
	}
	return v, nil
}

// settle makes the log what was decided. What is skipped is remembered first:
// without that the next Open would refuse the log.
func (l *loading) settle(v verdict) error {
	start := time.Now()
	s := l.store
	if err := saveSkipped(s.dir, l.skipped, v.skipped); err != nil {
		return err
	}
	if err := s.log.Settle(commitlog.Settlement{End: v.end, Skipped: v.skipped, Erase: !l.clean}); err != nil {
		return err
	}
	for key, next := range v.next {
		s.log.RaiseQueueOffset(key.Topic, key.ID, next)
	}
	s.recovery.SettleNs = time.Since(start).Nanoseconds()
	return nil
}

// derived opens queues and index and brings them in step with the log.
func (l *loading) derived(v verdict) (err error) {
	s := l.store
	start := time.Now()
	if s.queues, err = consumequeue.OpenTable(s.dir.ConsumeQueue(), s.opt.consumeQueue(s.optional, s.reaper, l.clean)); err != nil {
		return err
	}
	s.recovery.Queues, s.recovery.QueuesNs = len(s.queues.All()), time.Since(start).Nanoseconds()
	if s.opt.Index == On {
		start = time.Now()
		if s.index, err = index.Open(s.dir.Index(), s.opt.index(s.optional, s.reaper, l.clean, l.saved.IndexMs, s.services.wakeIndex)); err != nil {
			return err
		}
		s.recovery.IndexNs = time.Since(start).Nanoseconds()
	}
	s.dispatch = &dispatcher{
		log: s.log, queues: s.queues, index: s.index, indexTags: s.opt.IndexTags == On, waiters: s.waiters, delays: s.delays, durable: s.durable,
		unitsPerFile: s.opt.ConsumeQueueFileBytes / consumequeue.UnitBytes,
		known:        make(map[string]map[int32]*consumequeue.Queue),
		deleted:      l.found.deleted,
	}
	if err := s.dispatch.finishDeletions(); err != nil {
		return err
	}
	if err := s.reconcile(l, v); err != nil {
		return err
	}
	s.delivery, err = newDelivery(s, l.found.delivered(v))
	return err
}

// loadSkipped reads the ranges of the log that were given up before.
func loadSkipped(dir storedir.Layout) (commitlog.Ranges, error) {
	saved, err := dir.LoadSkipped()
	var ranges commitlog.Ranges
	for _, r := range saved {
		ranges = ranges.Add(commitlog.Range(r))
	}
	return ranges, err
}

// saveSkipped makes durable which ranges are given up, if that is news. Ranges
// before those that were met stay.
func saveSkipped(dir storedir.Layout, before, met commitlog.Ranges) error {
	all := before
	for _, r := range met {
		all = all.Add(r)
	}
	if len(all) == len(before) {
		same := true
		for i := range all {
			same = same && all[i] == before[i]
		}
		if same {
			return nil
		}
	}
	var saved []storedir.SkippedRange
	for _, r := range all {
		saved = append(saved, storedir.SkippedRange(r))
	}
	if err := dir.SaveSkipped(saved); err != nil {
		return fmt.Errorf("remember what is skipped: %w", err)
	}
	return nil
}
