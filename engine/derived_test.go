package engine

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	auditor "commitlab/engine/audit"
	"commitlab/engine/consumequeue"
	"commitlab/engine/index"
	"commitlab/engine/message"
	"commitlab/engine/storedir"
)

// checkDerived demands of a store that has dispatched all of its log that
//   - every queued record has its unit, at its place, and every live unit its
//     record, so that queue offset, physical offset, size and tags code agree,
//   - Min is the first unit whose record the log still has, Max the next offset,
//   - every index file is sound by itself, and each key of each record is entered
//     exactly once per mention.
//
// It runs on a store that is open and at rest.
func checkDerived(t testing.TB, s *Store) {
	t.Helper()
	if at, end := s.dispatch.at.Load(), s.log.Committed(); at != end {
		t.Fatalf("dispatched up to %d of %d", at, end)
	}
	type placed struct {
		at   int64
		unit consumequeue.Unit
	}
	units := make(map[queue][]placed)
	items := make(map[index.Item]int) // hash and physical offset only
	eachRecord(t, s, func(v *View) {
		topic := string(v.Topic)
		transaction := message.TransactionOf(v.SysFlag)
		if transaction.Queued() {
			q := queue{topic, v.QueueID}
			units[q] = append(units[q], placed{v.QueueOffset, consumequeue.Unit{PhysicalOffset: v.PhysicalOffset, Size: int32(v.Size), TagsCode: v.TagsCode(s.delays)}})
		}
		if transaction.Indexed() {
			enter := func(key []byte) {
				if len(key) > 0 {
					items[index.Item{Hash: message.KeyHash(topic, string(key)), Physical: v.PhysicalOffset}]++
				}
			}
			unique, _ := v.Properties.Get(message.PropertyUniqueKey)
			enter(unique)
			for key := range v.Properties.Keys() {
				enter(key)
			}
		}
	})
	for _, q := range s.queues.All() {
		want := units[queue{q.Topic, q.ID}]
		delete(units, queue{q.Topic, q.ID})
		if len(want) == 0 {
			if q.Min() != q.Max() {
				t.Errorf("queue %s is [%d, %d), but the log has none of its records", q.Dir(), q.Min(), q.Max())
			}
			continue
		}
		if first, next := want[0].at, want[len(want)-1].at+1; q.Min() != first || q.Max() != next {
			t.Errorf("queue %s is [%d, %d), the log has [%d, %d)", q.Dir(), q.Min(), q.Max(), first, next)
		}
		for _, w := range want {
			if u, ok := q.Read(w.at); !ok || u != w.unit {
				t.Errorf("queue %s at %d: %+v, %v; the log has %+v", q.Dir(), w.at, u, ok, w.unit)
				break
			}
		}
	}
	for q := range units {
		t.Errorf("queue %v is missing", q)
	}
	if s.index != nil {
		checkIndex(t, s, items)
	}
}

// auditClosed demands that the independent audit finds nothing wrong with the
// directory of a store that was closed.
func auditClosed(t testing.TB, s *Store) {
	t.Helper()
	o := auditor.Options{DelayLevels: s.opt.DelayLevels}
	if s.index != nil {
		o.IndexSlots, o.IndexItems = s.opt.IndexSlots, s.opt.IndexItems
	}
	report, err := auditor.Verify(context.Background(), string(s.dir), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range report.Faults {
		t.Errorf("audit: %+v", fault)
	}
}

// eachRecord calls f for every record from Min to Committed.
func eachRecord(t testing.TB, s *Store, f func(v *View)) {
	t.Helper()
	limit := s.log.Committed()
	for offset := s.log.Min(); offset < limit; {
		if gap, ok := s.log.Skipped().At(offset); ok && gap.Contains(offset) {
			offset = gap.To
			continue
		}
		rest, fileEnd, err := s.log.Readable(offset, limit)
		if err != nil {
			t.Fatal(err)
		}
		_, magic, err := message.RecordSize(rest.Bytes())
		rest.Release()
		if err != nil {
			t.Fatalf("record at %d: %v", offset, err)
		}
		if magic == message.MagicBlank {
			offset = fileEnd
			continue
		}
		v, err := s.At(offset)
		if err != nil {
			t.Fatal(err)
		}
		f(&v)
		offset += int64(v.Size)
		v.Release()
	}
}

// checkIndex demands that the index holds what items counts, and else only what
// lies before the log.
func checkIndex(t testing.TB, s *Store, items map[index.Item]int) {
	t.Helper()
	layout := index.Layout{Slots: s.opt.IndexSlots, Items: s.opt.IndexItems}
	for _, name := range names(t, s.dir.Index()) {
		b, err := os.ReadFile(filepath.Join(s.dir.Index(), name))
		if err != nil {
			t.Fatal(err)
		}
		if err := layout.Audit(b); err != nil {
			t.Errorf("index file %s: %v", name, err)
		}
		for n := 1; n < int(index.DecodeHeader(b).Count); n++ {
			item := layout.Item(b, n)
			if item.Physical < s.log.Min() {
				continue
			}
			key := index.Item{Hash: item.Hash, Physical: item.Physical}
			if items[key]--; items[key] < 0 {
				t.Errorf("index file %s, item %d: %+v is no key of that record, or once too often", name, n, item)
			}
		}
	}
	missing := 0
	for _, n := range items {
		missing += max(n, 0)
	}
	if missing > 0 {
		t.Errorf("index lacks %d keys", missing)
	}
}

// dispatched waits until a store has dispatched all that was put.
func dispatched(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "dispatch of all records", func() bool { return s.dispatch.at.Load() >= s.log.Appended() })
}

// eventually waits until a condition holds, and fails the test if it does not come
// true in any time that a slow machine may need. It counts its own turns, so that
// a process which was stopped for long has as many left as before.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for range 30_000 {
		if holds() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("timed out waiting for: %s", what)
}

// derivedFiles returns the content of all queue and index files of a store
// directory. Index files, which are named by the time, are numbered.
func derivedFiles(t testing.TB, dir storedir.Layout) map[string][]byte {
	t.Helper()
	files := make(map[string][]byte)
	err := filepath.WalkDir(dir.ConsumeQueue(), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files[strings.TrimPrefix(path, string(dir))], err = os.ReadFile(path)
		return err
	})
	for i, name := range names(t, dir.Index()) {
		if err == nil {
			files[fmt.Sprintf("index/%d", i)], err = os.ReadFile(filepath.Join(dir.Index(), name))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return files
}
