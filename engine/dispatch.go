package engine

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"commitlab/engine/commitlog"
	"commitlab/engine/consumequeue"
	"commitlab/engine/message"
	"commitlab/engine/mmap"
	"commitlab/engine/storedir"
)

// dispatchStepBytes bounds how much of the log one Step dispatches.
const dispatchStepBytes = 1 << 20

// A dispatcher follows the log and makes its records findable: first in the
// consume queue, then in the index, then readers that wait are told. It is a
// service. It and the puts that help it are the only writers of queues and index, one
// at a time.
//
// The watermark moves past a record when all three are done. If a queue or the
// index cannot take it (a full disk), the watermark stays and the next Step
// tries again: both know what they have already.
type dispatcher struct {
	lookahead // guarded by mu
	log       *commitlog.Log
	waiters   *waiters
	readable  func(offset int64) // nil: nobody is told
	durable   bool               // follow Flushed instead of Committed: readers see only what is on disk
	// repair is set while Open builds what is missing: a unit that differs from
	// the log is replaced then, and reported otherwise.
	repair       bool
	unitsPerFile int64 // of a consume queue
	assistBytes  int64 // puts help if more than that is not dispatched; negative: never

	// mu is held by whoever dispatches, and while a topic is deleted: no record of it
	// is then on its way into a queue.
	mu      sync.Mutex
	deleted storedir.DeletedTopics // guarded by mu once services run
	alone   bool                   // guarded by mu; puts do not help: the last attempt failed, or the store closes
	ahead   [jobsAhead]job         // guarded by mu; decoded and next to be dispatched

	// Written under mu, but assisted is cleared by the beat.
	at        atomic.Int64 // Dispatched: log offset below which everything is done
	storeMs   atomic.Int64 // store time of the last record dispatched
	messages  atomic.Int64 // records dispatched
	deletions atomic.Int64 // of topics, failed ones too
	assists   atomic.Int64 // puts that helped
	assisted  atomic.Bool  // by a put, since the last beat
}

// Name implements service.Service.
func (d *dispatcher) Name() string { return "dispatch" }

// limit is the log offset up to which records may be dispatched.
func (d *dispatcher) limit() int64 {
	if d.durable {
		return d.log.Flushed()
	}
	return d.log.Committed()
}

// Step dispatches up to about dispatchStepBytes and returns the number of
// records.
func (d *dispatcher) Step(time.Time) (worked int, err error) {
	if d.at.Load() >= d.limit() {
		return 0, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	worked, err = d.advance(dispatchStepBytes, false)
	d.alone = err != nil
	return worked, err
}

// advance dispatches records until at least so many bytes are done, or it is at the end
// of a file or at the limit, and returns the number of records. Where it is part of a put
// it takes few records at a time and does not wait for the disk. The caller holds mu.
func (d *dispatcher) advance(bytes int64, byPut bool) (worked int, err error) {
	from := d.at.Load()
	limit := d.limit()
	if from >= limit {
		return 0, nil
	}
	if gap, ok := d.log.Skipped().At(from); ok {
		if gap.Contains(from) {
			d.at.Store(gap.To)
			return 1, nil
		}
		limit = min(limit, gap.From)
	}
	view, fileEnd, err := d.log.Readable(from, limit)
	if err != nil {
		return 0, err
	}
	defer view.Release()
	defer mmap.Recover(&err, mmap.GuardFaults())
	data, ahead := view.Bytes(), d.ahead[:]
	if byPut {
		ahead = ahead[:assistRecords]
	}
	for pos := int64(0); pos < min(int64(len(data)), bytes); {
		if isBlank(data[pos:]) {
			if fileEnd > limit {
				return worked, nil // the file is just being closed
			}
			d.at.Store(fileEnd)
			return worked + 1, nil
		}
		jobs, err := d.look(data[pos:], ahead)
		if len(jobs) == 0 {
			return worked, fmt.Errorf("dispatch at offset %d: %w", from+pos, err)
		}
		d.prefetch(jobs)
		done, err := d.dispatchAll(jobs, byPut)
		if worked += done; d.readable != nil && done > 0 {
			d.readable(d.at.Load())
		}
		if err != nil {
			return worked, err
		}
		pos = d.at.Load() - from
	}
	return worked, nil
}

// isBlank reports whether the log leaves out the rest of the file that data is.
func isBlank(data []byte) bool {
	_, magic, err := message.RecordSize(data)
	return err == nil && magic == message.MagicBlank
}

// dispatchAll dispatches the records that are next, moves the watermark past each,
// and returns how many that were.
func (d *dispatcher) dispatchAll(jobs []job, byPut bool) (done int, err error) {
	at := d.at.Load()
	for i := range jobs {
		if byPut && !d.ready(&jobs[i]) {
			return i, errNotReady
		}
		if err := d.dispatch(&jobs[i]); err != nil {
			return i, fmt.Errorf("dispatch at offset %d: %w", at, err)
		}
		at += int64(jobs[i].record.Size)
		d.messages.Add(1)
		d.storeMs.Store(jobs[i].record.StoreTimestamp)
		d.at.Store(at)
	}
	return len(jobs), nil
}

func (d *dispatcher) dispatch(job *job) error {
	rec := &job.record
	queued := job.queued && !d.isDeleted(rec)
	if queued {
		if err := d.enqueue(job); err != nil {
			return err
		}
	}
	if d.index != nil {
		if err := d.index.Add(&job.entry); err != nil {
			return err
		}
	}
	if queued {
		d.waiters.notify(rec.Topic, rec.QueueID)
	}
	return nil
}

// isDeleted reports whether a record was there before its topic was deleted.
func (d *dispatcher) isDeleted(rec *message.Record) bool {
	if len(d.deleted) == 0 {
		return false
	}
	return rec.PhysicalOffset < d.deleted[string(rec.Topic)].Before
}

// enqueue puts the unit of a record into its queue, which is made if need be.
func (d *dispatcher) enqueue(job *job) (err error) {
	rec := &job.record
	for {
		if job.queue == nil {
			if job.queue, err = d.queues.GetOrCreate(string(rec.Topic), rec.QueueID); err != nil {
				return err
			}
		}
		if err = job.queue.Put(rec.QueueOffset, job.unit); err == nil {
			return nil
		}
		if err = d.mend(job, err); err != nil {
			return err
		}
	}
}

// mend deals with what a queue refused. It returns nil if the Put should be
// tried again.
func (d *dispatcher) mend(job *job, refused error) error {
	rec, queue := &job.record, job.queue
	var conflict *consumequeue.ConflictError
	var gap *consumequeue.GapError
	switch {
	case errors.Is(refused, consumequeue.ErrClosed): // the topic was deleted since
		d.known.DropTopic(string(rec.Topic))
		job.queue = nil
		return nil
	case errors.As(refused, &conflict) && d.repair:
		return queue.CutAt(rec.QueueOffset)
	case errors.As(refused, &gap) && d.repair:
		// Records between are not in the log any more, or were cut out of it. If
		// none of the queue's own is there either, it starts anew.
		if queue.MaxPhysical() <= d.log.Min() {
			return queue.Reset(rec.QueueOffset)
		}
		return queue.Skip(min(rec.QueueOffset, queue.Max()+d.unitsPerFile))
	}
	return refused
}
