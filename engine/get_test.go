package engine

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"commitlab/engine/consumequeue"
	"commitlab/engine/message"
	"commitlab/engine/segment"
)

// get returns an answer of Get and the queue offsets in it.
func get(t testing.TB, s *Store, topic string, id int32, offset int64, limit int, f Filter) (r GetResult, at []int64) {
	t.Helper()
	r, err := s.Get(topic, id, offset, limit, f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	for i := range r.Messages {
		at = append(at, r.Messages[i].QueueOffset)
	}
	return r, at
}

// span is the integers of [from, to).
func span(from, to int64) (all []int64) {
	for ; from < to; from++ {
		all = append(all, from)
	}
	return all
}

func TestGetSaysWhatItFoundAndWhereToGoOn(t *testing.T) {
	s := openUnchecked(t, scratch(t), small(Options{Dispatch: On, ConsumeQueueFileBytes: 10 * consumequeue.UnitBytes}))
	for i := range 25 {
		put(t, s, newMessage("t", 1, body(i)))
	}
	dispatched(t, s)
	for _, c := range []struct {
		topic         string
		id            int32
		offset        int64
		limit         int
		status        GetStatus
		next          int64
		found         []int64
		queueMin, max int64
	}{
		{"unknown", 0, 5, 10, NoMessageInQueue, 0, nil, 0, 0},
		{"t", 0, 0, 10, NoMessageInQueue, 0, nil, 0, 0},
		{"t", 1, -1, 10, OffsetTooSmall, 0, nil, 0, 25},
		{"t", 1, math.MinInt64, 10, OffsetTooSmall, 0, nil, 0, 25},
		{"t", 1, 0, 3, Found, 3, span(0, 3), 0, 25},
		{"t", 1, 0, 0, Found, 1, span(0, 1), 0, 25},    // at least one
		{"t", 1, 8, 10, Found, 10, span(8, 10), 0, 25}, // one queue file per call
		{"t", 1, 10, 10, Found, 20, span(10, 20), 0, 25},
		{"t", 1, 24, 10, Found, 25, span(24, 25), 0, 25},
		{"t", 1, 25, 10, OffsetOverflowOne, 25, nil, 0, 25},
		{"t", 1, 26, 10, OffsetOverflowBadly, 25, nil, 0, 25},
		{"t", 1, math.MaxInt64, 10, OffsetOverflowBadly, 25, nil, 0, 25},
	} {
		r, at := get(t, s, c.topic, c.id, c.offset, c.limit, nil)
		if r.Status != c.status || r.NextBegin != c.next || !slices.Equal(at, c.found) || r.Min != c.queueMin || r.Max != c.max {
			t.Errorf("get %s/%d at %d, at most %d: %v, next %d of [%d, %d), found %v; want %v, %d of [%d, %d), %v", c.topic, c.id, c.offset, c.limit,
				r.Status, r.NextBegin, r.Min, r.Max, at, c.status, c.next, c.queueMin, c.max, c.found)
		}
	}
}

// Goal: the limits hold, whatever the size of the messages, and never stop a
// reader: one message always comes.
func TestGetLimits(t *testing.T) {
	const records, bodyBytes = 30, 400
	open := func(o Options) *Store {
		o.Dispatch = On
		s := openUnchecked(t, scratch(t), small(o))
		for i := range records {
			put(t, s, newMessage("t", 0, text(body(i), bodyBytes)))
		}
		dispatched(t, s)
		return s
	}
	const recordBytes = 91 + bodyBytes + 1 // "t" is one byte
	for name, c := range map[string]struct {
		o    Options
		want int
	}{
		"count in memory":        {Options{TransferCountInMemory: 7}, 7},
		"bytes in memory":        {Options{TransferBytesInMemory: 5*recordBytes + 1}, 5},
		"exact bytes in memory":  {Options{TransferBytesInMemory: 5 * recordBytes}, 5},
		"less than one record":   {Options{TransferBytesInMemory: 10}, 1},
		"count on disk":          {Options{InMemoryBytes: 1, TransferCountOnDisk: 4}, 4},
		"bytes on disk":          {Options{InMemoryBytes: 1, TransferBytesOnDisk: 3*recordBytes + recordBytes/2}, 3},
		"the default, in memory": {Options{}, records},
		"the default, on disk":   {Options{InMemoryBytes: 1}, 8},
		"half of it on disk":     {Options{InMemoryBytes: 26 * recordBytes, TransferCountOnDisk: 2}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(c.o)
			if _, at := get(t, s, "t", 0, 0, 1000, nil); !slices.Equal(at, span(0, int64(c.want))) {
				t.Errorf("found %v, want the first %d", at, c.want)
			}
		})
	}
}

// Goal: a filter passes what has the tag and nothing that only shares its hash,
// and a reader gets past what it does not pass.
func TestGetWithTags(t *testing.T) {
	s := openUnchecked(t, scratch(t), small(Options{Dispatch: On, MaxFilterUnits: 10}))
	tags := []string{"Aa", "BB", "", "other"} // the first two have the same hash
	for i := range 40 {
		m := newMessage("t", 0, body(i))
		if tag := tags[i%4]; tag != "" {
			m.Properties = message.Properties("TAGS\x01" + tag + "\x02")
		}
		put(t, s, m)
	}
	dispatched(t, s)
	collect := func(f Filter) (at []int64) {
		for offset := int64(0); offset < 40; {
			r, found := get(t, s, "t", 0, offset, 3, f)
			if r.NextBegin <= offset {
				t.Fatalf("at %d: %v, go on at %d: no progress", offset, r.Status, r.NextBegin)
			}
			if want := map[bool]GetStatus{true: Found, false: NoMatchedMessage}[len(found) > 0]; r.Status != want {
				t.Fatalf("at %d: %v with %d messages", offset, r.Status, len(found))
			}
			at, offset = append(at, found...), r.NextBegin
		}
		return at
	}
	for _, c := range []struct {
		filter TagFilter
		want   func(i int64) bool
	}{
		{Tags("Aa"), func(i int64) bool { return i%4 == 0 }},
		{Tags("BB"), func(i int64) bool { return i%4 == 1 }},
		{Tags("other", "Aa"), func(i int64) bool { return i%4 == 3 || i%4 == 0 }},
		{Tags("missing"), func(int64) bool { return false }},
	} {
		var want []int64
		for i := range int64(40) {
			if c.want(i) {
				want = append(want, i)
			}
		}
		if got := collect(c.filter); !slices.Equal(got, want) {
			t.Errorf("tags %v: got %v, want %v", c.filter.tags, got, want)
		}
	}
	if r, _ := get(t, s, "t", 0, 0, 3, Tags("missing")); r.NextBegin != 10 {
		t.Errorf("looked at units up to %d, want 10 as the option says", r.NextBegin)
	}
}

// B-17: a reader in a hole of the log, left by records that are gone while their
// units are still there, made no progress and filled the log with errors.
func TestB17_ReaderGetsPastAHole(t *testing.T) {
	var w warnings
	s := openUnchecked(t, scratch(t), small(Options{
		Dispatch: On, Logger: w.logger(), CommitLogFileBytes: 64 << 10, ConsumeQueueFileBytes: 300 * consumequeue.UnitBytes,
	}))
	var records []PutResult
	for i := range 1000 {
		records = append(records, put(t, s, newMessage("t", 0, body(i))))
	}
	dispatched(t, s)
	for _, r := range records[:600] { // as if the file had gone under the reader
		path := filepath.Join(s.dir.CommitLog(), segment.FileName(r.PhysicalOffset/s.opt.CommitLogFileBytes*s.opt.CommitLogFileBytes))
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteAt(make([]byte, 8), r.PhysicalOffset%s.opt.CommitLogFileBytes)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	var got []int64
	calls, removed := 0, 0
	for offset := int64(0); offset < 1000; calls++ {
		r, at := get(t, s, "t", 0, offset, 32, nil)
		if r.NextBegin <= offset {
			t.Fatalf("at %d: %v, go on at %d: no progress", offset, r.Status, r.NextBegin)
		}
		if r.Status == MessageWasRemoving {
			removed++
		}
		got, offset = append(got, at...), r.NextBegin
	}
	if !slices.Equal(got, span(600, 1000)) {
		t.Errorf("got %d messages, want 600 to 999", len(got))
	}
	if calls > 20 || removed == 0 {
		t.Errorf("%d calls, %d of them said that messages were removed", calls, removed)
	}
	if n := w.count(); n > 1 {
		t.Errorf("%d lines logged:\n%s", n, w.String())
	}
}

// B-13: the minimum of a queue stayed where it was when all of its records were
// gone.
func TestB13_QueueWithoutAnyRecordStartsAtItsEnd(t *testing.T) {
	s := openUnchecked(t, scratch(t), small(Options{Dispatch: On, CommitLogFileBytes: 100 << 10}))
	last := make(map[queue]int64) // queue offset of the first record in the last file
	for topic := 1; topic <= 3; topic++ {
		for i := range 1000 {
			m := newMessage(fmt.Sprint("topic", topic), int32(i%4), text(body(i), 90))
			p := put(t, s, m)
			q := queue{m.Topic, m.QueueID}
			if _, seen := last[q]; !seen && p.PhysicalOffset >= 5*s.opt.CommitLogFileBytes {
				last[q] = p.QueueOffset
			}
		}
	}
	dispatched(t, s)
	if n := s.log.Appended() / s.opt.CommitLogFileBytes; n != 5 || len(last) != 4 {
		t.Fatalf("the last file is number %d and has records of %d queues", n, len(last))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range int64(5) {
		if err := os.Remove(filepath.Join(s.dir.CommitLog(), segment.FileName(i*s.opt.CommitLogFileBytes))); err != nil {
			t.Fatal(err)
		}
	}
	s = openUnchecked(t, string(s.dir), s.opt)
	for topic := 1; topic <= 3; topic++ {
		for id := range int32(4) {
			name := fmt.Sprint("topic", topic)
			want, some := last[queue{name, id}]
			if !some {
				want = 250
			}
			if first, next := s.QueueBounds(name, id); first != want || next != 250 {
				t.Errorf("%s/%d is [%d, %d), want [%d, 250)", name, id, first, next, want)
			}
			r, at := get(t, s, name, id, want, 1000, nil)
			if some && (r.Status != Found || at[0] != want) || !some && r.Status != OffsetOverflowOne {
				t.Errorf("get %s/%d at its minimum: %v, found %v", name, id, r.Status, at)
			}
			if r, _ := get(t, s, name, id, 0, 1, nil); r.Status != OffsetTooSmall || r.NextBegin != want {
				t.Errorf("get %s/%d at 0: %v, go on at %d; want %d", name, id, r.Status, r.NextBegin, want)
			}
			// The queue goes on where it was.
			if p := put(t, s, newMessage(name, id, "more")); p.QueueOffset != 250 {
				t.Errorf("put to %s/%d: queue offset %d, want 250", name, id, p.QueueOffset)
			}
		}
	}
	dispatched(t, s)
	checkDerived(t, s)
}

// Goal: reading costs no memory. Method: allocations of the calls that reuse what
// the caller has.
func TestReadsDoNotAllocate(t *testing.T) {
	s := openUnchecked(t, scratch(t), small(Options{Dispatch: On, CommitLogFileBytes: 1 << 20}))
	for i := range 90 {
		m := keyedMessage("topic", fmt.Sprintf("U%d", i), "hot other", body(i))
		m.Properties = append(m.Properties, "TAGS\x01tag\x02"...)
		put(t, s, m)
	}
	dispatched(t, s)
	var result GetResult
	var filter Filter = Tags("tag")
	var views []View
	failed := 0
	for name, read := range map[string]func(){
		"GetInto": func() {
			if err := s.GetInto(&result, "topic", 0, 10, 32, nil); err != nil || len(result.Messages) != 32 {
				failed++
			}
			result.Release()
		},
		"GetInto with a filter": func() {
			if err := s.GetInto(&result, "topic", 0, 10, 32, filter); err != nil || len(result.Messages) != 32 {
				failed++
			}
			result.Release()
		},
		"AppendQuery, one hit": func() {
			var err error
			if views, err = s.AppendQuery(views[:0], "topic", "U40", 32, 0, math.MaxInt64); err != nil || len(views) != 1 {
				failed++
			}
			for i := range views {
				views[i].Release()
			}
		},
		"AppendQuery, many hits": func() {
			var err error
			if views, err = s.AppendQuery(views[:0], "topic", "hot", 32, 0, math.MaxInt64); err != nil || len(views) != 32 {
				failed++
			}
			for i := range views {
				views[i].Release()
			}
		},
		"AppendQuery, miss": func() {
			var err error
			if views, err = s.AppendQuery(views[:0], "topic", "missing", 32, 0, math.MaxInt64); err != nil || len(views) != 0 {
				failed++
			}
		},
		"OffsetByTime": func() {
			if _, err := s.OffsetByTime("topic", 0, 1, Lower); err != nil {
				failed++
			}
		},
	} {
		if n := testing.AllocsPerRun(100, read); n != 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
	if failed > 0 {
		t.Errorf("%d reads failed", failed)
	}
}

// Found by FuzzOpen: in a store that was closed in order nothing compares queue
// files with the log, and a reader of a queue whose file was exchanged got the
// messages of the other queue.
func TestGetNeverAnswersWithAnotherQueuesMessages(t *testing.T) {
	o := small(Options{Dispatch: On})
	s := openUnchecked(t, scratch(t), o)
	for i := range 20 {
		put(t, s, newMessage("t", int32(i%2), body(i)))
	}
	dispatched(t, s)
	var files [2]string
	for id := range files {
		dir := s.queues.Get("t", int32(id)).Dir()
		files[id] = filepath.Join(dir, names(t, dir)[0])
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	aside := filepath.Join(t.TempDir(), "aside")
	if err := errors.Join(copyFile(files[0], aside), copyFile(files[1], files[0]), copyFile(aside, files[1])); err != nil {
		t.Fatal(err)
	}
	s = openUnchecked(t, string(s.dir), o)
	for id := range int32(2) {
		if r, at := get(t, s, "t", id, 0, 32, nil); r.Status != MessageWasRemoving || len(at) > 0 || r.NextBegin != 10 {
			t.Errorf("queue %d: %v, messages %v, next %d; want none, and the way past them", id, r.Status, at, r.NextBegin)
		}
		p := put(t, s, newMessage("t", id, "next"))
		dispatched(t, s)
		if _, at := get(t, s, "t", id, 10, 32, nil); p.QueueOffset != 10 || !slices.Equal(at, []int64{10}) {
			t.Errorf("queue %d: next message at %d, got %v", id, p.QueueOffset, at)
		}
	}
}

func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}
