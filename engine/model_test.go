package engine

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"commitlab/engine/message"
	"commitlab/engine/segment"
)

// Goal: the store is a list. Method: random calls on a store of small files and
// on a slice; after each, what the store says must be what the slice says.
type model struct {
	dir   string
	opt   Options
	store *Store

	records []stored
	next    map[queue]int64
	end     int64 // no smaller than the end of the last record
	flushed int   // records known to be durable
}

func TestStoreIsAList(t *testing.T) {
	all := variants()
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	root := scratch(t)
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			rt.Fatal(err)
		}
		m := &model{dir: dir, opt: small(all[rapid.SampledFrom(names).Draw(rt, "options")]), next: make(map[queue]int64)}
		m.open(rt)
		defer func() { m.store.Close() }()
		rt.Repeat(map[string]func(*rapid.T){
			"put": m.put, "putBatch": m.putBatch, "putIllegal": m.putIllegal, "at": m.at, "atNowhere": m.atNowhere,
			"flush": m.flush, "reopen": m.reopen, "crash": m.crash, "": m.check,
		})
		m.reopen(rt)
		if got := m.scan(rt); !slices.Equal(got, m.records) {
			rt.Fatalf("at the end: %d records, want %d", len(got), len(m.records))
		}
	})
}

func (m *model) open(rt *rapid.T) {
	s, err := Open(m.dir, m.opt)
	if err != nil {
		rt.Fatalf("open: %v", err)
	}
	m.store = s
}

// pooled says that appends go to transient buffers first.
func (m *model) pooled() bool { return m.store.opt.SyncPath == segment.SyncPwrite }

func (m *model) message(rt *rapid.T, topic string, id int32) *message.Message {
	msg := newMessage(topic, id, text("b", rapid.IntRange(0, 3000).Draw(rt, "body")))
	if rapid.Bool().Draw(rt, "wait") {
		msg.Properties = message.Properties("WAIT\x01false\x02")
	}
	return msg
}

var modelTopics = []string{"a", "b", "%RETRY%c"}

func (m *model) put(rt *rapid.T) {
	msg := m.message(rt, rapid.SampledFrom(modelTopics).Draw(rt, "topic"), rapid.Int32Range(0, 1).Draw(rt, "queue"))
	p, err := m.store.Put(msg)
	if err != nil {
		rt.Fatalf("put: %v", err)
	}
	m.took(rt, msg, p)
	if v, _ := msg.Properties.Get(message.PropertyWait); m.store.durable && string(v) != "false" {
		m.flushed = len(m.records)
	}
}

// took notes a message and compares what it was given with what it must be.
func (m *model) took(rt *rapid.T, msg *message.Message, p PutResult) {
	r := asStored(msg, p)
	if r.offset < m.end {
		rt.Fatalf("record at %d overlaps the log up to %d", r.offset, m.end)
	}
	if r.queueOffset != m.next[r.queue] {
		rt.Fatalf("queue offset of %v: got %d, want %d", r.queue, r.queueOffset, m.next[r.queue])
	}
	if file := m.opt.CommitLogFileBytes; r.offset/file != (p.End()+message.BlankBytes-1)/file {
		rt.Fatalf("record [%d, %d) leaves no room for the blank record in a file of %d", r.offset, p.End(), file)
	}
	m.next[r.queue]++
	m.end = p.End()
	if m.opt.AppendCRC == On {
		r.properties = "" // the store adds to them
	}
	m.records = append(m.records, r)
}

func (m *model) putBatch(rt *rapid.T) {
	topic := rapid.SampledFrom(modelTopics).Draw(rt, "topic")
	var batch []message.Message
	for range rapid.IntRange(1, 3).Draw(rt, "members") {
		batch = append(batch, *m.message(rt, topic, 0))
	}
	results, err := m.store.PutBatch(batch)
	if errors.Is(err, ErrRecordTooLarge) && m.opt.CommitLogFileBytes < 16<<10 {
		return // together they fit no file; nothing may have been stored
	}
	if err != nil {
		rt.Fatalf("put batch: %v", err)
	}
	for i := range batch {
		m.took(rt, &batch[i], results[i])
	}
}

func (m *model) putIllegal(rt *rapid.T) {
	msg, want := newMessage("a", 0, ""), ErrIllegalMessage
	switch rapid.IntRange(0, 3).Draw(rt, "fault") {
	case 0:
		msg.Body = nil
	case 1:
		msg.Topic = ""
	case 2:
		msg.Body, want = make([]byte, m.opt.CommitLogFileBytes), ErrRecordTooLarge
	case 3:
		msg.Properties, want = make(message.Properties, 40_000), ErrPropertiesTooLong
	}
	if _, err := m.store.Put(msg); !errors.Is(err, want) {
		rt.Fatalf("put: got %v, want %v", err, want)
	}
}

func (m *model) at(rt *rapid.T) {
	if len(m.records) == 0 {
		return
	}
	want := rapid.SampledFrom(m.records).Draw(rt, "record")
	if m.pooled() {
		m.flush(rt)
	}
	if got := m.scanOne(rt, want.offset); got != want {
		rt.Fatalf("at %d: got %+v, want %+v", want.offset, got, want)
	}
}

func (m *model) scanOne(rt *rapid.T, offset int64) stored {
	v, err := m.store.At(offset)
	if err != nil {
		rt.Fatalf("at: %v", err)
	}
	defer v.Release()
	r := stored{
		queue: queue{string(v.Topic), v.QueueID}, offset: v.PhysicalOffset, queueOffset: v.QueueOffset,
		size: int32(v.Size), body: string(v.Body), properties: string(v.Properties),
	}
	if m.opt.AppendCRC == On {
		r.properties = ""
	}
	return r
}

func (m *model) atNowhere(rt *rapid.T) {
	offset := rapid.Int64Range(-10, m.end+2*m.opt.CommitLogFileBytes).Draw(rt, "offset")
	known := slices.ContainsFunc(m.records, func(r stored) bool { return r.offset == offset })
	v, err := m.store.At(offset)
	switch {
	case err == nil && !known:
		v.Release()
		rt.Fatalf("at %d: a record that nobody put", offset)
	case err == nil:
		v.Release()
	case !errors.Is(err, ErrNotFound):
		rt.Fatalf("at %d: %v, want ErrNotFound", offset, err)
	}
}

func (m *model) flush(rt *rapid.T) {
	if err := m.store.Flush(); err != nil {
		rt.Fatalf("flush: %v", err)
	}
	m.flushed = len(m.records)
	if snap := m.store.Snapshot().CommitLog; snap.FlushedOffset < m.end {
		rt.Fatalf("flushed up to %d, put up to %d", snap.FlushedOffset, m.end)
	}
}

func (m *model) reopen(rt *rapid.T) {
	if err := m.store.Close(); err != nil {
		rt.Fatalf("close: %v", err)
	}
	m.open(rt)
	m.flushed = len(m.records)
}

// crash goes on with a copy of the directory, as after a kill. What is still in
// transient buffers is lost then, but only from the end.
func (m *model) crash(rt *rapid.T) {
	dir := m.dir + "x"
	if err := os.CopyFS(dir, os.DirFS(m.dir)); err != nil {
		rt.Fatal(err)
	}
	if err := errors.Join(m.store.Close(), os.RemoveAll(m.dir)); err != nil {
		rt.Fatal(err)
	}
	m.dir = filepath.Clean(dir)
	pooled := m.pooled()
	m.open(rt)
	got := m.scan(rt)
	if !slices.Equal(got, m.records[:min(len(got), len(m.records))]) {
		rt.Fatalf("after a kill: %d records that are not the first of %d", len(got), len(m.records))
	}
	if len(got) < m.flushed || !pooled && len(got) < len(m.records) {
		rt.Fatalf("after a kill: %d records, %d were put, %d flushed", len(got), len(m.records), m.flushed)
	}
	m.records, m.flushed = slices.Clone(got), len(got)
	m.next, m.end = make(map[queue]int64), 0
	for _, r := range got {
		m.next[r.queue] = r.queueOffset + 1
		m.end = r.offset + int64(r.size)
	}
}

func (m *model) scan(rt *rapid.T) (all []stored) {
	limit := m.store.log.Committed()
	for offset := int64(0); offset < limit; {
		v, err := m.store.At(offset)
		if err != nil { // the blank record, or the test at the end sees that something is missing
			offset = (offset/m.opt.CommitLogFileBytes + 1) * m.opt.CommitLogFileBytes
			continue
		}
		size := int64(v.Size)
		v.Release()
		all = append(all, m.scanOne(rt, offset))
		offset += size
	}
	return all
}

func (m *model) check(rt *rapid.T) {
	snap := m.store.Snapshot()
	if err := snap.CommitLog.CheckWatermarks(); err != nil {
		rt.Fatal(err)
	}
	if snap.CommitLog.AppendedOffset < m.end {
		rt.Fatalf("appended offset %d, put up to %d", snap.CommitLog.AppendedOffset, m.end)
	}
}
