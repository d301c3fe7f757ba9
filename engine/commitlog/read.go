package commitlog

import (
	"errors"
	"fmt"

	"commitlab/engine/message"
	"commitlab/engine/mmap"
	"commitlab/engine/segment"
)

// Record decodes the record that begins at offset into rec, and returns a view that
// backs its bytes: the record may be used until the view is released. What lies
// far behind the end of the log is read as ColdRead says. What is
// at the offset is judged before it is believed: size, magic, lengths and the
// physical offset that the record itself states. Bytes that the disk cannot
// give are an error, ErrUnreadable, not a fault. It allocates nothing unless it fails, or copies
// as ColdPread does. If it fails, what is in rec means nothing.
//
// likely is how many bytes the record is likely to have, 0 if the caller does not
// know; see fetch.
func (l *Log) Record(rec *message.Record, offset, likely int64) (segment.View, error) {
	if len(l.skipped) > 0 {
		if gap, ok := l.skipped.At(offset); ok && gap.Contains(offset) {
			return segment.View{}, fmt.Errorf("%w: offset %d lies in the damaged range [%d, %d), which was given up", ErrNotFound, offset, gap.From, gap.To)
		}
	}
	f := l.queue.Find(offset)
	if f == nil {
		return segment.View{}, fmt.Errorf("%w: offset %d, the log holds [%d, %d)", ErrNotFound, offset, l.Min(), l.Committed())
	}
	pos := offset - f.Base()
	fetch(f, pos, likely)
	readable := f.ReadPosition() - pos
	if readable <= 0 {
		return segment.View{}, fmt.Errorf("%w: offset %d, the log holds [%d, %d)", ErrNotFound, offset, l.Min(), l.Committed())
	}
	view, err := segment.View{}, error(nil)
	if l.Committed()-offset > l.opt.ColdAfterBytes {
		view, err = l.coldView(f, pos, readable)
	} else {
		view, err = f.View(pos, readable)
	}
	if errors.Is(err, segment.ErrClosed) {
		return segment.View{}, fmt.Errorf("read offset %d: %w", offset, err)
	}
	if err != nil {
		return segment.View{}, l.unreadable(offset, f, err)
	}
	err = decode(rec, &view, offset)
	if err == nil {
		return view, nil
	}
	view.Release()
	if fault := (*mmap.FaultError)(nil); errors.As(err, &fault) {
		return segment.View{}, l.unreadable(offset, f, err)
	}
	return segment.View{}, fmt.Errorf("%w: offset %d in %s at %d: %w", ErrNotFound, offset, f.Path(), pos, err)
}

// fetchBytes bounds what is fetched on a guess. Of what is longer the processor
// fetches the rest by itself, once it sees it read in order.
const fetchBytes = 2 << 10

// fetch asks the processor for the lines of a record that is likely to have so many
// bytes, before the first of them is read. Without it the reader waits for the memory
// twice: for the head, and for what the head leads to, topic and properties at the
// end; and each time for as long as for a step in the index. It waits for nothing, and
// if the guess is wrong some lines came in vain.
//
// Note: with the lines of head and end alone a lookup took a fifth longer. Its caller
// reads the body, too, as a rule.
func fetch(f *segment.File, pos, likely int64) {
	if likely > 0 {
		f.FetchLines(pos, min(likely, fetchBytes))
	}
}

// unreadable counts a read that failed with err.
func (l *Log) unreadable(offset int64, f *segment.File, err error) error {
	l.failedReads.Add(1)
	return fmt.Errorf("%w: offset %d in %s at %d: %w", ErrUnreadable, offset, f.Path(), offset-f.Base(), err)
}

// decode clips the view to the one record at its start and decodes it.
func decode(rec *message.Record, view *segment.View, offset int64) (err error) {
	defer mmap.Recover(&err, mmap.GuardFaults())
	if err := message.DecodeInto(rec, view.Bytes()); err != nil {
		return err
	}
	if rec.PhysicalOffset != offset {
		return &message.CheckError{Step: message.StepPosition, Got: rec.PhysicalOffset, Want: offset}
	}
	view.Clip(rec.Size)
	return view.Touch()
}

// Readable returns the bytes from offset to the end of what may be read in its
// file, limited to the log offset limit, with the offset at which the next file
// begins. An offset at the limit gives an empty view. The caller releases the
// view.
func (l *Log) Readable(offset, limit int64) (view segment.View, fileEnd int64, err error) {
	f := l.queue.Find(offset)
	if f == nil {
		return segment.View{}, 0, fmt.Errorf("%w: offset %d, the log holds [%d, %d)", ErrNotFound, offset, l.Min(), l.Committed())
	}
	pos := offset - f.Base()
	n := min(f.ReadPosition(), limit-f.Base()) - pos
	view, err = f.View(pos, max(n, 0))
	if err != nil {
		return segment.View{}, 0, fmt.Errorf("read from offset %d: %w", offset, err)
	}
	return view, f.End(), nil
}
