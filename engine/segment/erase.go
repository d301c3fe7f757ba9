package segment

import (
	"bytes"
	"errors"
	"fmt"

	"commitlab/engine/mmap"
)

// zeroProbeBytes is how far behind the end Erase looks for stale bytes before
// it believes that the rest of the file is zero.
const zeroProbeBytes = 1 << 20

// Erase makes the bytes behind pos zero and durable, so that a truncated tail
// can never be taken for records again. With all it looks at the rest of the file;
// without it only if there are stale bytes just behind pos. Where all is zero
// nothing is done. For recovery, which runs alone.
func (f *File) Erase(pos int64, all bool, o *Options) error {
	if pos >= f.size {
		return nil
	}
	limit := f.size
	if !all {
		limit = min(pos+zeroProbeBytes, f.size)
	}
	if err := f.use(); err != nil {
		return err
	}
	if zero, err := f.zeroUpTo(pos, limit); err != nil || zero {
		return err
	}
	// The partial page first, then the whole pages by freeing their blocks.
	edge := min((pos+pageBytes-1)/pageBytes*pageBytes, f.size)
	if edge > pos {
		if _, err := f.region.WriteAt(make([]byte, edge-pos), pos); err != nil {
			return fmt.Errorf("erase %s from %d: %w", f.path, pos, err)
		}
	}
	if err := f.eraseWhole(edge, o); err != nil {
		return fmt.Errorf("erase %s from %d: %w", f.path, pos, err)
	}
	if err := f.region.SyncData(pos, f.size-pos); err != nil {
		return fmt.Errorf("sync erased bytes of %s from %d: %w", f.path, pos, err)
	}
	return nil
}

// eraseWhole zeroes [edge, size). Blocks that were freed are allocated again,
// as the options ask: appends rely on them.
func (f *File) eraseWhole(edge int64, o *Options) error {
	if edge == f.size {
		return nil
	}
	if o.Allocate != ZeroFill { // whose blocks must stay written ones
		err := o.Disk.PunchHole(f.f, edge, f.size-edge)
		if err == nil && o.Allocate == Fallocate {
			err = o.Disk.Fallocate(f.f, f.size)
		}
		if !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		o.Optional.Record("punch hole", err, "the tail is overwritten with zeros")
	}
	zeros := make([]byte, 1<<20)
	for off := edge; off < f.size; off += int64(len(zeros)) {
		if _, err := f.region.WriteAt(zeros[:min(int64(len(zeros)), f.size-off)], off); err != nil {
			return err
		}
	}
	return nil
}

// zeroUpTo reports whether [pos, limit) holds only zeros, without a look at what
// the file system says was never written.
func (f *File) zeroUpTo(pos, limit int64) (bool, error) {
	stored, err := f.Stored(pos, limit)
	if err != nil {
		return false, err
	}
	for _, e := range stored {
		if zero, err := f.zero(e.From, e.To-e.From); err != nil || !zero {
			return false, err
		}
	}
	return true, nil
}

// zero reports whether [pos, pos+n) holds only zeros.
func (f *File) zero(pos, n int64) (zero bool, err error) {
	defer mmap.Recover(&err, mmap.GuardFaults())
	const step = 4096
	var zeros [step]byte
	for data := f.data[pos : pos+n]; len(data) > 0; {
		part := data[:min(step, len(data))]
		if !bytes.Equal(part, zeros[:len(part)]) {
			return false, nil
		}
		data = data[len(part):]
	}
	return true, nil
}

// An Extent is a part of a file: positions [From, To).
type Extent struct{ From, To int64 }

// Stored returns the parts of [pos, limit) in which something may be stored, in
// order. What reads as zeros because it was never written is left out, as far as the
// file system tells. For recovery: it asks the file, not the mapping, and must be
// asked before the first look: a look makes pages ahead of it, and these count.
func (f *File) Stored(pos, limit int64) (parts []Extent, err error) {
	if err := f.use(); err != nil {
		return nil, err
	}
	for pos < limit {
		from, err := f.NextData(pos)
		if err != nil {
			return nil, err
		}
		if from >= limit {
			break
		}
		if pos, err = f.disk.NextHole(f.f, from, f.size); err != nil {
			return nil, err
		}
		if pos <= from {
			return nil, fmt.Errorf("segment: %s has data and a hole at %d", f.path, from)
		}
		parts = append(parts, Extent{from, min(pos, limit)})
	}
	return parts, nil
}

// NextData returns the first position from pos on at which something may be stored;
// the size of the file if there is nothing. See Stored.
func (f *File) NextData(pos int64) (int64, error) {
	if err := f.use(); err != nil {
		return 0, err
	}
	return f.disk.NextData(f.f, pos, f.size)
}
