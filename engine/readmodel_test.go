package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"commitlab/engine/consumequeue"
	"commitlab/engine/message"
	"commitlab/engine/segment"
)

// Goal: messages are found by queue, key and time exactly as maps and lists of them
// say. Method: random calls on a store whose files roll every few records, and on
// lists; every answer is compared, and the files are audited when the store was
// opened again. Delayed messages are delivered by hand, so that the order is known.

// entry is one record of the log as the model knows it.
type entry struct {
	stored
	storeMs     int64
	unique, tag string
	keys        []string
	transaction message.Transaction
	level       int   // of a delayed message, 0 for others
	home        queue // of a delayed message: where it is to go
	arrived     bool  // delivered: a record of home, not of the schedule topic
}

func (e *entry) has(key string) bool {
	return key != "" && (e.unique == key || slices.Contains(e.keys, key))
}

type readModel struct {
	dir   string
	opt   Options
	store *Store

	log     []entry
	flushed int     // entries known to survive a kill
	waiting []entry // delayed and not delivered, in the order of the log
}

const readModelLevels = "1h 2h"

func readVariants() map[string]Options {
	units := func(n int64) int64 { return n * consumequeue.UnitBytes }
	all := map[string]Options{
		"default":          {},
		"a file for each":  {CommitLogFileBytes: 4096, ConsumeQueueFileBytes: units(1), IndexSlots: 1, IndexItems: 2},
		"few per file":     {CommitLogFileBytes: 4096, ConsumeQueueFileBytes: units(3), IndexSlots: 3, IndexItems: 5, Flush: FlushSync, DispatchAssistBytes: 1},
		"transient, sync":  {CommitLogFileBytes: 4096, ConsumeQueueFileBytes: units(2), IndexSlots: 2, IndexItems: 4, Flush: FlushSync, SyncPath: segment.SyncPwrite},
		"transient, async": {ConsumeQueueFileBytes: units(7), IndexSlots: 10, IndexItems: 30, SyncPath: segment.SyncPwrite},
		"without index":    {Index: Off, ConsumeQueueFileBytes: units(4), SyncPath: segment.SyncFdatasync, DispatchAssistBytes: 1},
		"tight limits":     {TransferCountInMemory: 2, TransferBytesInMemory: 600, MaxFilterUnits: 3, ConsumeQueueFileBytes: units(5), IndexSlots: 1, IndexItems: 10},
		"on disk, spinning": {InMemoryBytes: 1000, TransferCountOnDisk: 1, AppendLock: LockSpin, Clock: ClockExact,
			ConsumeQueueFileBytes: units(6), IndexSlots: 4, IndexItems: 7, AppendCRC: On},
	}
	for name, o := range all {
		o.Dispatch, o.DelayLevels = On, readModelLevels
		all[name] = small(o)
	}
	return all
}

func TestStoreFindsMessagesAsMapsDo(t *testing.T) {
	all := readVariants()
	names := slices.Sorted(maps.Keys(all))
	root := scratch(t)
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			rt.Fatal(err)
		}
		m := &readModel{dir: dir, opt: all[rapid.SampledFrom(names).Draw(rt, "options")]}
		m.open(rt)
		defer func() { m.store.Close() }()
		rt.Repeat(map[string]func(*rapid.T){
			"put": m.put, "put again": m.put, "putBatch": m.putBatch, "putDelayed": m.putDelayed, "deliver": m.deliver,
			"get": m.get, "getWithTag": m.getWithTag, "query": m.query, "byTime": m.byTime, "wait": m.wait,
			"reopen": m.reopen, "kill": m.kill,
		})
		m.reopen(rt)
		m.verify(rt)
	})
}

// fatal turns the model's checks into those of the harness.
type fatal struct {
	testing.TB
	rt *rapid.T
}

func (f fatal) Helper()                           {}
func (f fatal) Errorf(format string, args ...any) { f.rt.Fatalf(format, args...) }
func (f fatal) Error(args ...any)                 { f.rt.Fatal(args...) }
func (f fatal) Fatalf(format string, args ...any) { f.rt.Fatalf(format, args...) }
func (f fatal) Fatal(args ...any)                 { f.rt.Fatal(args...) }

func (m *readModel) open(rt *rapid.T) {
	s, err := Open(m.dir, m.opt)
	if err != nil {
		rt.Fatalf("open: %v", err)
	}
	s.services.delivery.Stop()
	m.store = s
}

func (m *readModel) settle(rt *rapid.T) {
	dispatched(fatal{rt: rt}, m.store)
	m.flushed = len(m.log)
}

var (
	readTopics = []string{"AaTopic", "BBTopic"} // of equal hash, as are the keys
	readKeys   = []string{"Aa", "BB", "k", "hot"}
	readTags   = []string{"", "Aa", "BB", "tag"}
)

func (m *readModel) message(rt *rapid.T) (*message.Message, entry) {
	e := entry{
		unique:      rapid.SampledFrom(append([]string{"", "u"}, readKeys...)).Draw(rt, "unique key"),
		keys:        rapid.SliceOfN(rapid.SampledFrom(append([]string{""}, readKeys...)), 0, 3).Draw(rt, "keys"),
		tag:         rapid.SampledFrom(readTags).Draw(rt, "tag"),
		transaction: message.TransactionNone,
	}
	msg := keyedMessage(rapid.SampledFrom(readTopics).Draw(rt, "topic"), e.unique, strings.Join(e.keys, " "), text("b", rapid.IntRange(0, 500).Draw(rt, "body")))
	msg.QueueID = rapid.Int32Range(0, 1).Draw(rt, "queue")
	if e.tag != "" {
		msg.Properties = append(msg.Properties, "TAGS\x01"+e.tag+"\x02"...)
	}
	return msg, e
}

// took notes a record.
func (m *readModel) took(e entry, msg *message.Message, p PutResult) {
	e.stored, e.storeMs = asStored(msg, p), p.StoreTimestampMs
	e.properties = "" // the store may add to them
	m.log = append(m.log, e)
}

func (m *readModel) put(rt *rapid.T) {
	msg, e := m.message(rt)
	if rapid.IntRange(0, 3).Draw(rt, "in a transaction") == 0 {
		e.transaction = rapid.SampledFrom([]message.Transaction{message.TransactionPrepared, message.TransactionCommit, message.TransactionRollback}).Draw(rt, "state")
		msg.SysFlag = int32(e.transaction)
	}
	p, err := m.store.Put(msg)
	if err != nil {
		rt.Fatalf("put: %v", err)
	}
	m.took(e, msg, p)
}

func (m *readModel) putBatch(rt *rapid.T) {
	var batch []message.Message
	var entries []entry
	for range rapid.IntRange(1, 3).Draw(rt, "members") {
		msg, e := m.message(rt)
		msg.Topic, msg.QueueID = readTopics[0], 1
		batch, entries = append(batch, *msg), append(entries, e)
	}
	results, err := m.store.PutBatch(batch)
	if err != nil {
		rt.Fatalf("put batch: %v", err)
	}
	for i := range batch {
		m.took(entries[i], &batch[i], results[i])
	}
}

func (m *readModel) putDelayed(rt *rapid.T) {
	msg, e := m.message(rt)
	e.level, e.home = rapid.IntRange(1, 2).Draw(rt, "level"), queue{msg.Topic, msg.QueueID}
	msg.Properties = append(msg.Properties, "DELAY\x01"+strconv.Itoa(e.level)+"\x02"...)
	p, err := m.store.Put(msg)
	if err != nil {
		rt.Fatalf("put: %v", err)
	}
	waits := *msg
	waits.Topic, waits.QueueID = message.ScheduleTopic, int32(e.level-1)
	m.took(e, &waits, p)
	m.waiting = append(m.waiting, m.log[len(m.log)-1])
}

// deliver lets the delayed messages of level 1, or all, become due.
func (m *readModel) deliver(rt *rapid.T) {
	m.settle(rt)
	most := rapid.IntRange(1, 2).Draw(rt, "highest level due")
	deliverAt(fatal{rt: rt}, m.store, time.Now().Add(time.Duration(most)*time.Hour+time.Minute).UnixMilli())
	var due []entry
	for level := 1; level <= most; level++ {
		for _, e := range m.waiting {
			if e.level == level {
				due = append(due, e)
			}
		}
	}
	m.waiting = slices.DeleteFunc(m.waiting, func(e entry) bool { return e.level <= most })
	m.readLog(rt, func(i int, v *View) {
		if i < len(m.log) {
			return
		}
		if len(due) == 0 {
			rt.Fatalf("record at %d: nothing more was due", v.PhysicalOffset)
		}
		e := due[0]
		due = due[1:]
		if string(v.Topic) != e.home.topic || v.QueueID != e.home.id || string(v.Body) != e.body {
			rt.Fatalf("delivered %s/%d, %q; want %v, %q", v.Topic, v.QueueID, v.Body, e.home, e.body)
		}
		e.stored = stored{queue: e.home, offset: v.PhysicalOffset, queueOffset: int64(len(m.in(e.home))), size: int32(v.Size), body: e.body}
		e.storeMs, e.arrived = v.StoreTimestamp, true
		m.log = append(m.log, e)
	})
	if len(due) > 0 {
		rt.Fatalf("%d due messages were not delivered", len(due))
	}
	m.flushed = len(m.log)
}

// readLog calls f for every record with its number.
func (m *readModel) readLog(rt *rapid.T, f func(i int, v *View)) {
	i := 0
	eachRecord(fatal{rt: rt}, m.store, func(v *View) { f(i, v); i++ })
}

// in returns the entries of a queue, in order.
func (m *readModel) in(q queue) (list []entry) {
	for _, e := range m.log {
		if e.queue == q && e.transaction.Queued() {
			list = append(list, e)
		}
	}
	return list
}

func (m *readModel) queue(rt *rapid.T) queue {
	return rapid.SampledFrom([]queue{
		{readTopics[0], 0}, {readTopics[0], 1}, {readTopics[1], 0}, {readTopics[1], 1}, {message.ScheduleTopic, 1}, {"unknown", 0},
	}).Draw(rt, "queue")
}

func (m *readModel) get(rt *rapid.T) { m.compareGet(rt, nil, func(*entry) bool { return true }) }

func (m *readModel) getWithTag(rt *rapid.T) {
	tag := rapid.SampledFrom([]string{"Aa", "BB", "tag"}).Draw(rt, "tag")
	m.compareGet(rt, Tags(tag), func(e *entry) bool { return e.tag == tag })
}

func (m *readModel) compareGet(rt *rapid.T, filter Filter, pass func(*entry) bool) {
	m.settle(rt)
	q := m.queue(rt)
	if filter != nil && q.topic == message.ScheduleTopic {
		return // its units have times in place of tags
	}
	list := m.in(q)
	next := int64(len(list))
	offset := rapid.Int64Range(-1, next+1).Draw(rt, "offset")
	limit := rapid.IntRange(1, 6).Draw(rt, "limit")

	o := m.store.opt
	status, goOn := NoMatchedMessage, offset
	var want []entry
	switch {
	case next == 0:
		status, goOn = NoMessageInQueue, 0
	case offset < 0:
		status, goOn = OffsetTooSmall, 0
	case offset == next:
		status = OffsetOverflowOne
	case offset > next:
		status, goOn = OffsetOverflowBadly, next
	default:
		perFile := o.ConsumeQueueFileBytes / consumequeue.UnitBytes
		end := min(next, (offset/perFile+1)*perFile, offset+int64(max(o.MaxFilterUnits, limit)))
		bytes := int64(0)
		for ; goOn < end; goOn++ {
			e := &list[goOn]
			most, mostBytes := o.TransferCountInMemory, o.TransferBytesInMemory
			if m.store.log.Committed()-e.offset > o.InMemoryBytes {
				most, mostBytes = o.TransferCountOnDisk, o.TransferBytesOnDisk
			}
			if n := len(want); n > 0 && (n >= limit || n >= most || bytes+int64(e.size) > mostBytes) {
				break
			}
			if pass(e) {
				want, bytes, status = append(want, *e), bytes+int64(e.size), Found
			}
		}
	}
	r, err := m.store.Get(q.topic, q.id, offset, limit, filter)
	if err != nil {
		rt.Fatalf("get: %v", err)
	}
	defer r.Release()
	if r.Status != status || r.NextBegin != goOn || r.Min != 0 || r.Max != next || len(r.Messages) != len(want) {
		rt.Fatalf("get %v at %d, at most %d: %v, next %d of [%d, %d), %d messages; want %v, next %d of [0, %d), %d messages",
			q, offset, limit, r.Status, r.NextBegin, r.Min, r.Max, len(r.Messages), status, goOn, next, len(want))
	}
	for i := range want {
		if v := &r.Messages[i]; v.PhysicalOffset != want[i].offset || v.QueueOffset != want[i].queueOffset || string(v.Body) != want[i].body {
			rt.Fatalf("get %v at %d: message %d is at %d with %q, want %+v", q, offset, i, v.PhysicalOffset, v.Body, want[i])
		}
	}
}

func (m *readModel) time(rt *rapid.T, label string) int64 {
	times := []int64{0, math.MaxInt64}
	for _, e := range m.log {
		times = append(times, e.storeMs-1, e.storeMs, e.storeMs+1)
	}
	return rapid.SampledFrom(times).Draw(rt, label)
}

func (m *readModel) query(rt *rapid.T) {
	m.settle(rt)
	topic := rapid.SampledFrom(append(readTopics, message.ScheduleTopic)).Draw(rt, "topic")
	key := rapid.SampledFrom(append([]string{"", "u", "missing"}, readKeys...)).Draw(rt, "key")
	limit := rapid.SampledFrom([]int{0, 1, 2, 5, 1000}).Draw(rt, "limit")
	begin, end := m.time(rt, "begin"), m.time(rt, "end")
	views, err := m.store.Query(topic, key, limit, begin, end)
	if m.store.index == nil {
		if !errors.Is(err, ErrNoDispatch) {
			rt.Fatalf("query without index: %v, want ErrNoDispatch", err)
		}
		return
	}
	if err != nil {
		rt.Fatalf("query: %v", err)
	}
	var got, want []int64
	for i := range views {
		got = append(got, views[i].PhysicalOffset)
		views[i].Release()
	}
	for _, e := range slices.Backward(m.log) {
		if e.topic == topic && e.has(key) && e.transaction.Indexed() && e.storeMs >= begin && e.storeMs <= end && len(want) < limit {
			want = append(want, e.offset)
		}
	}
	if !slices.Equal(got, want) {
		rt.Fatalf("query %s/%s, at most %d of [%d, %d]: got %v, want %v", topic, key, limit, begin, end, got, want)
	}
}

func (m *readModel) byTime(rt *rapid.T) {
	m.settle(rt)
	q, ms := m.queue(rt), m.time(rt, "time")
	list := m.in(q)
	lower, upper := int64(len(list)), int64(0)
	for at, e := range list {
		if e.storeMs >= ms {
			lower = min(lower, int64(at))
		}
		if e.storeMs <= ms {
			upper = int64(at)
		}
	}
	for bound, want := range map[Bound]int64{Lower: lower, Upper: upper} {
		if got, err := m.store.OffsetByTime(q.topic, q.id, ms, bound); got != want || err != nil {
			rt.Fatalf("%v at %d, bound %d: got %d, %v; want %d", q, ms, bound, got, err, want)
		}
	}
	ms, ok := m.store.EarliestTime(q.topic, q.id)
	if ok != (len(list) > 0) || ok && ms != list[0].storeMs {
		rt.Fatalf("%v: earliest time %d, %v", q, ms, ok)
	}
}

func (m *readModel) wait(rt *rapid.T) {
	q := m.queue(rt)
	next := int64(len(m.in(q)))
	if next > 0 {
		if !m.store.durable && m.store.opt.SyncPath == segment.SyncPwrite {
			m.settle(rt) // else only after the commit interval
		}
		if err := m.store.Wait(context.Background(), q.topic, q.id, next-1); err != nil {
			rt.Fatalf("wait for the last message: %v", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := m.store.Wait(ctx, q.topic, q.id, next); !errors.Is(err, context.DeadlineExceeded) {
		rt.Fatalf("wait for a message that was not put: %v", err)
	}
}

func (m *readModel) reopen(rt *rapid.T) {
	if err := m.store.Close(); err != nil {
		rt.Fatalf("close: %v", err)
	}
	auditClosed(fatal{rt: rt}, m.store)
	m.open(rt)
	m.flushed = len(m.log)
	checkDerived(fatal{rt: rt}, m.store)
}

// kill goes on with a copy of the directory. What was in transient buffers is lost,
// but only from the end; and a delivery that was lost is due again.
func (m *readModel) kill(rt *rapid.T) {
	dir := m.dir + "x"
	if err := os.CopyFS(dir, os.DirFS(m.dir)); err != nil {
		rt.Fatal(err)
	}
	if err := errors.Join(m.store.Close(), os.RemoveAll(m.dir)); err != nil {
		rt.Fatal(err)
	}
	m.dir = dir
	m.open(rt)
	n := 0
	m.readLog(rt, func(i int, v *View) {
		if n = i + 1; n > len(m.log) || m.log[i].offset != v.PhysicalOffset || m.log[i].body != string(v.Body) {
			rt.Fatalf("after a kill: record %d at %d is not what was put", i, v.PhysicalOffset)
		}
	})
	if n < m.flushed {
		rt.Fatalf("after a kill: %d records, %d were flushed", n, m.flushed)
	}
	m.log, m.flushed = m.log[:n], n
	m.waiting = nil
	delivered := make(map[int]int)
	for _, e := range m.log {
		if e.arrived {
			delivered[e.level]++
		}
	}
	for _, e := range m.log {
		if e.level > 0 && !e.arrived {
			if delivered[e.level]--; delivered[e.level] < 0 {
				m.waiting = append(m.waiting, e)
			}
		}
	}
	checkDerived(fatal{rt: rt}, m.store)
}

// verify compares all queues with the lists.
func (m *readModel) verify(rt *rapid.T) {
	m.settle(rt)
	for _, topic := range readTopics {
		for id := range int32(2) {
			var want []string
			for _, e := range m.in(queue{topic, id}) {
				want = append(want, e.body)
			}
			if got := bodies(fatal{rt: rt}, m.store, topic, id); !slices.Equal(got, want) {
				rt.Fatalf("at the end %s/%d has %d messages, want %d", topic, id, len(got), len(want))
			}
		}
	}
	if n := len(m.log); n > 0 {
		if snap := m.store.Snapshot(); snap.DispatchedOffset != m.log[n-1].offset+int64(m.log[n-1].size) {
			rt.Fatalf("dispatched up to %d: %s", snap.DispatchedOffset, fmt.Sprint(m.log[n-1]))
		}
	}
}
