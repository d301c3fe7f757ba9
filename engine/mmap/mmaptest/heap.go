package mmaptest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"commitlab/engine/mmap"
)

// Heap is a mmap.Mapper on the Go heap; see the package comment. Make one with NewHeap.
type Heap struct {
	// LoseNames makes CrashClone drop mapped files whose name no SyncDir covered since
	// they got it. To be set before the first CrashClone.
	LoseNames bool

	mu       sync.Mutex
	files    []*file                     // every file mapped so far that still has a name; guarded by mu
	names    map[string]map[string]*file // directory → its durable names of mapped files; guarded by mu
	trace    []Event                     // guarded by mu
	failures map[Op]*failure             // guarded by mu
}

// NewHeap makes a Heap that knows no files.
func NewHeap() *Heap {
	return &Heap{names: make(map[string]map[string]*file), failures: make(map[Op]*failure)}
}

// file is one file, whatever names it has had.
type file struct {
	disk     *os.File    // a descriptor of our own: outlives the caller's and keeps the inode from reuse
	info     os.FileInfo // for os.SameFile
	live     []byte      // nil while no Region is mapped; guarded by Heap.mu, its bytes are the callers'
	mappings int         // Regions not yet unmapped or replaced; guarded by Heap.mu
	durable  []byte      // guarded by Heap.mu
}

// Map maps f, open for writing if p is ReadWrite. It fails as the real one does if f
// is shorter than length, and also if f is mapped already with a shorter length.
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
	known, err := h.track(f, info)
	if err != nil {
		return nil, fmt.Errorf("mmaptest: map %s: %w", f.Name(), err)
	}
	if known.mappings == 0 {
		if err := known.load(info.Size()); err != nil {
			return nil, fmt.Errorf("mmaptest: map %s: %w", f.Name(), err)
		}
	}
	if int64(len(known.live)) < length {
		return nil, fmt.Errorf("mmaptest: map %d bytes of %s: %w: it is mapped with %d already", length, f.Name(), errors.ErrUnsupported, len(known.live))
	}
	known.mappings++
	return &region{heap: h, file: known, path: f.Name(), mem: known.live[:length:length], writable: p == mmap.ReadWrite}, nil
}

// SyncDir makes the names in dir durable, as fsutil.SyncDir does. CrashClone asks for
// it only with LoseNames.
func (h *Heap) SyncDir(dir string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.happened(Event{Op: OpSyncDir, Path: dir}); err != nil {
		return fmt.Errorf("mmaptest: sync directory %s: %w", dir, err)
	}
	entries, err := os.ReadDir(dir)
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
	h.names[filepath.Clean(dir)] = durable
	return nil
}

// track returns the file behind f, which it gets to know if need be; mu is held.
func (h *Heap) track(f *os.File, info os.FileInfo) (*file, error) {
	if known := h.find(info); known != nil {
		return known, nil
	}
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

// forget drops files that have neither a name nor a mapping; mu is held.
func (h *Heap) forget() {
	kept := h.files[:0]
	for _, known := range h.files {
		info, err := known.disk.Stat()
		if err == nil && known.mappings == 0 && info.Sys().(*syscall.Stat_t).Nlink == 0 {
			known.disk.Close()
			continue
		}
		kept = append(kept, known)
	}
	clear(h.files[len(kept):])
	h.files = kept
}

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

// load reads the file for its first Region. What it holds the first time is durable.
func (f *file) load(size int64) error {
	f.live = make([]byte, size)
	if _, err := f.disk.ReadAt(f.live, 0); err != nil && err != io.EOF {
		f.live = nil
		return err
	}
	switch length := int64(len(f.durable)); {
	case f.durable == nil:
		f.durable = append(make([]byte, 0, size), f.live...)
	case length < size:
		f.durable = append(f.durable, make([]byte, size-length)...)
	}
	return nil
}
