package consumequeue

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"commitlab/engine/fsutil"
	"commitlab/engine/segment"
)

// Options describe queues. All fields but Catalog and Names must be set.
type Options struct {
	// Files describes the files of each queue. FileBytes is a multiple of
	// UnitBytes; Transient is nil.
	Files segment.Options
	// SyncPath is how units become durable: msync or fdatasync.
	SyncPath segment.SyncPath
	// Clean says that the store was closed in order, so that all there is was
	// durable.
	Clean bool
	// Durable is the log offset such that the units of all records below were
	// durable, if the store was not closed in order. Open trusts them, reads those
	// behind, and gives up what lies behind these.
	Durable int64
	// Catalog is the path of the file by which LoadTable opens queues that nobody has
	// touched since SaveCatalog made it; "" for none. There is none either where stamps
	// do not tell, see [fsutil.StampsTell].
	Catalog string
	// Names makes the names of new files durable; nil leaves them to the next sync.
	Names  *Names
	Logger *slog.Logger
}

func (o *Options) check() error {
	switch {
	case o.Files.FileBytes <= 0 || o.Files.FileBytes%UnitBytes != 0:
		return fmt.Errorf("consume queue files of %d bytes: expected a multiple of %d", o.Files.FileBytes, UnitBytes)
	case o.Files.Transient != nil || o.SyncPath == segment.SyncPwrite:
		return fmt.Errorf("consume queue with sync path %q: expected %s or %s, without transient buffers", o.SyncPath, segment.SyncMsync, segment.SyncFdatasync)
	}
	return nil
}

// A Queue is one queue of one topic.
type Queue struct {
	dir   string         // immutable
	opt   *Options       // immutable
	files *segment.Queue // safe for concurrent use

	// What load has read, so that questions about the ends need no open file; immutable.
	first, last message
	// atRest is the stamp of the directory if the queue was loaded by the catalog, else
	// zero; immutable.
	atRest fsutil.Stamp

	putMu    sync.Mutex // orders Put, Skip, Reset and what closes, cuts or erases
	closed   bool       // guarded by putMu
	unerased bool       // guarded by putMu; see erase
	eraseErr error      // guarded by putMu; the first failure of an erase

	// Watermarks; written under putMu, but min is also raised by CorrectMin.
	min         atomic.Int64 // queue offset
	max         atomic.Int64 // queue offset
	maxPhysical atomic.Int64 // log offset

	syncMu  sync.Mutex
	syncErr error // guarded by syncMu; the first failure

	held heldFiles // deleted, but not yet released by their readers
}

// Open loads the queue in dir, which is made if absent, and finds its end. Files
// with a wrong size, or missing between others, are an error and nothing is
// changed; units that make no sense end the queue there. Files are opened and
// mapped when they are first used.
func Open(dir string, o Options) (*Queue, error) {
	o.Files.Late = true
	return open(dir, &o)
}

func open(dir string, o *Options) (*Queue, error) {
	q, err := load(dir, o)
	if err != nil {
		return nil, err
	}
	if err := q.settle(); err != nil {
		q.files.Close()
		return nil, fmt.Errorf("recover consume queue %s: %w", dir, err)
	}
	return q, nil
}

// load opens a queue and finds its end, but changes nothing. Before anything else
// than reads it needs settle.
func load(dir string, o *Options) (*Queue, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	files, err := segment.OpenQueue(dir, &o.Files, o.Logger)
	if err != nil {
		return nil, fmt.Errorf("open consume queue: %w", err)
	}
	q := &Queue{dir: dir, opt: o, files: files}
	if err := q.recover(); err != nil {
		files.Close()
		return nil, fmt.Errorf("recover consume queue %s: %w", dir, err)
	}
	return q, nil
}

// Dir is the directory of the queue.
func (q *Queue) Dir() string { return q.dir }

// Min is the queue offset of the first live unit; Max if there is none.
func (q *Queue) Min() int64 { return q.min.Load() }

// Max is the queue offset of the next unit.
func (q *Queue) Max() int64 { return q.max.Load() }

// MaxPhysical is the log offset behind the record of the last unit, 0 if there is
// none. It is raised before Max, and deleting the unit's file does not lower it.
func (q *Queue) MaxPhysical() int64 { return q.maxPhysical.Load() }

// Files is the number of files, each of which costs a mapping and a descriptor once
// it was used.
func (q *Queue) Files() int { return len(q.files.Files()) + q.held.count() }

// raiseMin moves Min forward.
func (q *Queue) raiseMin(offset int64) {
	for {
		old := q.min.Load()
		if offset <= old || q.min.CompareAndSwap(old, offset) {
			return
		}
	}
}

// Close gives up the files without syncing them. A Units that is still held
// stays valid until its Release.
func (q *Queue) Close() {
	q.putMu.Lock()
	defer q.putMu.Unlock()
	q.closed = true
	q.files.Close()
}

// Destroy removes the queue from the disk, for good: nothing can be read or put
// any more. Files that readers hold lose their names at once and the rest with
// their last Release, or in Reap. The directory goes too, unless it holds
// something else.
func (q *Queue) Destroy(now time.Time) error {
	q.putMu.Lock()
	defer q.putMu.Unlock()
	q.closed = true
	q.raiseMin(q.max.Load())
	if err := q.held.dropAll(q.files, now); err != nil {
		return fmt.Errorf("destroy consume queue %s: %w", q.dir, err)
	}
	return removeEmpty(q.dir, q.opt.Files.Disk)
}
