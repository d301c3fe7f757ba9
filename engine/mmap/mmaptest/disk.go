package mmaptest

import (
	"fmt"
	"os"
	"path/filepath"
)

// The calls below stand for those of package fsutil and os of the same meaning, so
// that the Heap sees the whole life of a file in one trace. None of them makes real
// blocks: that is for tests on a real file system.

// Fallocate gives f the length size, if it is shorter, and begins to track it:
// until SyncFile or the Sync of a Region not even the length is durable.
func (h *Heap) Fallocate(f *os.File, size int64) error {
	return h.onFile(Event{Op: OpAllocate, Path: f.Name(), N: size}, f, func(known *file) error {
		info, err := f.Stat()
		if err != nil || info.Size() >= size {
			return err
		}
		return f.Truncate(size)
	})
}

// ZeroFill is Fallocate and overwrites what is there; at the end all of it is durable.
// The file must not be mapped.
func (h *Heap) ZeroFill(f *os.File, size int64) error {
	return h.onFile(Event{Op: OpZeroFill, Path: f.Name(), N: size}, f, func(known *file) error {
		if known.mappings > 0 {
			return fmt.Errorf("file is mapped")
		}
		if _, err := f.WriteAt(make([]byte, size), 0); err != nil {
			return err
		}
		return known.settle()
	})
}

// SyncFile makes the length of f durable, and of its bytes those in the page cache:
// what was only stored to a mapping is left out.
func (h *Heap) SyncFile(f *os.File) error {
	return h.onFile(Event{Op: OpSyncFile, Path: f.Name()}, f, func(known *file) error {
		return known.settle()
	})
}

// PunchHole zeroes the range in the page cache and in mappings. It is not durable yet.
func (h *Heap) PunchHole(f *os.File, off, n int64) error {
	return h.onFile(Event{Op: OpPunchHole, Path: f.Name(), Off: off, N: n}, f, func(known *file) error {
		if live := int64(len(known.live)); off < live {
			clear(known.live[off:min(off+n, live)])
		}
		_, err := f.WriteAt(make([]byte, n), off)
		return err
	})
}

// NextData is off: stores are in memory, where any may be.
func (h *Heap) NextData(_ *os.File, off, _ int64) (int64, error) { return off, nil }

// NextHole is size.
func (h *Heap) NextHole(_ *os.File, _, size int64) (int64, error) { return size, nil }

// Truncate makes f shorter, also the memory of mappings that are still there. It is
// not durable until SyncFile.
func (h *Heap) Truncate(f *os.File, size int64) error {
	return h.onFile(Event{Op: OpTruncate, Path: f.Name(), N: size}, f, func(known *file) error {
		if live := int64(len(known.live)); size < live {
			clear(known.live[size:])
		}
		return f.Truncate(size)
	})
}

// Rename gives a file another name. Both may come back after a power cut until
// SyncDir.
func (h *Heap) Rename(from, to string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.happened(Event{Op: OpRename, Path: to}); err != nil {
		return fmt.Errorf("mmaptest: rename %s to %s: %w", from, to, err)
	}
	return os.Rename(from, to)
}

// Remove unlinks path. The name may come back after a power cut until SyncDir.
func (h *Heap) Remove(path string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.happened(Event{Op: OpRemove, Path: path}); err != nil {
		return fmt.Errorf("mmaptest: remove %s: %w", path, err)
	}
	return os.Remove(path)
}

// SyncDir makes the names in dir durable.
func (h *Heap) SyncDir(dir string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.happened(Event{Op: OpSyncDir, Path: dir}); err != nil {
		return fmt.Errorf("mmaptest: sync directory %s: %w", dir, err)
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("mmaptest: sync directory: %w", err)
	}
	entries, err := os.ReadDir(absolute)
	if err != nil {
		return fmt.Errorf("mmaptest: sync directory: %w", err)
	}
	durable := make(map[string]*file)
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return fmt.Errorf("mmaptest: sync directory %s: %w", dir, err)
		}
		if known := h.find(info); known != nil {
			durable[entry.Name()] = known
		}
	}
	h.names[absolute] = durable
	return nil
}

// onFile records and lets fail one call on an open file, which it gets to know if
// need be, and then performs it.
func (h *Heap) onFile(e Event, f *os.File, call func(known *file) error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.happened(e)
	var info os.FileInfo
	if err == nil {
		info, err = f.Stat()
	}
	if err == nil {
		known := h.find(info)
		if known == nil {
			known, err = h.track(f, info)
		}
		if err == nil {
			err = call(known)
		}
	}
	if err != nil {
		return fmt.Errorf("mmaptest: %s: %w", e, err)
	}
	return nil
}
