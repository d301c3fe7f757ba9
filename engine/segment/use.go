package segment

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"commitlab/engine/fsutil"
	"commitlab/engine/mmap"
)

// A file of a queue with Options.Late is known by name, size and positions, until
// somebody asks for its bytes:
//
//	OpenQueue ─► known ─► Peek, positions, Destroy: no descriptor, no mapping
//	               └► View, Reserve, Sync, … ─► use ─► opened and mapped, to the end
//
// The first use may fail, for want of descriptors or mappings, or because the file
// was changed from outside meanwhile. That is the error of whoever wanted the bytes,
// and the next one tries again.

// known is a file that is there in its full size, all positions at its end.
func known(path string, base int64, o *Options) *File {
	f := newFile(path, base, o)
	f.name.pending.Store(o.SyncLater && o.Unclean)
	f.setPositions(f.size)
	return f
}

// KnownQueue is OpenQueue, with Options.Late, for a directory that need not be looked
// at: it holds n whole files, the first at base, and nothing else.
func KnownQueue(dir string, base int64, n int, o *Options, logger *slog.Logger) *Queue {
	q := &Queue{dir: dir, opt: o, logger: logger}
	files := make([]*File, n)
	for i := range files {
		at := base + int64(i)*o.FileBytes
		files[i] = known(dir+string(filepath.Separator)+FileName(at), at, o)
	}
	q.files.Store(&files)
	return q
}

// Alone reports whether the directory holds the files of the queue, in their size, and
// nothing else. Nobody may change the queue meanwhile.
func (q *Queue) Alone() (bool, error) {
	found, err := fsutil.List(q.dir)
	if err != nil {
		return false, fmt.Errorf("list log directory: %w", err)
	}
	files := q.Files()
	return slices.EqualFunc(found, files, func(e fsutil.Entry, f *File) bool {
		return e.Name == filepath.Base(f.path) && !e.Dir && e.Size == f.size
	}), nil
}

// Opened reports whether the file is open and mapped. It stays so until the file is
// taken down.
func (f *File) Opened() bool { return f.opened.Load() }

// Use opens and maps the file unless it is. It fails with ErrClosed if that was not
// done before the file was shut down.
func (f *File) Use() error {
	if f.opened.Load() {
		return nil
	}
	if !f.life.hold() {
		return ErrClosed
	}
	defer f.life.release()
	return f.firstUse()
}

// use is Use for a caller that holds a reference, or is alone with the file.
func (f *File) use() error {
	if f.opened.Load() {
		return nil
	}
	return f.firstUse()
}

func (f *File) firstUse() error {
	f.end.work.Lock()
	defer f.end.work.Unlock()
	switch {
	case f.opened.Load():
		return nil
	case f.end.closed:
		return ErrClosed
	}
	return f.open()
}

// open opens and maps the file. Until it returns nobody else may use it.
func (f *File) open() error {
	// Of a regular file the flag means nothing to the system. It spares the four calls
	// that the os package needs to find out that there is nothing to poll.
	file, err := os.OpenFile(f.path, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if f.Doomed() { // after the call: by then another file may have had the name
		if err == nil {
			err = file.Close()
		}
		return ErrClosed
	}
	if err != nil {
		return fmt.Errorf("open log file: %w", err)
	}
	if err := f.attach(file); err != nil {
		return err
	}
	f.advise(f.opt.Advise, f.opt)
	return nil
}

// attach maps an open file that has its size. It takes it over, also on failure.
func (f *File) attach(file *os.File) error {
	region, err := f.opt.Mapper.Map(file, f.size, mmap.ReadWrite)
	if err != nil {
		return errors.Join(fmt.Errorf("map %s (%d bytes): %w", f.path, f.size, err), file.Close())
	}
	f.adopt(file, region)
	return nil
}

// adopt takes over an open file and its mapping.
func (f *File) adopt(file *os.File, region mmap.Region) {
	f.f, f.region, f.data = file, region, region.Bytes()
	f.opened.Store(true)
}

// Peek copies len(p) bytes at pos, whatever the positions say, and leaves a file that
// nobody has used as it is. Fewer bytes come with an error. For recovery.
func (f *File) Peek(p []byte, pos int64) (int, error) {
	if f.opened.Load() {
		return f.ReadAt(p, pos)
	}
	return fsutil.Peek(f.path, p, pos)
}

// Use opens and maps all files of the queue that nobody has used yet. Those that are
// shut down are passed over.
func (q *Queue) Use() error {
	for _, f := range q.Files() {
		if err := f.Use(); err != nil && !errors.Is(err, ErrClosed) {
			return err
		}
	}
	return nil
}
