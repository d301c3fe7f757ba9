package consumequeue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"commitlab/engine/mmap"
	"commitlab/engine/segment"
)

// An Ext is the extension of one queue: units of variable size that the tags
// codes of the queue point at. One goroutine writes; Get may be called by any,
// except beside TruncateAfter, which belongs to recovery.
type Ext struct {
	opt   *Options       // immutable
	files *segment.Queue // safe for concurrent use

	mu  sync.Mutex   // orders Put, TruncateAfter, Sync and Close
	end atomic.Int64 // byte behind the last unit; written under mu

	held heldFiles
}

// OpenExt loads the extension in dir, which is made if absent. Options are those
// of a queue, but for the size of a file, which need not be a multiple of
// anything and leaves room for the largest unit to be put.
//
// The end is found unit by unit. A torn unit ends its file; units in later files
// still count.
func OpenExt(dir string, o Options) (*Ext, error) {
	if o.Files.FileBytes < extHeadBytes+extSpareBytes {
		return nil, fmt.Errorf("consume queue extension files of %d bytes: expected at least %d", o.Files.FileBytes, extHeadBytes+extSpareBytes)
	}
	if o.Files.Transient != nil || o.SyncPath == segment.SyncPwrite {
		return nil, fmt.Errorf("consume queue extension with sync path %q and transient buffers: expected neither", o.SyncPath)
	}
	x := &Ext{opt: &o}
	files, err := segment.OpenQueue(dir, &x.opt.Files, o.Logger)
	if err != nil {
		return nil, fmt.Errorf("open consume queue extension: %w", err)
	}
	x.files = files
	if err := x.recover(); err != nil {
		files.Close()
		return nil, fmt.Errorf("recover consume queue extension %s: %w", dir, err)
	}
	return x, nil
}

// recover places the end behind the last unit. Runs alone.
func (x *Ext) recover() error {
	files := x.files.Files()
	if len(files) == 0 {
		return x.cut(0, false)
	}
	end := files[0].Base()
	for _, f := range files {
		n, err := scanExt(f)
		if err != nil {
			return err
		}
		if n > 0 {
			end = f.Base() + n
		}
	}
	if err := x.cut(end, !x.opt.Clean); err != nil || x.opt.Clean {
		return err
	}
	for _, f := range x.files.Files() {
		if err := f.SyncAll(); err != nil {
			return err
		}
	}
	return nil
}

// scanExt walks the units of a file and returns the position behind the last one.
func scanExt(f *segment.File) (end int64, err error) {
	view, err := f.View(0, f.Size())
	if err != nil {
		return 0, err
	}
	defer view.Release()
	defer mmap.Recover(&err, mmap.GuardFaults())
	for {
		size, ok := extSizeAt(view.Bytes()[end:], f.Size()-end)
		if !ok {
			return end, nil
		}
		end += size
	}
}

// cut makes end the end of the extension.
func (x *Ext) cut(end int64, erase bool) error {
	if err := x.files.Truncate(end); err != nil {
		return err
	}
	x.end.Store(end)
	if last := x.files.Last(); erase && last != nil {
		return last.Erase(end-last.Base(), true, &x.opt.Files)
	}
	return nil
}

// Put stores u and returns its address. The filter is copied. On an error nothing
// has changed, and the queue stores the real tags code instead.
func (x *Ext) Put(u ExtUnit) (address int64, err error) {
	size := u.size()
	if size > maxExtUnitBytes || size > x.opt.Files.FileBytes-extSpareBytes {
		return 0, fmt.Errorf("%w: filter of %d bytes, expected at most %d in files of %d",
			ErrUnit, len(u.Filter), min(MaxFilterBytes, x.opt.Files.FileBytes-extSpareBytes-extHeadBytes), x.opt.Files.FileBytes)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	f, err := x.room(size)
	if err != nil {
		return 0, err
	}
	offset := f.Base() + f.Wrote()
	if offset > maxExtOffset {
		return 0, fmt.Errorf("%w: extension %s is full", ErrUnit, x.files.Dir())
	}
	if err := x.store(f, size, func(b []byte) { u.encode(b) }); err != nil {
		return 0, err
	}
	x.end.Store(offset + size)
	return extAddress(offset), nil
}

// room returns a file with place for size bytes and those to spare. The next file
// comes first: without it the last one stays as it is.
func (x *Ext) room(size int64) (*segment.File, error) {
	last := x.files.Last()
	if last == nil {
		return x.files.Create(0)
	}
	if !last.Full() && size <= last.Size()-last.Wrote()-extSpareBytes {
		return last, nil
	}
	next, err := x.files.Create(last.End())
	if err != nil {
		return nil, fmt.Errorf("consume queue extension: %w", err)
	}
	if !last.Full() {
		err := x.store(last, 2, func(b []byte) { binary.BigEndian.PutUint16(b, extEndMarker&0xFFFF) })
		if err != nil {
			return nil, err
		}
		last.Seal()
	}
	return next, nil
}

// store publishes n bytes that encode fills.
func (x *Ext) store(f *segment.File, n int64, encode func([]byte)) error {
	b, err := f.Reserve(n)
	if err != nil {
		return err
	}
	if err := mmap.Guard(func() error { encode(b); return nil }); err != nil {
		return fmt.Errorf("put to consume queue extension %s: %w", x.files.Dir(), errors.Join(err, f.Backed(n)))
	}
	f.Publish(n)
	return nil
}

// Get returns the unit at an address with its filter appended to buf, which may
// be nil. It is false if address is none, or nothing stands there any more.
func (x *Ext) Get(address int64, buf []byte) (u ExtUnit, ok bool) {
	offset := extOffset(address)
	if !IsExtAddress(address) || offset >= x.end.Load() {
		return ExtUnit{}, false
	}
	f := x.files.Find(offset)
	if f == nil || !f.Available() {
		return ExtUnit{}, false
	}
	pos := offset - f.Base()
	view, err := f.View(pos, f.ReadPosition()-pos)
	if err != nil {
		return ExtUnit{}, false
	}
	defer view.Release()
	u, ok, err = getExt(view.Bytes(), f.Size()-pos, buf)
	return u, ok && err == nil
}

// getExt reads the unit at the start of b, in a file that ends left bytes behind.
func getExt(b []byte, left int64, buf []byte) (u ExtUnit, ok bool, err error) {
	defer mmap.Recover(&err, mmap.GuardFaults())
	size, ok := extSizeAt(b, left)
	if !ok {
		return ExtUnit{}, false, nil
	}
	return decodeExt(b[:size], buf), true, nil
}
