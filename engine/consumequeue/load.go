package consumequeue

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"commitlab/engine/fsutil"
)

// OpenTable loads all queues below root and settles them.
func OpenTable(root string, o Options) (*Table, error) {
	t, err := LoadTable(root, o)
	if err != nil {
		return nil, err
	}
	if err := t.Settle(); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// LoadTable loads all queues below root, <root>/<topic>/<queue id>/, several at a
// time, and finds their ends. The root is made if absent. Entries that are no
// queues are left alone with one warning each. If a queue cannot be loaded none
// is, and the error tells of each. Nothing is changed; until Settle the queues may only
// be read.
//
// Of the system it asks little for each queue: its directory is listed, and the file
// with its end read, or, where the catalog knows them, two stamps. Files are opened and
// mapped when they are first used.
func LoadTable(root string, o Options) (*Table, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Files.Late = true
	t := &Table{root: root, opt: &o, queues: make(map[string]map[int32]*Queue), half: make(map[string]map[int32]*Queue)}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("open consume queues: %w", err)
	}
	found, err := list(root, o.Logger)
	if err != nil {
		return nil, fmt.Errorf("open consume queues: %w", err)
	}
	if !stampsTell(root) {
		o.Catalog = ""
	}
	catalog, err := readCatalog(t.opt)
	if err != nil {
		o.Logger.Warn("the catalog cannot be used; all consume queues are read", "error", err)
	}
	w, err := watchQueues(root)
	if err != nil {
		return nil, fmt.Errorf("open consume queues: %w", err)
	}
	defer w.dir.Close()
	progress := progress{logger: o.Logger, total: len(found), interval: progressInterval, last: time.Now()}
	err = eachParallel(found, func(e *Entry) (err error) {
		dir := t.dir(e.Topic, e.ID)
		if e.Queue = w.load(dir, t.opt, catalog.of(e.Topic, e.ID)); e.Queue == nil {
			e.Queue, err = load(dir, t.opt)
		}
		progress.done(time.Now())
		return err
	})
	for _, e := range found {
		switch {
		case e.Queue == nil:
		case err != nil:
			e.Close()
		default:
			t.insert(e)
		}
	}
	if err != nil {
		return nil, err
	}
	t.sorted = found
	return t, nil
}

// Settle gives up what lies behind the ends of the queues of LoadTable, durably.
func (t *Table) Settle() error {
	return eachParallel(t.All(), func(e *Entry) error {
		if err := e.settle(); err != nil {
			return fmt.Errorf("recover consume queue %s: %w", e.dir, err)
		}
		return nil
	})
}

// list returns the queues below root, not yet loaded, by topic and queue id.
func list(root string, logger *slog.Logger) (found []Entry, err error) {
	entries, err := fsutil.List(root)
	if err != nil {
		return nil, err
	}
	type topic struct {
		name string
		ids  []int32
	}
	var topics []topic
	for _, e := range entries {
		if !e.Dir {
			logger.Warn("ignoring an entry that is not a topic of consume queues", "path", filepath.Join(root, e.Name))
			continue
		}
		topics = append(topics, topic{name: e.Name})
	}
	err = eachParallel(topics, func(t *topic) (err error) {
		t.ids, err = listIDs(filepath.Join(root, t.name), logger)
		return err
	})
	for _, t := range topics {
		for _, id := range t.ids {
			found = append(found, Entry{Topic: t.name, ID: id})
		}
	}
	return found, err
}

// listIDs returns the ids of the queues of a topic in ascending order.
func listIDs(dir string, logger *slog.Logger) (ids []int32, err error) {
	entries, err := fsutil.List(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		id, err := strconv.ParseInt(e.Name, 10, 32)
		if err != nil || !e.Dir || id < 0 || strconv.FormatInt(id, 10) != e.Name {
			logger.Warn("ignoring an entry that is not a consume queue", "path", filepath.Join(dir, e.Name))
			continue
		}
		ids = append(ids, int32(id))
	}
	slices.Sort(ids)
	return ids, nil
}

// progressInterval is how often a long load says how far it is.
const progressInterval = 5 * time.Second

// progress counts the queues that are loaded.
type progress struct {
	logger   *slog.Logger
	total    int
	interval time.Duration

	mu    sync.Mutex
	count int       // guarded by mu
	last  time.Time // guarded by mu; of the last line
}

func (p *progress) done(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	if now.Sub(p.last) >= p.interval {
		p.last = now
		p.logger.Info("loading consume queues", "loaded", p.count, "of", p.total)
	}
}

// eachParallel calls f for all items, several at a time, and joins the errors.
func eachParallel[T any](items []T, f func(*T) error) error {
	// More than processors: on a cold start most of the time is waiting for pages.
	workers := min(max(8, 4*runtime.GOMAXPROCS(0)), len(items))
	errs := make([]error, len(items))
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(items); i = int(next.Add(1)) - 1 {
				errs[i] = f(&items[i])
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}
