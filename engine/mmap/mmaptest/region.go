package mmaptest

import (
	"errors"
	"fmt"

	"commitlab/engine/mmap"
)

// unmappedByte fills the memory of a file without mappings.
const unmappedByte = 0xDE

// region is one mapping of a file; its gone and mem are guarded by heap.mu.
type region struct {
	heap     *Heap
	file     *file
	path     string // as mapped, for messages and the trace
	mem      []byte // the part of file.live that is mapped, or zeros once replaced
	writable bool
	gone     error // nil, mmap.ErrReplaced or mmap.ErrUnmapped
}

func (r *region) Bytes() []byte {
	r.heap.mu.Lock()
	defer r.heap.mu.Unlock()
	if r.gone == mmap.ErrUnmapped {
		return nil
	}
	return r.mem
}

func (r *region) Sync(off, n int64) error { return r.sync(OpSync, off, n) }

func (r *region) SyncData(off, n int64) error { return r.sync(OpSyncData, off, n) }

func (r *region) sync(op Op, off, n int64) error {
	return r.do(op, off, n, func(live []byte) error {
		if r.writable {
			if _, err := r.file.disk.WriteAt(live, off); err != nil {
				return err
			}
		}
		copy(r.file.durable[off:off+n], live)
		r.file.sized = true
		return nil
	})
}

func (r *region) WriteAt(p []byte, off int64) (int, error) {
	written := 0
	err := r.do(OpWrite, off, int64(len(p)), func(live []byte) (err error) {
		written, err = r.file.disk.WriteAt(p, off)
		copy(live, p[:written])
		return err
	})
	return written, err
}

// ReadAt reads the live bytes: the page cache of a real mapping has no others.
func (r *region) ReadAt(p []byte, off int64) (int, error) {
	read := 0
	err := r.do(OpRead, off, int64(len(p)), func(live []byte) error {
		read = copy(p, live)
		return nil
	})
	return read, err
}

func (r *region) Renamed(name string) {
	r.heap.mu.Lock()
	defer r.heap.mu.Unlock()
	r.path = name
}

func (r *region) Advise(off, n int64, _ mmap.Advice) error {
	return r.do(OpAdvise, off, n, nothing)
}

func (r *region) Populate(off, n int64, _ mmap.PopulateMode) error {
	return r.do(OpPopulate, off, n, nothing)
}

func (r *region) Lock(off, n int64, _ bool) error { return r.do(OpLock, off, n, nothing) }

func (r *region) Unlock(off, n int64) error { return r.do(OpUnlock, off, n, nothing) }

func nothing([]byte) error { return nil }

func (r *region) CacheStat(off, n int64) (mmap.CacheStat, error) {
	err := r.do(OpCacheStat, off, n, func([]byte) error { return errors.ErrUnsupported })
	return mmap.CacheStat{}, err
}

func (r *region) ReplaceWithZeros() error {
	h := r.heap
	h.mu.Lock()
	defer h.mu.Unlock()
	length := int64(len(r.mem))
	err := r.gone
	if err == nil {
		err = h.happened(Event{Op: OpReplace, Path: r.path, N: length})
	}
	if err == nil {
		r.file.exposed = true
		err = r.letGo()
	}
	if err != nil {
		return r.failed(OpReplace, 0, length, err)
	}
	r.mem = make([]byte, length)
	r.gone = mmap.ErrReplaced
	return nil
}

func (r *region) Unmap() error {
	h := r.heap
	h.mu.Lock()
	defer h.mu.Unlock()
	length := int64(len(r.mem))
	if r.gone == mmap.ErrUnmapped {
		return r.failed(OpUnmap, 0, length, r.gone)
	}
	err := h.happened(Event{Op: OpUnmap, Path: r.path, N: length})
	if err == nil && r.gone == nil {
		err = r.letGo()
	}
	if err != nil {
		return r.failed(OpUnmap, 0, length, err)
	}
	r.gone = mmap.ErrUnmapped
	return nil
}

// letGo ends this region's use of the file's live bytes. The last region to do so
// leaves them in the file and makes the memory useless to whoever still reads it,
// unless readers of a replaced region may; mu is held.
func (r *region) letGo() error {
	f := r.file
	if f.mappings > 1 {
		f.mappings--
		return nil
	}
	if r.writable {
		if _, err := f.disk.WriteAt(f.live, 0); err != nil {
			return err
		}
	}
	if !f.exposed {
		for i := range f.live {
			f.live[i] = unmappedByte
		}
	}
	f.mappings, f.live, f.exposed = 0, nil, false
	return nil
}

// do checks, records and lets fail one call, and then performs it on the live bytes
// of the range.
func (r *region) do(op Op, off, n int64, call func(live []byte) error) error {
	h := r.heap
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.gone != nil {
		return r.failed(op, off, n, r.gone)
	}
	if length := int64(len(r.mem)); off < 0 || n < 0 || off > length || n > length-off {
		return r.failed(op, off, n, fmt.Errorf("%w of %d bytes", mmap.ErrRange, length))
	}
	if err := h.happened(Event{Op: op, Path: r.path, Off: off, N: n}); err != nil {
		return r.failed(op, off, n, err)
	}
	if err := call(r.mem[off : off+n]); err != nil {
		return r.failed(op, off, n, err)
	}
	return nil
}

func (r *region) failed(op Op, off, n int64, err error) error {
	return fmt.Errorf("mmaptest: %s %d bytes at %d of %s: %w", op, n, off, r.path, err)
}
