package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"commitlab/engine"
	"commitlab/engine/audit"
	"commitlab/engine/message"
)

// A checker asks a store that was opened again whether it holds what it should.
type checker struct {
	*verdict
	content *content
	store   *engine.Store
	ledger  *ledger
	counts  *Checks
}

// Checks counts what was asked.
type Checks struct {
	Records int64 `json:"records"` // read at their offset, each byte compared
	ByQueue int64 `json:"byQueue"` // found by topic, queue and queue offset
	ByTag   int64 `json:"byTag"`
	ByKey   int64 `json:"byKey"` // queries by key or unique key
	Audits  int64 `json:"audits"`
}

// oldest takes in where the log begins: where it did, or, if its size is limited,
// later, but not by more than the limit asks for.
func (c *checker) oldest(maxLogBytes int64) {
	log := c.store.Snapshot().CommitLog
	first := log.MinOffset
	switch fileBytes := c.store.Options().CommitLogFileBytes; {
	case first < c.ledger.min || first%fileBytes != 0:
		c.wrong("the log begins at offset %d, where it began at %d before", first, c.ledger.min)
	case first > c.ledger.min && maxLogBytes == 0:
		c.wrong("the log begins at offset %d, want %d", first, c.ledger.min)
	case first > c.ledger.min && log.AppendedOffset-first < maxLogBytes/2:
		c.wrong("the log has been cut down to [%d, %d), maxLogBytes is %d", first, log.AppendedOffset, maxLogBytes)
	case first > max(c.ledger.min, c.ledger.end()):
		c.wrong("the log begins at offset %d, records from %d on were never checked", first, c.ledger.end())
	}
	c.ledger.min = first
}

// deliveryPatience is how long delayed messages may take beyond their delay.
const deliveryPatience = 20 * time.Second

// quiesce waits until nothing more is appended by the store itself: every delayed
// message was delivered. It returns the records that follow those of the ledger.
func (c *checker) quiesce(ctx context.Context) (records []stored, err error) {
	start := time.Now()
	from := c.ledger.end()
	undelivered := make(map[int64]bool)
	for {
		if err := c.settle(ctx, start); err != nil {
			return records, err
		}
		more, next, err := c.walk(from)
		if err != nil {
			return records, err
		}
		for _, r := range more {
			switch r.kind {
			case waiting:
				undelivered[r.offset] = true
			case delivered:
				delete(undelivered, r.source)
			}
		}
		records, from = append(records, more...), next
		if len(undelivered) == 0 {
			return records, nil
		}
		if time.Since(start) > deliveryPatience {
			for offset := range undelivered {
				c.wrong("the delayed message at offset %d was not delivered in %v", offset, deliveryPatience)
			}
			return records, nil
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// settle waits until all that was appended is found by queue and key.
func (c *checker) settle(ctx context.Context, start time.Time) error {
	if err := c.store.Flush(); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	for c.store.Dispatched() < c.store.Snapshot().CommitLog.CommittedOffset {
		if err := ctx.Err(); err != nil {
			return err
		}
		if time.Since(start) > deliveryPatience {
			return fmt.Errorf("dispatch stands at offset %d, the log ends at %d", c.store.Dispatched(), c.store.Snapshot().CommitLog.CommittedOffset)
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// walk reads every record from an offset to the end of the log and compares each
// byte with what was sent. It returns where the log goes on.
func (c *checker) walk(from int64) (records []stored, next int64, err error) {
	log := c.store.Snapshot().CommitLog
	if err := log.CheckWatermarks(); err != nil {
		c.wrong("%v", err)
	}
	if log.MinOffset != c.ledger.min {
		c.wrong("the log begins at offset %d, want %d", log.MinOffset, c.ledger.min)
	}
	fileBytes := c.store.Options().CommitLogFileBytes
	for at := from; at < log.CommittedOffset; {
		view, err := c.store.At(at)
		if err != nil {
			if nextFile := (at/fileBytes + 1) * fileBytes; errors.Is(err, engine.ErrNotFound) && at%fileBytes != 0 && nextFile <= log.CommittedOffset {
				at = nextFile // behind a blank record
				continue
			}
			return records, at, fmt.Errorf("walk: no record at offset %d of [%d, %d): %w", at, log.MinOffset, log.CommittedOffset, err)
		}
		r, err := c.record(&view)
		view.Release()
		if err != nil {
			c.wrong("offset %d: %v", at, err)
		}
		records = append(records, r)
		at = r.end()
	}
	return records, log.CommittedOffset, nil
}

// record describes and checks a record.
func (c *checker) record(view *engine.View) (stored, error) {
	id, kind, err := c.content.identify(&view.Record)
	c.counts.Records++
	return stored{
		ID: id, kind: kind, queue: queueName{string(view.Topic), view.QueueID}, offset: view.PhysicalOffset, size: int64(view.Size),
		queueOffset: view.QueueOffset, storeMs: view.StoreTimestamp, source: view.PreparedOffset,
	}, err
}

// again reads a record of the ledger once more, and finds it by its keys. One that
// was deleted must not be found.
func (c *checker) again(i int) {
	want := c.ledger.records[i]
	view, err := c.store.At(want.offset)
	if want.offset < c.ledger.min {
		if !errors.Is(err, engine.ErrNotFound) {
			c.wrong("%v was deleted with the log up to %d; its offset %d answers %v", want.ID, c.ledger.min, want.offset, err)
			view.Release()
		}
		return
	}
	c.byKey(want)
	if err != nil {
		c.wrong("%v: %v", want.ID, err)
		return
	}
	defer view.Release()
	got, err := c.record(&view)
	if err != nil || got != want {
		c.wrong("offset %d: have %+v, %v; had %+v", want.offset, got, err, want)
	}
}

// byQueue reads the units of all queues: those from the given number of records on,
// and before it one stretch of each queue.
func (c *checker) byQueue(from int, rng *rand.Rand) {
	live := c.ledger.live()
	for queue, indexes := range c.ledger.queues {
		oldest, _ := slices.BinarySearch(indexes, live)
		first, _ := slices.BinarySearch(indexes, max(from, live))
		c.stretch(queue, indexes, oldest, first, len(indexes))
		if first > oldest {
			begin := oldest + rng.IntN(first-oldest)
			c.stretch(queue, indexes, oldest, begin, min(first, begin+sampledUnits))
		}
		if queue.topic != message.ScheduleTopic {
			c.byTag(queue, indexes, first)
		}
	}
}

// sampledUnits of each queue that were checked before are checked again.
const sampledUnits = 20

// stretch demands that a queue has exactly the messages of the ledger from the
// oldest on, and returns those of a range of queue offsets one after the other.
func (c *checker) stretch(queue queueName, indexes []int, oldest, begin, end int) {
	for at := begin; at < end; {
		result, err := c.store.Get(queue.topic, queue.id, int64(at), end-at, nil)
		if err != nil || result.Status != engine.Found || result.Min != int64(oldest) || result.Max != int64(len(indexes)) {
			c.wrong("queue %v at %d: %v, offsets %d to %d, %v; want %d to %d", queue, at, result.Status, result.Min, result.Max, err, oldest, len(indexes))
			result.Release()
			return
		}
		for i := range result.Messages {
			view := &result.Messages[i]
			want := c.ledger.records[indexes[at]]
			if view.PhysicalOffset != want.offset || view.QueueOffset != int64(at) {
				c.wrong("queue %v at %d: the record at offset %d with queue offset %d, want the one at %d", queue, at, view.PhysicalOffset, view.QueueOffset, want.offset)
			}
			c.counts.ByQueue++
			at++
		}
		if result.NextBegin != int64(at) {
			c.wrong("queue %v: goes on at %d, want %d", queue, result.NextBegin, at)
		}
		result.Release()
	}
}

// byTag demands that a filter finds in a queue exactly the messages with a tag, from
// a queue offset on.
func (c *checker) byTag(queue queueName, indexes []int, begin int) {
	tag := fmt.Sprintf("tag-%d", (int(queue.id)+begin)%tags)
	var want, got []int64
	for _, i := range indexes[begin:] {
		m := c.content.message(c.ledger.records[i].ID)
		if value, _ := m.Properties.Get(message.PropertyTags); string(value) == tag {
			want = append(want, c.ledger.records[i].offset)
		}
	}
	for at := int64(begin); at < int64(len(indexes)); {
		result, err := c.store.Get(queue.topic, queue.id, at, len(indexes), engine.Tags(tag))
		if err != nil || result.NextBegin <= at {
			c.wrong("queue %v at %d by tag: %v, goes on at %d: %v", queue, at, result.Status, result.NextBegin, err)
			result.Release()
			return
		}
		for i := range result.Messages {
			got = append(got, result.Messages[i].PhysicalOffset)
		}
		at = result.NextBegin
		result.Release()
	}
	c.counts.ByTag += int64(len(got))
	if !slices.Equal(got, want) {
		c.wrong("queue %v from %d on: tag %s finds the records at %v, want %v", queue, begin, tag, got, want)
	}
}

// byKey demands that a message is found under each of its keys: alone under its
// unique key, once under those it shares.
func (c *checker) byKey(want stored) {
	m := c.content.message(want.ID)
	unique, _ := m.Properties.Get(message.PropertyUniqueKey)
	if offsets := c.query(want, string(unique), 0, want.storeMs+1); len(offsets) != 1 || offsets[0] != want.offset {
		c.wrong("%v at offset %d: its unique key finds %v", want.ID, want.offset, offsets)
	}
	for key := range m.Properties.Keys() {
		times := 0
		for _, offset := range c.query(want, string(key), want.storeMs, want.storeMs) {
			if offset == want.offset {
				times++
			}
		}
		if times != 1 {
			c.wrong("%v at offset %d: its key %s finds it %d times", want.ID, want.offset, key, times)
		}
	}
}

// manyAnswers is above the number of messages of a topic that share a key.
const manyAnswers = 100_000

func (c *checker) query(want stored, key string, beginMs, endMs int64) (offsets []int64) {
	views, err := c.store.Query(want.queue.topic, key, manyAnswers, beginMs, endMs)
	c.counts.ByKey++
	if err != nil {
		c.wrong("%v: query by key %s: %v", want.ID, key, err)
	}
	for i := range views {
		offsets = append(offsets, views[i].PhysicalOffset)
		views[i].Release()
	}
	return offsets
}

// auditStore audits the files of a store that is closed.
func auditStore(ctx context.Context, v *verdict, dir string, o engine.Options) error {
	report, err := audit.Verify(ctx, dir, audit.Options{IndexSlots: o.IndexSlots, IndexItems: o.IndexItems, DelayLevels: o.DelayLevels})
	if err != nil {
		return err
	}
	for _, f := range report.Faults {
		v.wrong("audit: %v", f)
	}
	if more := report.FaultCount - len(report.Faults); more > 0 {
		v.wrong("audit: %d more faults", more)
	}
	return nil
}
