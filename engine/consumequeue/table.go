package consumequeue

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
)

// A Table holds all queues of a store. It is safe for concurrent use.
type Table struct {
	root string   // immutable
	opt  *Options // immutable

	changeMu sync.Mutex // orders the creation and deletion of queues
	closed   bool       // guarded by changeMu
	deleted  []*Queue   // guarded by changeMu; files of these may be held
	// half holds the topics whose deletion failed; guarded by changeMu.
	half map[string]map[int32]*Queue

	mu     sync.RWMutex
	queues map[string]map[int32]*Queue // topic, queue id; changed under changeMu and mu
	sorted []Entry                     // guarded by mu; what All returns, nil after a change
}

// An Entry is a queue of a Table with its name.
type Entry struct {
	Topic string
	ID    int32
	*Queue
}

// CorrectMin does [Queue.CorrectMin] on all queues.
func (t *Table) CorrectMin(minPhysical int64) error {
	return eachParallel(t.All(), func(e *Entry) error {
		_, err := e.CorrectMin(minPhysical)
		return err
	})
}

func (t *Table) dir(topic string, id int32) string {
	return filepath.Join(t.root, topic, strconv.FormatInt(int64(id), 10))
}

func (t *Table) insert(e Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.queues[e.Topic] == nil {
		t.queues[e.Topic] = make(map[int32]*Queue)
	}
	t.queues[e.Topic][e.ID] = e.Queue
	t.sorted = nil
}

// Get returns a queue, nil if there is none. It creates nothing.
func (t *Table) Get(topic string, id int32) *Queue {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.queues[topic][id]
}

// GetOrCreate returns a queue and makes it if there is none, with durable
// directories. For the dispatcher only. The topic must be usable as the name of a
// directory. ErrClosed if the table is closed, or a Delete of the topic failed.
func (t *Table) GetOrCreate(topic string, id int32) (*Queue, error) {
	if q := t.Get(topic, id); q != nil {
		return q, nil
	}
	t.changeMu.Lock()
	defer t.changeMu.Unlock()
	if q := t.Get(topic, id); q != nil {
		return q, nil
	}
	if t.closed || t.half[topic] != nil {
		return nil, ErrClosed
	}
	if !filepath.IsLocal(topic) || filepath.Base(topic) != topic || topic == "." || id < 0 {
		return nil, fmt.Errorf("%w: topic %q, queue id %d", ErrUnit, topic, id)
	}
	err := os.Mkdir(filepath.Join(t.root, topic), 0o755)
	if err == nil {
		err = t.opt.Files.Disk.SyncDir(t.root) // the other directory is for open
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("create consume queue: %w", err)
	}
	q, err := open(t.dir(topic, id), t.opt)
	if err != nil {
		return nil, err
	}
	t.insert(Entry{Topic: topic, ID: id, Queue: q})
	return q, nil
}

// All returns the queues there are now, by topic and queue id. The list must not
// be changed.
func (t *Table) All() []Entry {
	t.mu.RLock()
	all := t.sorted
	t.mu.RUnlock()
	if all != nil {
		return all
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sorted == nil {
		t.sorted = t.sort()
	}
	return t.sorted
}

// sort makes the list of All; mu is held.
func (t *Table) sort() (all []Entry) {
	for topic, queues := range t.queues {
		for id, q := range queues {
			all = append(all, Entry{Topic: topic, ID: id, Queue: q})
		}
	}
	slices.SortFunc(all, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// Files is the number of files of all queues, and of the queues; see [Queue.Files].
func (t *Table) Files() (files, queues int) {
	all := t.All()
	for _, e := range all {
		files += e.Files()
	}
	return files, len(all)
}

// MaxPhysical is the largest MaxPhysical of all queues, 0 without any.
func (t *Table) MaxPhysical() int64 {
	var most int64
	for _, e := range t.All() {
		most = max(most, e.MaxPhysical())
	}
	return most
}

// TruncateTo does [Queue.TruncateTo] on all queues. For recovery.
func (t *Table) TruncateTo(physical int64) error {
	return eachParallel(t.All(), func(e *Entry) error { return e.TruncateTo(physical) })
}

// Sync does [Queue.Sync] on all queues, whether or not one fails.
func (t *Table) Sync(leastPages int) (synced int64, err error) {
	var errs []error
	for _, e := range t.All() {
		n, err := e.Sync(leastPages)
		synced += n
		errs = append(errs, err)
	}
	return synced, errors.Join(errs...)
}

// Delete removes a topic with all its queues; without the topic nothing happens.
// A queue that is made under its name later is a new one. If something cannot be
// removed, Delete may be called again, and until it succeeds the topic cannot be
// created.
func (t *Table) Delete(topic string, now time.Time) error {
	t.changeMu.Lock()
	defer t.changeMu.Unlock()
	t.mu.Lock()
	queues := t.queues[topic]
	delete(t.queues, topic)
	t.sorted = nil
	t.mu.Unlock()
	if queues == nil {
		queues = t.half[topic]
	}
	if queues == nil {
		return nil
	}
	return t.destroy(topic, queues, now)
}

// destroy removes the queues of a topic, which are off the table. What fails is left
// in half. The caller holds changeMu.
func (t *Table) destroy(topic string, queues map[int32]*Queue, now time.Time) error {
	var errs []error
	for _, q := range queues {
		errs = append(errs, q.Destroy(now))
	}
	if err := errors.Join(errs...); err != nil {
		t.half[topic] = queues
		return err
	}
	delete(t.half, topic)
	for _, q := range queues {
		if q.held.count() > 0 {
			t.deleted = append(t.deleted, q)
		}
	}
	return removeEmpty(filepath.Join(t.root, topic), t.opt.Files.Disk)
}

// FinishDeletions tries again what Delete could not finish. It may run beside a
// Delete and a GetOrCreate of the same topic: it touches no queue made since.
func (t *Table) FinishDeletions(now time.Time) error {
	t.changeMu.Lock()
	defer t.changeMu.Unlock()
	var errs []error
	for topic, queues := range t.half {
		errs = append(errs, t.destroy(topic, queues, now))
	}
	return errors.Join(errs...)
}

// Reap does [Queue.Reap] on all queues, those of deleted topics too.
func (t *Table) Reap(now time.Time, force time.Duration) (held int, err error) {
	var errs []error
	for _, e := range t.All() {
		n, err := e.Reap(now, force)
		held += n
		errs = append(errs, err)
	}
	t.changeMu.Lock()
	defer t.changeMu.Unlock()
	kept := t.deleted[:0]
	for _, q := range t.deleted {
		n, err := q.Reap(now, force)
		held += n
		errs = append(errs, err)
		if n > 0 {
			kept = append(kept, q)
		}
	}
	clear(t.deleted[len(kept):])
	t.deleted = kept
	return held, errors.Join(errs...)
}

// Close closes all queues, those that a Delete could not remove too, without syncing
// them.
func (t *Table) Close() {
	t.changeMu.Lock()
	defer t.changeMu.Unlock()
	t.closed = true
	for _, e := range t.All() {
		e.Close()
	}
	for _, queues := range t.half {
		for _, q := range queues {
			q.Close()
		}
	}
}
