package commitlog

import (
	"fmt"

	"commitlab/engine/message"
	"commitlab/engine/mmap"
	"commitlab/engine/segment"
)

// Record returns the record that begins at offset, decoded, with a view that
// backs its bytes: the record may be used until the view is released. What is
// at the offset is judged before it is believed: size, magic, lengths and the
// physical offset that the record itself states. Bytes that the disk cannot
// give are an error, not a fault. It allocates nothing unless it fails.
func (l *Log) Record(offset int64) (message.Record, segment.View, error) {
	f := l.queue.Find(offset)
	if f == nil {
		return message.Record{}, segment.View{}, fmt.Errorf("%w: offset %d, the log holds [%d, %d)", ErrNotFound, offset, l.Min(), l.Committed())
	}
	pos := offset - f.Base()
	readable := f.ReadPosition() - pos
	if readable <= 0 {
		return message.Record{}, segment.View{}, fmt.Errorf("%w: offset %d, the log holds [%d, %d)", ErrNotFound, offset, l.Min(), l.Committed())
	}
	view, err := f.View(pos, readable)
	if err != nil {
		return message.Record{}, segment.View{}, fmt.Errorf("read offset %d: %w", offset, err)
	}
	rec, err := decode(&view, offset)
	if err != nil {
		view.Release()
		return message.Record{}, segment.View{}, fmt.Errorf("%w: offset %d in %s at %d: %w", ErrNotFound, offset, f.Path(), pos, err)
	}
	return rec, view, nil
}

// decode clips the view to the one record at its start and decodes it.
func decode(view *segment.View, offset int64) (rec message.Record, err error) {
	defer mmap.Recover(&err, mmap.GuardFaults())
	rec, err = message.Decode(view.Bytes())
	if err != nil {
		return rec, err
	}
	if rec.PhysicalOffset != offset {
		return rec, &message.CheckError{Step: message.StepPosition, Got: rec.PhysicalOffset, Want: offset}
	}
	view.Clip(rec.Size)
	return rec, view.Touch()
}
