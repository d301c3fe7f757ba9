package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"commitlab/engine/commitlog"
	"commitlab/engine/consumequeue"
	"commitlab/engine/index"
	"commitlab/engine/segment"
	"commitlab/engine/storedir"
)

// A loading is what Open has learned of a directory, step by step. Until the log is
// judged nothing is changed but that missing directories and an empty checkpoint are
// made; then expired files of a full disk go, and settle does the rest.
type loading struct {
	store   *Store
	clean   bool
	reused  bool // see commitlog.History
	saved   storedir.Checkpoint
	skipped commitlog.Ranges // by an earlier Open
	delays  storedir.DelayOffsets
	from    departure
	found   found
	verdict verdict
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
	l := &loading{store: s, clean: !unclean, reused: reused, saved: saved, found: found{delays: s.delays}}
	l.meter = recoveryMeter{tell: s.opt.Progress, logger: s.opt.Logger}
	s.recovery.Clean = l.clean
	if l.skipped, err = loadSkipped(s.dir); err != nil {
		return err
	}
	d, err := l.open()
	if err != nil {
		return err
	}
	l.from = depart(d)
	if err := l.scan(len(d.heads)); err != nil {
		return err
	}
	storeMs := []int64{l.verdict.latestMs}
	for _, head := range d.heads {
		storeMs = append(storeMs, head.StoreMs)
	}
	s.cleaner.begin(time.Now(), storeMs...)
	s.cleaner.makeRoom(time.Now(), l.verdict.end)
	if err := marker.Set(); err != nil { // from here on a crash leaves things half done
		return err
	}
	if err := l.settle(); err != nil {
		return err
	}
	if err := l.complete(); err != nil {
		return err
	}
	if s.spares == nil && reused { // no stale bytes are left
		if err := segment.RemoveSpares(s.dir.Recycle(), s.opt.Disk, true); err != nil {
			return err
		}
	}
	s.recovery.TotalNs = time.Since(began).Nanoseconds()
	if err := s.checkpoint.save(s.checkpoint.now()); err != nil {
		return err
	}
	if s.spares != nil { // not before: see segment.Spares.Prepare
		return s.spares.Prepare()
	}
	return nil
}

// open loads queues, log and index, without a change to any.
func (l *loading) open() (d directory, err error) {
	s, p := l.store, l.saved.Positions
	d = directory{
		clean: l.clean, saved: l.saved, rule: s.opt.RecoverFrom, indexSafe: s.opt.MessageIndexSafe == On,
		dispatch: s.opt.Dispatch == On, index: s.opt.Dispatch == On && s.opt.Index == On, indexEnd: -1,
	}
	start := time.Now()
	if d.dispatch {
		o := s.opt.consumeQueue(s.optional, s.reaper, l.clean)
		o.Durable, o.Catalog, o.Names = p.QueuesDurable, s.dir.QueueCatalog(), s.queueNames
		s.queues, err = consumequeue.LoadTable(s.dir.ConsumeQueue(), o)
		if err != nil {
			return d, err
		}
		d.queuesWhole, d.queuesEnd = s.queues.Sum(p.QueuesDurable) == p.QueuesSum, s.queues.MaxPhysical()
		r := &s.recovery
		r.Queues, r.QueuesAtRest, r.QueuesNs = len(s.queues.All()), s.queues.AtRest(), time.Since(start).Nanoseconds()
	}
	s.sayMappings()
	options := s.opt.commitLog(s.optional, s.reaper)
	options.Beat, options.Durable = s.beat, s.checkpoint.logDurable
	if s.log, err = commitlog.Open(s.dir.CommitLog(), options); err != nil {
		return d, err
	}
	if d.heads, err = s.log.Heads(); err != nil || !d.dispatch {
		return d, err
	}
	if d.index {
		start = time.Now()
		if s.index, err = index.Load(s.dir.Index(), s.opt.index(s.optional, s.reaper, l.clean, l.saved.IndexMs, s.services.wakeIndex)); err != nil {
			return d, err
		}
		if d.indexEnd, err = s.index.SoundEnd(); err != nil {
			return d, err
		}
		s.recovery.IndexNs = time.Since(start).Nanoseconds()
	}
	s.dispatch = &dispatcher{
		lookahead: lookahead{queues: s.queues, index: s.index, indexTags: s.opt.IndexTags == On, delays: s.delays},
		log:       s.log, waiters: s.waiters, readable: s.opt.Readable, durable: s.durable,
		unitsPerFile: s.opt.ConsumeQueueFileBytes / consumequeue.UnitBytes, assistBytes: s.opt.DispatchAssistBytes,
	}
	if s.dispatch.deleted, err = s.dir.LoadDeletedTopics(); err != nil {
		return d, err
	}
	if l.delays, err = s.dir.LoadDelayOffsets(); err != nil {
		return d, err
	}
	var sum int64
	for _, offset := range l.delays {
		sum += offset
	}
	d.delaysWhole = sum >= p.DelaysSum
	return d, nil
}

// scan verifies the log from where recovery departs, and judges it.
func (l *loading) scan(files int) error {
	s := l.store
	h := commitlog.History{Clean: l.clean, Durable: -1, DurableMs: l.saved.CommitLogMs, Reused: l.reused, Skipped: l.skipped}
	if l.saved.Positions.Known {
		h.Durable = l.saved.Positions.LogDurable
	}
	l.meter.begin("scan", files-l.from.file, int64(files-l.from.file)*s.opt.CommitLogFileBytes)
	scans, err := s.log.Scan(commitlog.ScanOptions{
		From: l.from.file, Workers: s.opt.RecoveryWorkers, History: h, Visit: l.found.visit, Read: l.meter.add,
	})
	if err != nil {
		return err
	}
	done, took := l.meter.end()
	r := &s.recovery
	r.Reason, r.Files, r.FilesScanned, r.ScanNs = l.from.reason, files, done.Files, took.Nanoseconds()
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
		return err
	}
	for _, d := range v.damages {
		s.opt.Logger.Warn("commit log is damaged", "file", d.File, "position", d.Position, "offset", d.Offset,
			"reason", d.Reason, "behind", d.Behind, "damage", s.opt.Damage, "end", v.end)
	}
	if s.opt.Damage == DamageSkip {
		r.NewlySkipped = len(v.damages)
	}
	l.verdict = v
	return nil
}

// settle makes log, queues and index what was decided. What they are to be is
// remembered first, lest the next Open finds more missing than there is.
func (l *loading) settle() error {
	start := time.Now()
	s, v := l.store, l.verdict
	first := s.log.Min()
	skipped := l.skipped
	for _, gap := range v.skipped {
		skipped = skipped.Add(gap)
	}
	skipped = skipped.Within(first, v.end)
	if err := saveSkipped(s.dir, l.skipped, skipped); err != nil {
		return err
	}
	next := s.checkpoint.saved
	next.Positions = settled(next.Positions, v.end, l.from.queues)
	if err := s.checkpoint.save(next); err != nil {
		return err
	}
	settlement := commitlog.Settlement{End: v.end, Skipped: skipped, Erase: !l.clean, Durable: v.end}
	if !l.clean {
		settlement.Durable = next.Positions.LogDurable
	}
	if err := s.log.Settle(settlement); err != nil {
		return err
	}
	if s.queues == nil { // else they know, once they are complete
		for key, offset := range v.next {
			s.log.RaiseQueueOffset(key.Topic, key.ID, offset)
		}
	} else {
		if err := s.queues.Settle(); err != nil {
			return err
		}
		if err := s.queues.TruncateTo(v.end); err != nil {
			return fmt.Errorf("cut consume queues at %d: %w", v.end, err)
		}
	}
	if s.index != nil {
		if err := s.index.Recover(); err != nil {
			return err
		}
		if err := s.index.Truncate(v.end); err != nil {
			return fmt.Errorf("cut index at %d: %w", v.end, err)
		}
		next.IndexMs = s.index.DurableMs()
		if err := s.checkpoint.save(next); err != nil {
			return err
		}
	}
	r := &s.recovery
	r.EndOffset, r.Skipped, r.SettleNs = v.end, skipped, time.Since(start).Nanoseconds()
	return nil
}

// complete makes the log durable, and has meanwhile what is made from it completed:
// before the checkpoint is saved again nothing relies on either.
func (l *loading) complete() error {
	s := l.store
	synced := make(chan error, 1)
	go func() { synced <- s.log.SyncSettled() }()
	err := l.derive()
	return errors.Join(err, <-synced)
}

// derive completes queues, index and delayed messages by the settled log.
func (l *loading) derive() error {
	s := l.store
	if s.dispatch == nil {
		return nil
	}
	if err := s.dispatch.cutDeletions(l.verdict.end, s.dir); err != nil {
		return err
	}
	if err := s.dispatch.finishDeletions(); err != nil {
		return err
	}
	if err := s.reconcile(l); err != nil {
		return err
	}
	s.delivery = newDelivery(s, l.delays, l.found.delivered(l.verdict))
	return nil
}

// settled is what positions are worth once the log ends at end and queues are
// compared with it from an offset on.
func settled(p storedir.Positions, end, queues int64) storedir.Positions {
	p.LogDurable = min(p.LogDurable, end)
	p.DelaysSaved = min(p.DelaysSaved, end)
	if min(queues, end) < p.QueuesDurable {
		p.QueuesDurable, p.QueuesSum = 0, 0
	}
	if end < p.Indexed {
		p.Indexed = end
		if end <= p.IndexEnd {
			p.Indexed, p.IndexEnd = 0, -1
		}
	}
	return p
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

// saveSkipped makes durable which ranges are given up, if that is news.
func saveSkipped(dir storedir.Layout, before, now commitlog.Ranges) error {
	if slices.Equal(before, now) {
		return nil
	}
	saved := make([]storedir.SkippedRange, len(now))
	for i, r := range now {
		saved[i] = storedir.SkippedRange(r)
	}
	if err := dir.SaveSkipped(saved); err != nil {
		return fmt.Errorf("remember what is skipped: %w", err)
	}
	return nil
}
