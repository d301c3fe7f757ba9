package consumequeue

import (
	"errors"
	"fmt"
	"iter"

	"commitlab/engine/mmap"
	"commitlab/engine/segment"
)

// Read returns the unit of the message at a queue offset. It is false below Min,
// from Max on, where only a pre-fill unit stands, and if the file was deleted
// meanwhile or cannot be read. It allocates nothing, but for the first use of a file.
func (q *Queue) Read(offset int64) (Unit, bool) {
	if offset < q.min.Load() || offset >= q.max.Load() {
		return Unit{}, false
	}
	u, err := q.at(offset)
	return u, err == nil && u.Valid() && !u.IsPrefill()
}

// at reads what stands at an offset below Max, whether it is live or not.
func (q *Queue) at(offset int64) (Unit, error) {
	f := q.files.Find(offset * UnitBytes)
	if f == nil || !f.Available() {
		return Unit{}, ErrNotFound
	}
	if !f.Opened() { // as long as it is not, nothing in it has changed since load
		for _, known := range [...]message{q.first, q.last} {
			if known.offset == offset && known.ok() {
				return known.unit, nil
			}
		}
	}
	view, err := viewOf(f, offset*UnitBytes-f.Base(), UnitBytes)
	if err != nil {
		return Unit{}, err
	}
	u, err := decode(view.Bytes())
	view.Release()
	return u, err
}

// viewOf returns a range of f, which is opened if need be. It is ErrNotFound if the
// file is just being deleted.
func viewOf(f *segment.File, pos, n int64) (segment.View, error) {
	if err := f.Use(); err != nil && !errors.Is(err, segment.ErrClosed) {
		return segment.View{}, fmt.Errorf("consume queue: %w", err)
	}
	v, err := f.View(pos, n)
	if err != nil {
		return segment.View{}, ErrNotFound
	}
	return v, nil
}

// decode reads one unit from mapped bytes.
func decode(b []byte) (u Unit, err error) {
	defer mmap.Recover(&err, mmap.GuardFaults())
	return DecodeUnit(b), nil
}

// Units are neighbouring units of one file, held in the mapping: they may be read
// until Release and never after. The zero Units is empty.
type Units struct {
	view  segment.View
	first int64
}

// Units returns the units from a queue offset on: at most limit, as far as they
// lie in one file and below Max, at least one. Pre-fill units may be among them.
// Outside of [Min, Max), and if the file is just being deleted, it is
// ErrNotFound. The pages were touched: bytes that the disk cannot give are an
// error here, and so is a file that cannot be opened at its first use. It allocates
// nothing unless it fails or is that use.
func (q *Queue) Units(from int64, limit int) (Units, error) {
	end := q.max.Load()
	if from < q.min.Load() || from >= end || limit <= 0 {
		return Units{}, ErrNotFound
	}
	return q.span(from, from+min(end-from, int64(limit)))
}

// span holds the units of [from, to), a range below Max, that lie in the file of
// from.
func (q *Queue) span(from, to int64) (Units, error) {
	f := q.files.Find(from * UnitBytes)
	if f == nil || !f.Available() {
		return Units{}, ErrNotFound
	}
	pos := from*UnitBytes - f.Base()
	view, err := viewOf(f, pos, min((to-from)*UnitBytes, f.ReadPosition()-pos))
	if err != nil {
		return Units{}, err
	}
	if err := view.Touch(); err != nil {
		view.Release()
		return Units{}, err
	}
	return Units{view: view, first: from}, nil
}

// First is the queue offset of the first unit.
func (u *Units) First() int64 { return u.first }

// Len is the number of units.
func (u *Units) Len() int { return len(u.view.Bytes()) / UnitBytes }

// At returns unit i, 0 being the first.
func (u *Units) At(i int) Unit { return DecodeUnit(u.view.Bytes()[i*UnitBytes:]) }

// All yields the units with their queue offsets.
func (u *Units) All() iter.Seq2[int64, Unit] {
	return func(yield func(int64, Unit) bool) {
		for i := range u.Len() {
			if !yield(u.first+int64(i), u.At(i)) {
				return
			}
		}
	}
}

// Revoked reports that the file was destroyed by force while it was held: units
// may read as zeros, which are not Valid.
func (u *Units) Revoked() bool { return u.view.Revoked() }

// Release gives the units back. A second call does nothing.
func (u *Units) Release() { u.view.Release() }

// LastUnit returns the unit of the last message and its queue offset, expired or
// not. It is false without one, and if the file cannot be read.
func (q *Queue) LastUnit() (offset int64, u Unit, ok bool) {
	return q.lastMessage(q.max.Load())
}

// lastMessage returns the last unit below an offset that is no pre-fill unit.
func (q *Queue) lastMessage(below int64) (offset int64, u Unit, ok bool) {
	if u, err := q.at(below - 1); below > 0 && err == nil && u.Valid() && !u.IsPrefill() {
		return below - 1, u, true // without touching the pages of all others
	}
	for below > 0 {
		f := q.files.Find((below - 1) * UnitBytes)
		if f == nil {
			break
		}
		from := f.Base() / UnitBytes
		units, err := q.span(from, below)
		if err != nil {
			break
		}
		for i := units.Len() - 1; i >= 0; i-- {
			if u := units.At(i); u.Valid() && !u.IsPrefill() {
				units.Release()
				return from + int64(i), u, true
			}
		}
		units.Release()
		below = from
	}
	return 0, Unit{}, false
}

// firstMessage returns the offset of the first unit of [from, to) that is no
// pre-fill unit, or to.
func (q *Queue) firstMessage(from, to int64) int64 {
	if u, err := q.at(from); from < to && err == nil && u.Valid() && !u.IsPrefill() {
		return from
	}
	for from < to {
		units, err := q.span(from, to)
		if err != nil {
			return to
		}
		for offset, u := range units.All() {
			if !u.IsPrefill() {
				units.Release()
				return offset
			}
		}
		from += int64(units.Len())
		units.Release()
	}
	return to
}
