package engine

import (
	"errors"
	"fmt"
	"sync"

	"commitlab/engine/mmap"
	"commitlab/engine/segment"
)

// A catchUp dispatches the log up to an end that stands still, for recovery, when
// nobody else uses the store. Reading is half of the work, so another goroutine does
// that some batches ahead:
//
//	log ─► read: decode, hash, find queues ─► full ─► store: units, index items
//	       ▲                                          │
//	       └────────────────── free ◄─────────────────┘
//
// What is stored, and in which order, is the same as with Step.
type catchUp struct {
	lookahead // of whoever reads
	dispatch  *dispatcher
	end       int64 // log offset
	// progress is told, by the caller of run, how many bytes of the log are done.
	progress func(bytes int64)

	full, free chan *batch // have room for all batches
	quit       chan struct{}
}

// A batch is a row of records that were read and are not stored yet.
type batch struct {
	room       [128]job
	jobs       []job        // part of room
	view       segment.View // backs the jobs
	from, next int64        // log offsets: of the batch, and where the log goes on
	err        error        // why it cannot be read from next on
}

// batches is how many of them there are.
const batches = 4

// run dispatches from the watermark to the end, with or without a goroutine that
// reads ahead.
func (c *catchUp) run(ahead bool) error {
	d := c.dispatch
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.at.Load() >= c.end {
		return nil
	}
	if ahead {
		return c.overlap()
	}
	for b := new(batch); d.at.Load() < c.end; {
		c.read(b, d.at.Load())
		if err := c.store(b); err != nil {
			return err
		}
	}
	return nil
}

// overlap stores what another goroutine reads.
func (c *catchUp) overlap() (err error) {
	c.full, c.free, c.quit = make(chan *batch, batches), make(chan *batch, batches), make(chan struct{})
	for range batches {
		c.free <- new(batch)
	}
	from := c.dispatch.at.Load()
	var reader sync.WaitGroup
	reader.Go(func() { c.readAll(from) })
	for b := range c.full {
		if err != nil {
			b.view.Release()
			continue
		}
		if err = c.store(b); err != nil {
			close(c.quit)
		}
		c.free <- b
	}
	reader.Wait()
	return err
}

// readAll reads batches from a log offset on, until the end or quit.
func (c *catchUp) readAll(from int64) {
	defer close(c.full)
	for from < c.end {
		select {
		case <-c.quit:
			return
		case b := <-c.free:
			c.read(b, from)
			next, failed := b.next, b.err != nil
			c.full <- b
			if failed {
				return
			}
			from = next
		}
	}
}

func (c *catchUp) read(b *batch, from int64) {
	b.jobs, b.from, b.next = nil, from, from
	b.err = c.fill(b)
}

// fill reads a batch from its place on. What is no record, but a gap that was given
// up or the rest of a file, is passed over with a batch of its own.
func (c *catchUp) fill(b *batch) (err error) {
	log, limit := c.dispatch.log, c.end
	if gap, ok := log.Skipped().At(b.from); ok {
		if gap.Contains(b.from) {
			b.next = gap.To
			return nil
		}
		limit = min(limit, gap.From)
	}
	view, fileEnd, err := log.Readable(b.from, limit)
	if err != nil {
		return err
	}
	b.view = view
	defer mmap.Recover(&err, mmap.GuardFaults())
	if isBlank(view.Bytes()) {
		b.next = fileEnd
		return nil
	}
	b.jobs, err = c.look(view.Bytes(), b.room[:])
	if len(b.jobs) == 0 {
		return errors.Join(err, errNoRecord)
	}
	for i := range b.jobs {
		b.next += int64(b.jobs[i].record.Size)
	}
	return nil
}

// errNoRecord is what is wrong where recovery has found a record and dispatch finds
// none.
var errNoRecord = errors.New("no record to dispatch")

// store dispatches a batch and gives its view back.
func (c *catchUp) store(b *batch) (err error) {
	d := c.dispatch
	defer b.view.Release()
	defer mmap.Recover(&err, mmap.GuardFaults())
	d.prefetch(b.jobs[:min(jobsAhead, len(b.jobs))])
	for from := 0; from < len(b.jobs); from += jobsAhead { // what the next ones need arrives while these are stored
		to := min(from+jobsAhead, len(b.jobs))
		d.prefetch(b.jobs[to:min(to+jobsAhead, len(b.jobs))])
		if _, err := d.dispatchAll(b.jobs[from:to], false); err != nil {
			return err
		}
	}
	if b.err != nil {
		return fmt.Errorf("dispatch at offset %d: %w", b.next, b.err)
	}
	d.at.Store(b.next)
	c.progress(b.next - b.from)
	return nil
}
