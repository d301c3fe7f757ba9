package commitlog

import (
	"errors"
	"fmt"
	"time"

	"commitlab/engine/message"
	"commitlab/engine/mmap"
	"commitlab/engine/segment"
)

// A Position is what an append was given.
type Position struct {
	PhysicalOffset   int64 // of the record's first byte in the log
	QueueOffset      int64 // in units of its consume queue
	StoreTimestampMs int64
	Size             int32 // of the record, in bytes
}

// End is the offset behind the record.
func (p Position) End() int64 { return p.PhysicalOffset + int64(p.Size) }

// appendCounts are plain integers: the append lock guards them.
type appendCounts struct {
	appends, bytes          int64
	rolls                   int64
	rollWaits               int64 // rolls that waited 10 µs or more
	rollWaitNs, rollWaitMax int64
}

// Append stores one planned message at the end of the log. When it returns
// without error the record can be read (with transient buffers: after the next
// commit) and survives the process; WaitDurable tells when it survives the
// machine. On error nothing was stored. It allocates nothing.
func (l *Log) Append(m *message.Message, plan *message.Plan) (Position, error) {
	if !l.enter() {
		return Position{}, ErrBusy
	}
	defer l.lock.unlock() // also if it panics: a message was changed under its plan
	pos, err := l.append(m, plan)
	if err != nil {
		err = l.unbacked(err, int64(plan.Size))
	}
	return pos, err
}

// enter takes the append lock, unless it is held and has been for too long.
func (l *Log) enter() bool {
	if l.lock.tryLock() {
		return true
	}
	if l.busy.Load() {
		return false
	}
	l.lock.lock()
	return true
}

// append runs under the append lock.
func (l *Log) append(m *message.Message, plan *message.Plan) (pos Position, err error) {
	size := int64(plan.Size)
	defer mmap.Recover(&err, mmap.GuardFaults())
	tail, err := l.room(size)
	if err != nil {
		return Position{}, err
	}
	dst, err := tail.Reserve(size)
	if err != nil {
		return Position{}, err
	}
	pos = Position{PhysicalOffset: tail.Base() + tail.Wrote(), StoreTimestampMs: l.clock.nowMs(), Size: int32(size)}
	next := l.offsets.Of(m.Topic, m.QueueID)
	queued := message.TransactionOf(m.SysFlag).Queued()
	if queued {
		pos.QueueOffset = *next
	}
	plan.Encode(dst, m, pos.QueueOffset, pos.PhysicalOffset, pos.StoreTimestampMs)
	tail.Publish(size)
	if queued {
		*next++
	}
	l.appended(1, size, pos.StoreTimestampMs)
	return pos, nil
}

// AppendBatch stores the messages one behind the other, all or none, and never
// across two files. They share a topic and queue and carry no transaction
// flag; plans and out are as long as batch.
func (l *Log) AppendBatch(batch []message.Message, plans []message.Plan, out []Position) error {
	if !l.enter() {
		return ErrBusy
	}
	defer l.lock.unlock()
	var total int64
	for i := range plans {
		total += int64(plans[i].Size)
	}
	if err := l.appendBatch(batch, plans, out, total); err != nil {
		return l.unbacked(err, total)
	}
	return nil
}

func (l *Log) appendBatch(batch []message.Message, plans []message.Plan, out []Position, total int64) (err error) {
	defer mmap.Recover(&err, mmap.GuardFaults())
	tail, err := l.room(total)
	if err != nil {
		return err
	}
	dst, err := tail.Reserve(total)
	if err != nil {
		return err
	}
	offset, now := tail.Base()+tail.Wrote(), l.clock.nowMs()
	next := l.offsets.Of(batch[0].Topic, batch[0].QueueID)
	for i := range batch {
		size := plans[i].Size
		out[i] = Position{PhysicalOffset: offset, QueueOffset: *next + int64(i), StoreTimestampMs: now, Size: int32(size)}
		plans[i].Encode(dst[:size], &batch[i], out[i].QueueOffset, offset, now)
		dst, offset = dst[size:], offset+int64(size)
	}
	tail.Publish(total)
	*next += int64(len(batch))
	l.appended(int64(len(batch)), total, now)
	return nil
}

// unbacked adds its cause to a fault in an append of size bytes: the tail takes
// no more because the disk is full, or because somebody cut the file.
func (l *Log) unbacked(err error, size int64) error {
	var fault *mmap.FaultError
	if errors.As(err, &fault) {
		err = errors.Join(err, l.queue.Last().Backed(max(size, message.BlankBytes)))
	}
	return err
}

// appended counts.
func (l *Log) appended(records, size, storeMs int64) {
	l.counts.appends += records
	l.counts.bytes += size
	if l.storedMs.Load() != storeMs {
		l.storedMs.Store(storeMs)
	}
}

// room returns a tail with place for size bytes and the blank record behind
// them.
func (l *Log) room(size int64) (*segment.File, error) {
	if r := l.refused.Load(); r != nil {
		return nil, *r
	}
	if size > l.largest {
		return nil, fmt.Errorf("%w: %d bytes, at most %d fit a file and a transient buffer", ErrRecordTooLarge, size, l.largest)
	}
	tail := l.queue.Last()
	if tail != nil && tail.Wrote()+size+message.BlankBytes <= tail.Size() {
		return tail, nil
	}
	return l.roll(tail)
}

// rollWaitFloorNs separates a roll that found its file ready from one that
// waited.
const rollWaitFloorNs = 10_000

// roll closes the tail with a blank record and makes the next file the tail.
// The next file comes first: without it the tail stays as it is, and smaller
// records may still fit.
func (l *Log) roll(tail *segment.File) (*segment.File, error) {
	var base int64
	if tail != nil {
		base = tail.End()
	}
	next, waited, err := l.prealloc.Take(base)
	if err != nil {
		if errors.Is(err, segment.ErrPreallocStopped) {
			return nil, ErrClosing
		}
		return nil, fmt.Errorf("next commit log file: %w", err)
	}
	if tail != nil && !tail.Full() {
		if err := seal(tail); err != nil {
			_, gone := next.Destroy(time.Now(), 0)
			return nil, errors.Join(err, gone)
		}
	}
	l.queue.Add(next)
	if tail != nil {
		l.prealloc.Rolled(tail)
	}
	l.prealloc.Request(next.End())
	l.counts.rolls++
	ns := waited.Nanoseconds()
	if ns >= rollWaitFloorNs {
		l.counts.rollWaits++
	}
	l.counts.rollWaitNs += ns
	l.counts.rollWaitMax = max(l.counts.rollWaitMax, ns)
	return next, nil
}

// seal ends a file with a blank record. It has a guard of its own, for its
// caller has a file to give back after a fault.
func seal(tail *segment.File) (err error) {
	defer mmap.Recover(&err, mmap.GuardFaults())
	blank, err := tail.Reserve(message.BlankBytes)
	if err != nil {
		return err
	}
	message.PutBlank(blank, int(tail.Size()-tail.Wrote()))
	tail.Publish(message.BlankBytes)
	tail.Seal()
	return nil
}
