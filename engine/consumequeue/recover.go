package consumequeue

import (
	"cmp"
	"fmt"
	"math"
)

// recover finds the end of the units. Files whose units are durable are trusted:
// all but the last used one of a queue that was closed in order, else those whose
// records lie below Options.Durable. Of the others a power cut may have taken
// pages in any order. Runs alone, changes nothing on disk, and leaves the files
// unopened, but where there are fillers in place of messages.
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
	s, err := scan(files, from, q.opt.Logger)
	if err != nil {
		return err
	}
	if from > 0 {
		u, err := peekUnit(files[0])
		if err != nil {
			return err
		}
		s.first = message{offset: files[0].Base() / UnitBytes, unit: u}
	}
	q.first, q.last, q.unerased = s.first, s.last, !q.opt.Clean && !s.zeros
	end := s.end / UnitBytes
	if from > 0 && (!s.first.ok() || !s.last.ok()) { // they stand where nothing was read
		if err := q.files.Use(); err != nil {
			return err
		}
		q.min.Store(files[0].Base() / UnitBytes)
		q.place(end)
		return nil
	}
	q.max.Store(end)
	q.maxPhysical.Store(s.last.unit.End())
	if q.min.Store(end); s.first.ok() {
		q.min.Store(s.first.offset)
	}
	return nil
}

// settle gives up what lies behind the end of the units, durably: files at once, what
// is left in the last one with erase. What a killed process left in the page cache
// counts as not yet synced.
func (q *Queue) settle() error {
	end := q.max.Load() * UnitBytes
	if err := q.files.Truncate(end); err != nil {
		return fmt.Errorf("cut at byte %d: %w", end, err)
	}
	if !q.opt.Clean && !q.restedAtLoad() {
		q.files.Unsync(q.Below(q.opt.Durable) * UnitBytes)
	}
	return nil
}

// erase makes zeros, durably, of what an abnormal exit left behind the end in the
// last file, which load has not opened for that. It must be done before a unit is
// stored: stale units must not come to stand right behind it. putMu is held.
func (q *Queue) erase() error {
	last := q.files.Last()
	if !q.unerased || last == nil {
		return nil
	}
	if err := last.Use(); err != nil {
		return fmt.Errorf("consume queue: %w", err)
	}
	if err := last.Erase(q.max.Load()*UnitBytes-last.Base(), true, &q.opt.Files); err != nil {
		err = fmt.Errorf("erase behind the end of consume queue %s: %w", q.dir, err)
		q.eraseErr = cmp.Or(q.eraseErr, err)
		return err
	}
	q.unerased = false
	return nil
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
	if err := q.files.Use(); err != nil {
		return fmt.Errorf("cut consume queue %s: %w", q.dir, err)
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
	if err := q.files.Use(); err != nil {
		return fmt.Errorf("cut consume queue %s: %w", q.dir, err)
	}
	return q.cut(offset)
}

// cut makes offset the end of the queue, whose files are open; putMu is held.
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
	q.unerased = false
	return nil
}
