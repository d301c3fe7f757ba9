package consumequeue

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"commitlab/engine/fsutil"
	"commitlab/engine/segment"
)

// A queue at rest is one that nobody has touched since the catalog was made. These are
// the two ends of its life: how it is opened by what the catalog knows, and what the
// catalog gets to know.

// stampsTell is fsutil.StampsTell, replaced by tests on whatever file system there is.
var stampsTell = fsutil.StampsTell

// readCatalog reads what may be believed of the catalog, if there is one.
func readCatalog(o *Options) (c catalog, err error) {
	if o.Catalog == "" {
		return c, nil
	}
	b, err := os.ReadFile(o.Catalog)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("catalog of consume queues: %w", err)
	}
	boot, fileBytes, c, err := decodeCatalog(b)
	if err != nil {
		return catalog{}, fmt.Errorf("catalog of consume queues %s: %w", o.Catalog, err)
	}
	if fileBytes != o.Files.FileBytes {
		return catalog{}, nil
	}
	if !o.Clean {
		if now, err := fsutil.BootID(); err != nil || now != boot {
			return catalog{}, nil
		}
	}
	return c, nil
}

// A watch asks for the stamps of queues.
type watch struct {
	root string
	dir  *fsutil.Directory
}

// watchQueues returns a watch over the queues below root, which the caller closes.
func watchQueues(root string) (watch, error) {
	dir, err := fsutil.OpenDirectory(root)
	return watch{root: filepath.Clean(root) + string(filepath.Separator), dir: dir}, err
}

// stamp is that of a path below the root.
func (w *watch) stamp(path string) (fsutil.Stamp, error) {
	return w.dir.Stamp(strings.TrimPrefix(path, w.root))
}

// load opens a queue that is as the catalog knows it, or returns nil.
func (w *watch) load(dir string, o *Options, e *end) *Queue {
	if e == nil {
		return nil
	}
	files := segment.KnownQueue(dir, e.base, int(e.files), &o.Files, o.Logger)
	if now, err := w.stamp(files.Last().Path()); err != nil || now != e.file {
		return nil // load sees what is the matter
	}
	if !e.oneFile() {
		if now, err := w.stamp(dir); err != nil || now != e.dir {
			return nil
		}
	}
	q := &Queue{dir: dir, opt: o, files: files, atRest: e.dir, first: e.first, last: e.last}
	q.min.Store(e.first.offset)
	q.max.Store(e.max)
	q.maxPhysical.Store(e.last.unit.End())
	return q
}

// restedAtLoad reports whether the catalog knew the queue.
func (q *Queue) restedAtLoad() bool { return q.atRest != (fsutil.Stamp{}) }

// AtRest is the number of queues that were loaded by the catalog.
func (t *Table) AtRest() (n int) {
	for _, e := range t.All() {
		if e.restedAtLoad() {
			n++
		}
	}
	return n
}

// SaveCatalog makes the catalog of the queues as they are now, durably, if there is to
// be one. All units were synced, and nobody changes a queue meanwhile. Left out are
// queues of which not all is known, and those that changed so shortly ago that a
// change of now might not show.
func (t *Table) SaveCatalog() error {
	if t.opt.Catalog == "" {
		return nil
	}
	type queue struct {
		Entry
		end end
		ok  bool
	}
	var queues []queue
	for _, e := range t.All() {
		queues = append(queues, queue{Entry: e})
	}
	w, err := watchQueues(t.root)
	if err != nil {
		return fmt.Errorf("catalog of consume queues: %w", err)
	}
	defer w.dir.Close()
	err = eachParallel(queues, func(q *queue) (err error) {
		q.end, q.ok, err = q.rest(&w)
		q.end.topic, q.end.id = q.Topic, q.ID
		return err
	})
	if err != nil {
		return fmt.Errorf("catalog of consume queues: %w", err)
	}
	var c catalog
	for _, q := range queues {
		if q.ok {
			c.ends = append(c.ends, q.end)
		}
	}
	boot, err := fsutil.BootID()
	if err != nil {
		boot = "" // as no system calls itself
	}
	if err := fsutil.ReplaceFile(t.opt.Catalog, c.encode(boot, t.opt.Files.FileBytes)); err != nil {
		return fmt.Errorf("catalog of consume queues: %w", err)
	}
	return nil
}

// rest returns what the catalog is to know; ok is false if that is nothing.
func (q *Queue) rest(w *watch) (e end, ok bool, err error) {
	files := q.files.Files()
	if len(files) == 0 || !q.synced() {
		return end{}, false, nil
	}
	last := files[len(files)-1]
	e = end{base: files[0].Base(), files: int64(len(files)), max: q.max.Load()}
	e.first.offset = q.firstMessage(e.base/UnitBytes, e.max)
	if e.first.unit, err = q.at(e.first.offset); err != nil {
		return end{}, false, nil // there is none, or it cannot be read
	}
	e.last.offset, e.last.unit, _ = q.lastMessage(e.max)
	if !e.sound(last.Size()) {
		return end{}, false, nil
	}
	if e.dir, err = w.stamp(q.dir); err != nil {
		return end{}, false, err
	}
	if e.file, err = w.stamp(last.Path()); err != nil {
		return end{}, false, err
	}
	lately := time.Now().Add(-fsutil.StampSteps).UnixNano()
	if max(e.dir.ModifyNs, e.dir.ChangeNs, e.file.ModifyNs, e.file.ChangeNs) > lately || e.dir.WholeSeconds() || e.file.WholeSeconds() {
		return end{}, false, nil
	}
	if e.dir == q.atRest { // then there is still nothing else in it
		return e, true, nil
	}
	ok, err = q.files.Alone()
	return e, ok, err
}

// synced reports whether all units are durable, with zeros behind them.
func (q *Queue) synced() bool {
	q.syncMu.Lock()
	defer q.syncMu.Unlock()
	q.putMu.Lock()
	defer q.putMu.Unlock()
	if q.unerased || q.eraseErr != nil || q.syncErr != nil {
		return false
	}
	for _, f := range q.unsynced() {
		if f.Flushed() < f.ReadPosition() {
			return false
		}
	}
	return true
}
