package engine

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"commitlab/engine/message"
)

// Goal: whatever happened to a store directory while nobody had it open,
//   - Open returns a store or an error, and a refusal for damage changes nothing,
//   - what a store answers are records that stand in the log, in their places, of
//     the topic, queue and key asked for, each once,
//   - a durable record that was not harmed is not lost, unless damage says truncate
//     and it lies behind something that was,
//   - the store takes messages, closes, and opens again with all of this.
//
// Method: a store that is known record by record is harmed as the input says; see
// mutation. The first byte chooses the state of the store and how it is opened.
func FuzzOpen(f *testing.F) {
	w := newFuzzStore(f)
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) == 0 {
			return
		}
		newFuzzRun(t, w, input[0], input[1:]).run(t)
	})
}

// fuzzRun is one store with its harm.
type fuzzRun struct {
	*fuzzStore
	mutation
	opt  Options
	dir  string
	have []int // numbers of records that the opened store has as they were put
	// odd says that a harmed record is taken for sound. Bits in the name of the
	// property that holds its checksum do that: then there is none.
	odd bool
	// whole is the number of the first record, of those in files that are left,
	// with which something is wrong, or with the end of the file before it.
	whole int
}

func newFuzzRun(t *testing.T, w *fuzzStore, way byte, harm []byte) *fuzzRun {
	state := w.closed
	if way&1 != 0 {
		state = w.killed
	}
	u := &fuzzRun{fuzzStore: w, mutation: mutate(state, harm), opt: w.opt, dir: filepath.Join(scratch(t), "store")}
	u.opt.Damage = []string{DamageRefuse, DamageSkip, DamageTruncate}[way>>1%3]
	u.opt.RecoverFrom = RecoverFirst // files that another rule trusts are not looked at
	u.opt.RecoveryWorkers = 1 + int(way>>4%3)
	u.files.write(t, u.dir)
	u.whole = u.firstHarm()
	return u
}

// firstHarm returns what whole is.
func (u *fuzzRun) firstHarm() int {
	i := slices.IndexFunc(u.records, func(r stored) bool { return u.files.inLog(r.offset, 1) != nil })
	for i = max(i, 0); i < len(u.records) && !u.harmed(i); i++ {
		end := u.records[i].offset + int64(u.records[i].size)
		if i+1 < len(u.records) && u.records[i+1].offset != end && !bytes.Equal(u.files.inLog(end, 8), u.closed.inLog(end, 8)) {
			return i + 1
		}
	}
	return i
}

func (u *fuzzRun) run(t *testing.T) {
	s, err := Open(u.dir, u.opt)
	if err != nil {
		u.refused(t, err)
		return
	}
	defer s.Close()
	u.checkRecords(t, s)
	u.checkQueues(t, s)
	u.checkKeys(t, s)
	derived := !u.odd && !u.touched("consumequeue", "index", "checkpoint", "abort")
	if derived && len(s.log.Skipped()) == 0 {
		checkDerived(t, s)
	}
	if derived {
		u.checkFound(t, s)
	}
	put := u.putMore(t, s)
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	if derived && len(s.log.Skipped()) == 0 {
		auditClosed(t, s)
	}
	again, err := Open(u.dir, u.opt)
	if err != nil {
		t.Fatalf("open again: %v", err)
	}
	defer again.Close()
	for _, i := range u.have {
		u.mustHave(t, again, i)
	}
	for _, r := range put {
		if got := read(t, again, r.offset); got.body != r.body || got.queue != r.queue {
			t.Fatalf("put %+v, read %+v after another start", r, got)
		}
	}
}

// harmed reports whether bytes of a record are not as they were.
func (u *fuzzRun) harmed(i int) bool {
	return !bytes.Equal(u.files.inLog(u.records[i].offset, int64(u.records[i].size)), u.raw[i])
}

// durable reports whether the store knows that a record was durable.
func (u *fuzzRun) durable(i int) bool { return u.clean() || u.times[i] < u.durableMs() }

// refused checks a store that was not opened.
func (u *fuzzRun) refused(t *testing.T, err error) {
	var damage *DamageError
	onlyBytes := !u.touched("config") && len(u.names) == 0
	if onlyBytes && (u.opt.Damage != DamageRefuse || !u.bytes["commitlog"] || !errors.As(err, &damage)) {
		t.Fatalf("open with damage %s: %v; but all files are there, whole", u.opt.Damage, err)
	}
	after := readFiles(t, u.dir)
	if errors.As(err, &damage) {
		if _, there := u.files["checkpoint"]; !there {
			delete(after, "checkpoint")
		}
		for name, content := range after {
			if before, there := u.files[name]; !there || !bytes.Equal(before, content) {
				t.Errorf("refused (%v), but %s was changed", err, name)
			}
		}
		if len(after) != len(u.files) {
			t.Errorf("refused (%v), but there are %d files instead of %d", err, len(after), len(u.files))
		}
		return
	}
	for i, r := range u.records {
		if u.mustStay(i) && !bytes.Equal(after.inLog(r.offset, int64(r.size)), u.raw[i]) {
			t.Errorf("not opened (%v), and the record at %d is gone", err, r.offset)
		}
	}
}

// mustStay reports whether a record may not be lost: it was not harmed, and
// nothing before it was, or it is known to have been durable.
func (u *fuzzRun) mustStay(i int) bool {
	return !u.harmed(i) && (i < u.whole || u.opt.Damage != DamageTruncate && u.durable(i))
}

// mustHave demands a record as it was put.
func (u *fuzzRun) mustHave(t *testing.T, s *Store, i int) {
	t.Helper()
	v, err := s.At(u.records[i].offset)
	if err != nil {
		t.Fatalf("record %d is lost: %v", i, err)
	}
	defer v.Release()
	if !bytes.Equal(v.Bytes(), u.raw[i]) {
		t.Fatalf("record %d at %d is another one", i, u.records[i].offset)
	}
}

// stands reports whether the store has a record at an offset.
func stands(s *Store, offset int64) bool {
	v, err := s.At(offset)
	if err == nil {
		v.Release()
	}
	return err == nil
}

// checkRecords looks at the places of all records and beside them.
func (u *fuzzRun) checkRecords(t *testing.T, s *Store) {
	for i, r := range u.records {
		for _, offset := range []int64{r.offset, r.offset + 1, r.offset - 7} {
			v, err := s.At(offset)
			if err != nil {
				continue
			}
			inPlace := bytes.Equal(v.Bytes(), u.files.inLog(offset, int64(v.Size)))
			if known := slices.ContainsFunc(u.records, func(r stored) bool { return r.body == string(v.Body) }); !inPlace && !known {
				t.Errorf("at %d: %+v was never there", offset, v.Record)
			}
			v.Release()
		}
		if u.harmed(i) {
			u.odd = u.odd || stands(s, r.offset)
			continue
		}
		if stands(s, r.offset) || u.mustStay(i) {
			u.mustHave(t, s, i)
			u.have = append(u.have, i)
		}
	}
}

// checkQueues reads every queue from its start to its end.
func (u *fuzzRun) checkQueues(t *testing.T, s *Store) {
	for _, q := range s.queues.All() {
		steps, next := 0, q.Min()
		for at := q.Min(); at < q.Max(); {
			r, err := s.Get(q.Topic, q.ID, at, 7, nil)
			if err != nil {
				t.Fatalf("get %s/%d at %d: %v", q.Topic, q.ID, at, err)
			}
			for i := range r.Messages {
				v := &r.Messages[i]
				if string(v.Topic) != q.Topic || v.QueueID != q.ID || v.QueueOffset < next {
					t.Errorf("queue %s/%d from %d on: got message %d of %s/%d", q.Topic, q.ID, next, v.QueueOffset, v.Topic, v.QueueID)
				}
				next = v.QueueOffset + 1
			}
			r.Release()
			if steps++; r.NextBegin <= at || steps > 10_000 {
				t.Fatalf("queue %s/%d: after %d steps from %d to %d", q.Topic, q.ID, steps, at, r.NextBegin)
			}
			at = r.NextBegin
		}
	}
}

// checkKeys asks for the keys of all records.
func (u *fuzzRun) checkKeys(t *testing.T, s *Store) {
	for _, r := range u.records {
		for key := range message.Properties(r.properties).Keys() {
			offsets := query(t, s, r.topic, string(key), math.MaxInt, 0, math.MaxInt64)
			slices.Sort(offsets)
			if len(slices.Compact(slices.Clone(offsets))) != len(offsets) {
				t.Errorf("key %s of %s: found at %v", key, r.topic, offsets)
			}
		}
	}
}

// checkFound demands that records are found by queue and by key.
func (u *fuzzRun) checkFound(t *testing.T, s *Store) {
	for _, i := range u.have {
		v, err := s.At(u.records[i].offset)
		if err != nil {
			t.Fatal(err)
		}
		topic, transaction := string(v.Topic), message.TransactionOf(v.SysFlag)
		if transaction.Queued() {
			r, err := s.Get(topic, v.QueueID, v.QueueOffset, 1, nil)
			if err != nil || len(r.Messages) != 1 || r.Messages[0].PhysicalOffset != v.PhysicalOffset {
				t.Errorf("record at %d is not found at %d of %s/%d: %v, %v", v.PhysicalOffset, v.QueueOffset, topic, v.QueueID, r.Status, err)
			}
			r.Release()
		}
		for key := range v.Properties.Keys() {
			if transaction.Indexed() && !slices.Contains(queryAll(t, s, topic, string(key)), v.PhysicalOffset) {
				t.Errorf("record at %d is not found by key %s of %s", v.PhysicalOffset, key, topic)
			}
		}
		v.Release()
	}
}

// putMore puts messages to queues old and new and demands that they are found.
func (u *fuzzRun) putMore(t *testing.T, s *Store) (all []stored) {
	for i, topic := range []string{"t", "t", "主题-é😀", "new"} {
		m := keyedMessage(topic, "", fmt.Sprint("more", i), text(body(100+i), 900))
		m.QueueID = int32(i % 2)
		all = append(all, asStored(m, put(t, s, m)))
	}
	dispatched(t, s)
	for i, r := range all {
		got, err := s.Get(r.topic, r.id, r.queueOffset, 1, nil)
		if err != nil || len(got.Messages) != 1 || got.Messages[0].PhysicalOffset != r.offset {
			t.Errorf("put %+v, got %+v (%v)", r, got, err)
		}
		got.Release()
		if found := queryAll(t, s, r.topic, fmt.Sprint("more", i)); !slices.Equal(found, []int64{r.offset}) {
			t.Errorf("put %+v, its key is found at %v", r, found)
		}
	}
	return all
}
