package mmaptest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"

	"commitlab/engine/mmap"
)

// Heap is a mmap.Mapper on the Go heap; see the package comment. Make one with NewHeap.
type Heap struct {
	// LoseNames lets CrashClone undo changes of names that no SyncDir covered: a new
	// file is missing, a removed or renamed one is back. Set it before the first use.
	LoseNames bool

	mu       sync.Mutex
	files    []*file                     // the files known so far, in that order; guarded by mu
	names    map[string]map[string]*file // absolute directory → durable name → known file; guarded by mu
	trace    []Event                     // guarded by mu
	failures map[Op]*failure             // guarded by mu
}

// NewHeap makes a Heap that knows no files.
func NewHeap() *Heap {
	return &Heap{names: make(map[string]map[string]*file), failures: make(map[Op]*failure)}
}

// file is one file, whatever names it has had. Its fields are guarded by Heap.mu,
// but for the bytes of live, which are the callers'.
type file struct {
	disk     *os.File    // a descriptor of our own: outlives the caller's and keeps the inode from reuse
	info     os.FileInfo // for os.SameFile
	live     []byte      // nil while no Region is mapped
	mappings int         // Regions not yet unmapped or replaced
	exposed  bool        // readers of a replaced Region may still use live
	durable  []byte      // as long as the file at its last load; what lies beyond is zeros
	sized    bool        // the length of the file is durable
}

// Map maps f as the real one does. It fails also if f is mapped already and was shorter
// than length then. A file whose first descriptor here was read-only cannot be written
// through a later one.
func (h *Heap) Map(f *os.File, length int64, p mmap.Prot) (mmap.Region, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.happened(Event{Op: OpMap, Path: f.Name(), N: length}); err != nil {
		return nil, fmt.Errorf("mmaptest: map %s: %w", f.Name(), err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("mmaptest: map %s: %w", f.Name(), err)
	}
	if length <= 0 || info.Size() < length {
		return nil, fmt.Errorf("mmaptest: map %d bytes of %s: %w: the file has %d", length, f.Name(), mmap.ErrRange, info.Size())
	}
	known := h.find(info)
	if known == nil {
		if known, err = h.track(f, info); err != nil {
			return nil, fmt.Errorf("mmaptest: map %s: %w", f.Name(), err)
		}
		if err := known.settle(); err != nil {
			return nil, fmt.Errorf("mmaptest: map %s: %w", f.Name(), err)
		}
	}
	if known.mappings == 0 {
		if known.live, err = known.content(); err != nil {
			return nil, fmt.Errorf("mmaptest: map %s: %w", f.Name(), err)
		}
		known.durable = append(known.durable, make([]byte, max(0, len(known.live)-len(known.durable)))...)
	}
	if int64(len(known.live)) < length {
		return nil, fmt.Errorf("mmaptest: map %d bytes of %s: %w: it is mapped with %d already", length, f.Name(), errors.ErrUnsupported, len(known.live))
	}
	known.mappings++
	return &region{heap: h, file: known, path: f.Name(), mem: known.live[:length:length], writable: p == mmap.ReadWrite}, nil
}

// track gets to know the file behind f, of which nothing is durable; mu is held.
func (h *Heap) track(f *os.File, info os.FileInfo) (*file, error) {
	h.forget()
	fd, err := duplicate(f)
	if err != nil {
		return nil, err
	}
	known := &file{disk: os.NewFile(uintptr(fd), f.Name()), info: info}
	h.files = append(h.files, known)
	return known, nil
}

// find returns the known file with this identity, or nil; mu is held.
func (h *Heap) find(info os.FileInfo) *file {
	for _, known := range h.files {
		if os.SameFile(known.info, info) {
			return known
		}
	}
	return nil
}

// forget drops files that have neither a name, nor had one that a power cut would
// bring back, nor a mapping; mu is held.
func (h *Heap) forget() {
	returning := make(map[*file]bool)
	for _, names := range h.names {
		for _, known := range names {
			returning[known] = true
		}
	}
	h.files = slices.DeleteFunc(h.files, func(known *file) bool {
		info, err := known.disk.Stat()
		if err != nil || known.mappings > 0 || returning[known] || info.Sys().(*syscall.Stat_t).Nlink > 0 {
			return false
		}
		known.disk.Close()
		return true
	})
}

// duplicate is a descriptor for the file of f that lives on when f is closed.
func duplicate(f *os.File) (fd int, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var dupErr error
	err = conn.Control(func(original uintptr) {
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		if fd, dupErr = syscall.Dup(int(original)); dupErr == nil {
			syscall.CloseOnExec(fd)
		}
	})
	return fd, errors.Join(err, dupErr)
}

// content reads what the page cache has of the file.
func (f *file) content() ([]byte, error) {
	info, err := f.disk.Stat()
	if err != nil {
		return nil, err
	}
	content := make([]byte, info.Size())
	if _, err := f.disk.ReadAt(content, 0); err != nil && err != io.EOF {
		return nil, err
	}
	return content, nil
}

// settle makes all that the page cache has of the file durable.
func (f *file) settle() (err error) {
	f.durable, err = f.content()
	f.sized = f.sized || err == nil
	return err
}
