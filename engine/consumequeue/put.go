package consumequeue

import (
	"errors"
	"fmt"
	"time"

	"commitlab/engine/mmap"
	"commitlab/engine/segment"
)

// Put stores the unit of a queue offset. If it stands there already, or its file
// was deleted, there is nothing to do. A queue without any message starts at the
// offset of the first one. On an error nothing has changed, and the same Put may
// be tried again; see [ConflictError] and [GapError].
//
// A unit with the record of u and an extension address for its tags code counts
// as u: the address cannot be known again.
func (q *Queue) Put(offset int64, u Unit) error {
	if !u.Valid() || u.IsPrefill() || offset < 0 || offset > maxQueueOffset {
		return fmt.Errorf("%w: %+v at queue offset %d of %s", ErrUnit, u, offset, q.dir)
	}
	q.putMu.Lock()
	defer q.putMu.Unlock()
	if q.closed {
		return ErrClosed
	}
	if next := q.max.Load(); offset != next {
		switch {
		case offset < next:
			return q.confirm(offset, u)
		case q.maxPhysical.Load() > 0:
			return &GapError{Dir: q.dir, QueueOffset: offset, Max: next}
		}
		if err := q.reset(offset); err != nil {
			return err
		}
	}
	f, err := q.tail()
	if err != nil {
		return err
	}
	if err := q.store(f, u, 1); err != nil {
		return err
	}
	q.maxPhysical.Store(u.End())
	q.max.Store(offset + 1)
	return nil
}

// maxQueueOffset keeps positions in bytes within an int64.
const maxQueueOffset = 1<<63/UnitBytes - 1<<32

// confirm compares u with what stands at its place.
func (q *Queue) confirm(offset int64, u Unit) error {
	have, err := q.at(offset)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil // in a file that was deleted
	case err != nil:
		return fmt.Errorf("consume queue %s: compare offset %d: %w", q.dir, offset, err)
	case have == u,
		have.PhysicalOffset == u.PhysicalOffset && have.Size == u.Size && IsExtAddress(have.TagsCode):
		return nil
	}
	return &ConflictError{Dir: q.dir, QueueOffset: offset, Have: have, Want: u}
}

// Skip gives up the offsets from Max to offset: they are filled with pre-fill
// units, and the next Put goes to offset. At most as many as a file holds.
func (q *Queue) Skip(offset int64) error {
	q.putMu.Lock()
	defer q.putMu.Unlock()
	if q.closed {
		return ErrClosed
	}
	next := q.max.Load()
	if perFile := q.opt.Files.FileBytes / UnitBytes; offset < next || offset-next > perFile || offset > maxQueueOffset {
		return fmt.Errorf("%w: skip to queue offset %d of %s, which ends at %d: expected at most %d ahead", ErrUnit, offset, q.dir, next, perFile)
	}
	for next < offset {
		f, err := q.tail()
		if err != nil {
			return err
		}
		n := min(offset-next, (f.Size()-f.Wrote())/UnitBytes)
		if err := q.store(f, prefill, n); err != nil {
			return err
		}
		live := q.min.Load() < next
		next += n
		q.max.Store(next)
		if !live {
			q.raiseMin(next)
		}
	}
	return nil
}

// Reset drops all units and lets the queue start at offset, with Min and Max
// there, durably. Readers that hold units keep them. An offset below Max is for
// recovery, since readers would see Max go back.
func (q *Queue) Reset(offset int64) error {
	q.putMu.Lock()
	defer q.putMu.Unlock()
	if q.closed {
		return ErrClosed
	}
	if offset < 0 || offset > maxQueueOffset {
		return fmt.Errorf("%w: reset %s to queue offset %d", ErrUnit, q.dir, offset)
	}
	if err := q.reset(offset); err != nil {
		return err
	}
	f, err := q.tail()
	if err != nil {
		return err
	}
	if err := f.SyncAll(); err != nil {
		return fmt.Errorf("reset consume queue %s: %w", q.dir, err)
	}
	return nil
}

// reset takes the queue to offset, without any file.
func (q *Queue) reset(offset int64) error {
	q.raiseMin(q.max.Load())
	if err := q.held.dropAll(q.files, time.Now()); err != nil {
		return fmt.Errorf("reset consume queue %s: %w", q.dir, err)
	}
	q.unerased = false
	q.maxPhysical.Store(0)
	if offset < q.max.Load() {
		q.min.Store(offset)
	}
	q.max.Store(offset)
	q.raiseMin(offset)
	return nil
}

// tail returns the file that holds the place of Max, made if need be and filled
// up to there, with zeros behind.
func (q *Queue) tail() (*segment.File, error) {
	if err := q.erase(); err != nil {
		return nil, err
	}
	end := q.max.Load() * UnitBytes
	f := q.files.Last()
	if f == nil || f.Full() {
		var err error
		if f, err = q.files.Create(end - end%q.opt.Files.FileBytes); err != nil {
			return nil, fmt.Errorf("consume queue: %w", err)
		}
		q.opt.Names.add(f)
	}
	if missing := (end - f.Base() - f.Wrote()) / UnitBytes; missing > 0 {
		if err := q.store(f, prefill, missing); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Ready reports whether the unit of a queue offset can be put without a wait for the disk:
// no file has to be opened or erased for it, and no name to be made durable before the
// next file is made. It is for the writer.
func (q *Queue) Ready(offset int64) bool {
	q.putMu.Lock()
	defer q.putMu.Unlock()
	f, at := q.files.Last(), offset*UnitBytes
	if f == nil || !f.Opened() || q.unerased || offset != q.max.Load() || at < f.Base() {
		return false
	}
	return at < f.End() || at == f.End() && f.Named()
}

// store writes u n times behind what f holds. A page that the disk cannot back is
// an error, and the end of f stays where it was.
func (q *Queue) store(f *segment.File, u Unit, n int64) error {
	b, err := f.Reserve(n * UnitBytes)
	if err != nil {
		return err
	}
	if err := encodeTimes(b, u); err != nil {
		return fmt.Errorf("put to consume queue %s: %w", q.dir, errors.Join(err, f.Backed(n*UnitBytes)))
	}
	f.Publish(n * UnitBytes)
	return nil
}

// encodeTimes fills b with copies of u.
func encodeTimes(b []byte, u Unit) (err error) {
	defer mmap.Recover(&err, mmap.GuardFaults())
	for ; len(b) >= UnitBytes; b = b[UnitBytes:] {
		EncodeUnit(b, u)
	}
	return nil
}
