package consumequeue

import (
	"fmt"
	"math"

	"commitlab/engine/mmap"
	"commitlab/engine/segment"
)

// recover finds the end of the units. Files whose units are durable are trusted:
// all but the last used one of a queue that was closed in order, else those whose
// records lie below Options.Durable. Of the others a power cut may have taken
// pages in any order. Runs alone and changes nothing on disk.
func (q *Queue) recover() error {
	files := q.files.Files()
	if len(files) == 0 {
		return nil
	}
	if base := files[0].Base(); base%UnitBytes != 0 {
		return fmt.Errorf("%s starts within a unit of %d bytes", files[0].Path(), UnitBytes)
	}
	durable := q.opt.Durable
	if q.opt.Clean {
		durable = math.MaxInt64
	}
	from, err := lastTrusted(files, durable)
	if err != nil {
		return err
	}
	end, err := q.scan(files, from)
	if err != nil {
		return err
	}
	q.min.Store(files[0].Base() / UnitBytes)
	q.place(end / UnitBytes)
	return nil
}

// settle gives up what lies behind the end of the units, durably. What a killed
// process left in the page cache counts as not yet synced.
func (q *Queue) settle() error {
	if len(q.files.Files()) == 0 {
		return nil
	}
	end := q.max.Load() * UnitBytes
	if err := q.files.Truncate(end); err != nil {
		return fmt.Errorf("cut at byte %d: %w", end, err)
	}
	if q.opt.Clean {
		return nil
	}
	last := q.files.Last()
	if err := last.Erase(end-last.Base(), true, &q.opt.Files); err != nil {
		return err
	}
	q.files.Unsync(q.Below(q.opt.Durable) * UnitBytes)
	return nil
}

// lastTrusted is the index of the last file that starts with the unit of a record
// below a log offset, or 0: the units of all files before it are of such records.
func lastTrusted(files []*segment.File, durable int64) (int, error) {
	for i := len(files) - 1; i > 0; i-- {
		n, end, err := scanFile(files[i], UnitBytes, 0)
		if err != nil {
			return 0, err
		}
		prefill := n > 0 && end == 0 // tells only whether the file is used at all
		if n > 0 && end <= durable && (!prefill || durable == math.MaxInt64) {
			return i, nil
		}
	}
	return 0, nil
}

// scan walks the units of files[from:] and returns the byte of the queue behind
// the last one that makes sense.
func (q *Queue) scan(files []*segment.File, from int) (end int64, err error) {
	var logEnd int64
	for i, f := range files[from:] {
		n, last, err := scanFile(f, f.Size(), logEnd)
		if err != nil {
			return 0, err
		}
		logEnd, end = last, f.Base()+n
		if n == f.Size() {
			continue
		}
		for _, behind := range files[from+i+1:] {
			if n, _, err := scanFile(behind, UnitBytes, 0); err == nil && n > 0 {
				q.opt.Logger.Warn("consume queue is damaged; the units behind have to be built again from the log",
					"file", f.Path(), "position", n, "lastFile", files[len(files)-1].Path())
				break
			}
		}
		break
	}
	return end, nil
}

// scanFile walks the units in the first limit bytes of f. It returns the position
// behind the last unit that is valid and lies behind logEnd in the log, and the
// log offset behind the last record.
func scanFile(f *segment.File, limit, logEnd int64) (n, last int64, err error) {
	view, err := f.View(0, limit)
	if err != nil {
		return 0, 0, err
	}
	defer view.Release()
	defer mmap.Recover(&err, mmap.GuardFaults())
	for b := view.Bytes(); len(b) >= UnitBytes; b = b[UnitBytes:] {
		u := DecodeUnit(b)
		if !u.IsPrefill() {
			if !u.Valid() || u.PhysicalOffset < logEnd {
				break
			}
			logEnd = u.End()
		}
		n += UnitBytes
	}
	return n, logEnd, nil
}

// place sets the watermarks of a queue that ends at an offset, keeping Min as far
// as messages stand there.
func (q *Queue) place(end int64) {
	q.max.Store(end)
	_, last, _ := q.lastMessage(end)
	q.maxPhysical.Store(last.End())
	q.min.Store(q.firstMessage(min(q.min.Load(), end), end))
}

// TruncateTo drops the units of records that do not lie wholly below a log
// offset, the end of a log that was cut. What is dropped is erased durably. The
// pre-fill units below the first message stay. For recovery.
func (q *Queue) TruncateTo(physical int64) error {
	q.putMu.Lock()
	defer q.putMu.Unlock()
	if q.maxPhysical.Load() <= physical {
		return nil
	}
	keep := q.max.Load()
	for {
		offset, u, ok := q.lastMessage(keep)
		if !ok {
			break
		}
		if u.End() <= physical {
			keep = offset + 1
			break
		}
		keep = offset
	}
	return q.cut(keep)
}

// CutAt drops the units from a queue offset on, and erases them durably, so that
// they can be put again. For recovery, after a [ConflictError].
func (q *Queue) CutAt(offset int64) error {
	q.putMu.Lock()
	defer q.putMu.Unlock()
	if offset >= q.max.Load() {
		return nil
	}
	return q.cut(offset)
}

// cut makes offset the end of the queue; putMu is held.
func (q *Queue) cut(offset int64) error {
	files := q.files.Files()
	if q.closed {
		return ErrClosed
	}
	if len(files) == 0 || offset*UnitBytes < files[0].Base() {
		return fmt.Errorf("%w: cut %s at queue offset %d: no file reaches back that far", ErrUnit, q.dir, offset)
	}
	if err := q.files.Truncate(offset * UnitBytes); err != nil {
		return fmt.Errorf("cut consume queue %s at offset %d: %w", q.dir, offset, err)
	}
	last := q.files.Last()
	q.place(offset)
	if err := last.Erase(offset*UnitBytes-last.Base(), true, &q.opt.Files); err != nil {
		return fmt.Errorf("cut consume queue %s at offset %d: %w", q.dir, offset, err)
	}
	return nil
}
