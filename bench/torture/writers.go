package torture

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"commitlab/engine"
	"commitlab/engine/message"
)

// writers put messages from several goroutines until they are stopped.
type writers struct {
	child   *child
	store   *engine.Store
	stopped atomic.Bool
	running sync.WaitGroup
	ended   chan struct{} // closed when all have ended
}

func newWriters(c *child, s *engine.Store) *writers {
	return &writers{child: c, store: s, ended: make(chan struct{})}
}

func (w *writers) start() {
	for i := range w.child.Plan.Writers {
		content, err := newContent(w.child.Seed)
		if err != nil {
			w.child.tell.wrong("writer: %v", err)
			continue
		}
		one := &writer{writers: w, content: content, worker: workerOf(w.child.Round, w.child.Life, i), used: make(map[uint64]bool)}
		w.running.Go(one.run)
	}
	go func() {
		w.running.Wait()
		close(w.ended)
	}()
}

// halt keeps the writers from beginning another put.
func (w *writers) halt() { w.stopped.Store(true) }

// stop also waits for the puts under way.
func (w *writers) stop() {
	w.halt()
	<-w.ended
}

// A writer puts the messages of one worker in order, but for those that join an
// earlier one in a batch.
type writer struct {
	*writers
	content *content
	worker  uint32
	next    uint64
	used    map[uint64]bool // sequences from next on that were in a batch
	refused int             // puts since a sync failed
	lines   []byte          // reused
}

// lookAhead is how far a writer looks for messages that may be in one batch.
const lookAhead = 40

// run puts until stopped, or until the store takes no more.
func (w *writer) run() {
	for !w.stopped.Load() {
		for ; w.used[w.next]; w.next++ {
			delete(w.used, w.next)
		}
		id := ID{w.worker, w.next}
		w.next++
		if id.Sequence%9 == 4 && w.content.traits(id).delay == 0 {
			w.putBatch(id)
		} else {
			w.put(id)
		}
		if w.refused > refusedPuts {
			return
		}
	}
}

// refusedPuts are made after a sync failed, to see that none is accepted.
const refusedPuts = 3

// put puts one message and tells how it went.
func (w *writer) put(id ID) {
	m := w.content.message(id)
	w.sending(id)
	p, err := w.store.Put(&m)
	w.told([]ID{id}, []engine.PutResult{p}, err)
}

// maxBatchBytes is what a batch may have in bodies: it has to fit the smallest file.
const maxBatchBytes = 40 << 10

// putBatch puts a message with later ones of the same queue.
func (w *writer) putBatch(first ID) {
	m := w.content.message(first)
	batch, ids, bytes := []message.Message{clone(m)}, []ID{first}, len(m.Body)
	for sequence := w.next; sequence < first.Sequence+lookAhead; sequence++ {
		id := ID{w.worker, sequence}
		if w.used[sequence] || w.content.traits(id).delay != 0 {
			continue
		}
		other := w.content.message(id)
		if other.Topic == batch[0].Topic && other.QueueID == batch[0].QueueID && bytes+len(other.Body) <= maxBatchBytes {
			batch, ids, bytes = append(batch, clone(other)), append(ids, id), bytes+len(other.Body)
			w.used[sequence] = true
		}
	}
	w.sending(ids...)
	results, err := w.store.PutBatch(batch)
	w.told(ids, results, err)
}

// clone copies the bytes that the generator uses again.
func clone(m message.Message) message.Message {
	m.Body, m.Properties = bytes.Clone(m.Body), bytes.Clone(m.Properties)
	return m
}

func (w *writer) sending(ids ...ID) {
	w.lines = w.lines[:0]
	for _, id := range ids {
		w.lines = appendEvent(w.lines, eventSending, int64(id.Worker), int64(id.Sequence))
	}
	w.child.tell.write(w.lines)
}

// told tells the outcome of a put, and judges whether it may be.
func (w *writer) told(ids []ID, results []engine.PutResult, err error) {
	w.lines = w.lines[:0]
	for i, id := range ids {
		var r engine.PutResult
		if i < len(results) {
			r = results[i]
		}
		switch {
		case err == nil:
			w.lines = appendEvent(w.lines, eventAcked, int64(id.Worker), int64(id.Sequence), r.PhysicalOffset, r.QueueOffset, int64(r.Size))
		case r.Size > 0:
			w.lines = appendEvent(w.lines, eventFailed, int64(id.Worker), int64(id.Sequence), 1)
		default:
			w.lines = appendEvent(w.lines, eventFailed, int64(id.Worker), int64(id.Sequence), 0)
		}
	}
	w.child.tell.write(w.lines)
	c := w.child
	switch {
	case err == nil && w.refused > 0:
		c.tell.wrong("%v was accepted after a put was told that a sync had failed", ids[0])
	case err == nil:
		c.acked(len(ids))
		w.rest()
	case errors.Is(err, engine.ErrSyncFailed) && c.Plan.Death == SyncFail:
		w.refused++
		c.tell.tell(eventRefused, int64(refusedSync), int64(len(ids)))
	case errors.Is(err, engine.ErrDiskFull) && c.Plan.Death == DiskFull:
		c.tell.tell(eventRefused, int64(refusedFull), int64(len(ids)))
		time.Sleep(refusedPause)
	default:
		c.tell.wrong("put of %v: %v", ids[0], err)
		w.halt()
	}
}

// rest keeps the pace. Once the death is due, what it waits for may take long, and
// the store is not to grow by much meanwhile.
func (w *writer) rest() {
	pause := time.Duration(w.child.Plan.PauseUs) * time.Microsecond
	select {
	case <-w.child.due:
		pause = max(pause, duePause)
	default:
	}
	if pause > 0 {
		time.Sleep(pause)
	}
}

const duePause = 200 * time.Microsecond

// refusedPause keeps a writer that was refused from asking again at once.
const refusedPause = 200 * time.Microsecond
