package segment

import (
	"bytes"
	"errors"
	"fmt"

	"commitlab/engine/fsutil"
	"commitlab/engine/mmap"
)

// zeroProbeBytes is how far behind the end Erase looks for stale bytes before
// it believes that the rest of the file is zero, and how much it looks at before it
// asks the file system again.
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
	for pos < limit {
		n := min(zeroProbeBytes, limit-pos)
		if zero, err := f.zero(pos, n); err != nil || !zero {
			return false, err
		}
		next, err := f.NextData(pos + n)
		if err != nil {
			return false, err
		}
		pos = next
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

// NextData returns the first position from pos on at which something may be
// stored; the size of the file if there is nothing. What reads as zeros because
// it was never written is passed over, as far as the file system tells. For
// recovery: it asks the file, not the mapping.
func (f *File) NextData(pos int64) (int64, error) { return fsutil.NextData(f.f, pos, f.size) }
