package segment

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"commitlab/engine/fsutil"
)

// A Queue is the ordered list of files of one log, contiguous and of equal
// size. Readers work on an immutable list; Add, Truncate and Close are the
// only calls that change it.
type Queue struct {
	dir string
	opt *Options

	files atomic.Pointer[[]*File] // replaced as a whole under mu
	mu    sync.Mutex
	// unfinished is the path of an empty last file, what a crash during creation leaves.
	unfinished string // guarded by mu

	logger *slog.Logger // immutable
}

// OpenQueue loads the files of dir, which is made if absent, and opens them, unless
// Options.Late leaves that to their first use. Every loaded file
// has its positions at its end; the caller finds the real end and calls
// Truncate. Entries that are not log files are left alone with one warning
// each. An empty last file is what a crash during creation leaves: it is no file
// of the queue, and the first call that changes the queue removes it. Any other wrong
// size, a gap or a repeated offset is an error.
func OpenQueue(dir string, o *Options, logger *slog.Logger) (*Queue, error) {
	q := &Queue{dir: dir, opt: o, logger: logger}
	q.files.Store(&[]*File{})
	found, err := list(dir, logger)
	if errors.Is(err, os.ErrNotExist) {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("open log directory: %w", err)
	}
	if len(found) == 0 { // perhaps the directory is new: its name must be there before the first record
		if err := o.Disk.SyncDir(filepath.Dir(dir)); err != nil {
			return nil, fmt.Errorf("sync name of log directory: %w", err)
		}
	}
	if n := len(found); n > 0 && found[n-1].size == 0 {
		found, q.unfinished = found[:n-1], found[n-1].path
	}
	for i, e := range found {
		if e.size != o.FileBytes {
			return nil, fmt.Errorf("log file %s: size %d bytes, expected %d (the configured file size); nothing was changed", e.path, e.size, o.FileBytes)
		}
		if want := found[0].base + int64(i)*o.FileBytes; e.base != want {
			return nil, fmt.Errorf("log directory %s: next file is %s, expected %s: files are missing or not spaced by the configured file size of %d bytes; nothing was changed",
				dir, FileName(e.base), FileName(want), o.FileBytes)
		}
	}
	files := make([]*File, 0, len(found))
	for _, e := range found {
		f := known(e.path, e.base, o)
		files = append(files, f)
		if o.Late {
			continue
		}
		if err := f.open(); err != nil {
			for _, g := range files {
				g.Shutdown()
			}
			return nil, err
		}
	}
	q.files.Store(&files)
	return q, nil
}

// entry is one file of a log directory before it is opened.
type entry struct {
	path string
	base int64
	size int64
}

// list returns the log files of dir in ascending order of offset.
func list(dir string, logger *slog.Logger) ([]entry, error) {
	names, err := fsutil.List(dir)
	if err != nil {
		return nil, fmt.Errorf("list log directory: %w", err)
	}
	var found []entry
	for _, e := range names { // sorted by name, so by offset
		path := filepath.Join(dir, e.Name)
		base, ok := parseFileName(e.Name)
		if !ok || e.Dir {
			logger.Warn("ignoring an entry that is not a log file", "path", path)
			continue
		}
		found = append(found, entry{path: path, base: base, size: e.Size})
	}
	return found, nil
}

// Dir is the directory of the queue.
func (q *Queue) Dir() string { return q.dir }

// Files is the current list, oldest first. It must not be changed.
func (q *Queue) Files() []*File { return *q.files.Load() }

// Last is the file that is appended to, nil in an empty queue.
func (q *Queue) Last() *File {
	files := q.Files()
	if len(files) == 0 {
		return nil
	}
	return files[len(files)-1]
}

// MinOffset is the log offset of the first byte of the first file that is not
// being destroyed, or 0 in an empty queue.
func (q *Queue) MinOffset() int64 {
	for _, f := range q.Files() {
		if !f.Doomed() {
			return f.Base()
		}
	}
	return 0
}

// Find returns the file that contains the log offset, or nil.
func (q *Queue) Find(offset int64) *File {
	files := q.Files()
	if len(files) == 0 || offset < files[0].base {
		return nil
	}
	i := (offset - files[0].base) / q.opt.FileBytes
	if i >= int64(len(files)) {
		return nil
	}
	return files[i]
}

// Add appends a file behind the last one.
func (q *Queue) Add(f *File) {
	q.mu.Lock()
	defer q.mu.Unlock()
	old := q.Files()
	if n := len(old); n > 0 && old[n-1].End() != f.base {
		panic(fmt.Sprintf("segment: file at %d added behind %d", f.base, old[n-1].End()))
	}
	files := append(old[:len(old):len(old)], f)
	q.files.Store(&files)
}

// removeUnfinished removes the empty file that OpenQueue found. The caller holds mu.
func (q *Queue) removeUnfinished() error {
	if q.unfinished == "" {
		return nil
	}
	q.logger.Warn("removing an empty last log file, left by a crash while it was created", "file", q.unfinished)
	if err := errors.Join(q.opt.Disk.Remove(q.unfinished), q.opt.Disk.SyncDir(q.dir)); err != nil {
		return fmt.Errorf("remove empty last log file: %w", err)
	}
	q.unfinished = ""
	return nil
}

// Create makes the file at base and adds it.
func (q *Queue) Create(base int64) (*File, error) {
	if last := q.Last(); last != nil {
		if err := last.SyncName(); err != nil {
			return nil, err
		}
	}
	f, err := Create(filepath.Join(q.dir, FileName(base)), base, q.opt)
	if err != nil {
		return nil, err
	}
	q.Add(f)
	return f, nil
}

// RemoveFirst takes the first file from the list when it is f, after its
// Destroy.
func (q *Queue) RemoveFirst(f *File) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if files := q.Files(); len(files) > 0 && files[0] == f {
		rest := files[1:]
		q.files.Store(&rest)
	}
}

// Truncate sets the end of the log to the given offset, for recovery: the
// positions of the file that contains it are set, later files are destroyed,
// from the last one back, so that a crash leaves no gap between files. Bytes
// behind the end are not erased; see File.Erase.
func (q *Queue) Truncate(end int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.removeUnfinished(); err != nil {
		return err
	}
	keep := q.Files()
	for n := len(keep); n > 0 && keep[n-1].base > end; n-- {
		if _, err := keep[n-1].Destroy(time.Now(), 0); err != nil {
			return err
		}
		keep = keep[:n-1]
	}
	for _, f := range keep {
		f.setPositions(min(end-f.base, f.size))
	}
	q.files.Store(&keep)
	return nil
}

// Unsync makes the bytes from the given offset on count as not durable, so that
// the next Sync of their files covers them. For recovery.
func (q *Queue) Unsync(from int64) {
	for _, f := range q.Files() {
		if pos := max(from-f.base, 0); f.flushed.Load() > pos {
			f.flushed.Store(pos)
		}
	}
}

// Close gives up all files. Mappings of files that are still held go with
// their last View.
func (q *Queue) Close() {
	for _, f := range q.Files() {
		f.Shutdown()
	}
}
