package engine

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"commitlab/engine/consumequeue"
	"commitlab/engine/message"
	"commitlab/engine/mmap/mmaptest"
	"commitlab/engine/segment"
	"commitlab/engine/storedir"
)

// putAllKinds puts n messages of all kinds: tags, keys, transactions, batches, delayed
// ones, several topics and queues. Bodies are of the given sizes in turn.
func putAllKinds(t testing.TB, s *Store, n int, sizes ...int) {
	t.Helper()
	for i := range n {
		m := keyedMessage([]string{"t", "主题-é😀", "%RETRY%group"}[i%3], fmt.Sprintf("U%d", i), fmt.Sprintf("k%d hot", i), text(body(i), sizes[i%len(sizes)])[:sizes[i%len(sizes)]])
		m.QueueID = int32(i % 2)
		if i%2 == 0 {
			m.Properties = append(m.Properties, "TAGS\x01TagA\x02"...)
		}
		switch i % 11 {
		case 4:
			m.SysFlag = int32(message.TransactionPrepared)
		case 5:
			m.SysFlag = int32(message.TransactionCommit)
		case 6:
			m.SysFlag = int32(message.TransactionRollback)
		case 7:
			m.Properties = append(m.Properties, "DELAY\x0118\x02"...)
		case 8:
			batch := []message.Message{*m, *keyedMessage(m.Topic, "", "batch", "member")}
			batch[1].QueueID = m.QueueID
			if _, err := s.PutBatch(batch); err != nil {
				t.Fatal(err)
			}
			continue
		}
		put(t, s, m)
	}
}

// sameFiles demands that rebuilt holds what live does, byte for byte.
func sameFiles(t testing.TB, live, rebuilt map[string][]byte) {
	t.Helper()
	if a, b := slices.Sorted(maps.Keys(live)), slices.Sorted(maps.Keys(rebuilt)); !slices.Equal(a, b) {
		t.Fatalf("rebuilt files %q, want %q", b, a)
	}
	for name, want := range live {
		if got := rebuilt[name]; !bytes.Equal(got, want) {
			at := 0
			for at < min(len(got), len(want)) && got[at] == want[at] {
				at++
			}
			t.Errorf("file %s: %d and %d bytes, first difference at %d", name, len(got), len(want), at)
		}
	}
}

// B-87: an index rebuilt from the log differed from the one written live, for
// large messages. Queues and index must come out the same byte for byte, whatever
// part of them is lost, after a clean stop and after a kill.
func TestB87_RebuiltFilesEqualTheOriginals(t *testing.T) {
	for name, c := range map[string]struct {
		o     Options
		n     int
		sizes []int
	}{
		"1 B":                  {Options{}, 200, []int{1}},
		"64 KiB":               {Options{CommitLogFileBytes: 1 << 20}, 60, []int{64 << 10}},
		"1 MiB":                {Options{CommitLogFileBytes: 4 << 20}, 16, []int{1 << 20}},
		"maximum":              {Options{CommitLogFileBytes: 9 << 20}, 12, []int{message.DefaultMaxBodyBytes}},
		"mixed":                {Options{CommitLogFileBytes: 4 << 20}, 40, []int{1, 64 << 10, 0, 1 << 20, 300}},
		"a file for each unit": {Options{ConsumeQueueFileBytes: consumequeue.UnitBytes, IndexSlots: 1, IndexItems: 2}, 30, []int{100}},
	} {
		t.Run(name, func(t *testing.T) {
			o := c.o
			o.Dispatch = On
			if o.IndexItems == 0 {
				o.IndexSlots, o.IndexItems = 10, 20
			}
			if o.ConsumeQueueFileBytes == 0 {
				o.ConsumeQueueFileBytes = 7 * consumequeue.UnitBytes
			}
			if o.CommitLogFileBytes > 0 {
				o.TransientBufferBytes = 8 << 20
			}
			o = small(o)
			s := openUnchecked(t, scratch(t), o)
			putAllKinds(t, s, c.n, c.sizes...)
			dispatched(t, s)
			killed := kill(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			clean := string(s.dir)
			live := derivedFiles(t, storedir.Layout(clean))
			if len(live) < 8 {
				t.Fatalf("only %d files", len(live))
			}
			for i, lost := range [][]string{
				{"consumequeue", "index"}, {"consumequeue"}, {"index"}, {"consumequeue/t/1"}, {},
			} {
				for j, dir := range []string{clean, killed} {
					o.RecoveryWorkers = 1 + (i+j)%2 // with and without a goroutine that reads ahead
					for _, path := range lost {
						if err := os.RemoveAll(filepath.Join(dir, path)); err != nil {
							t.Fatal(err)
						}
					}
					again := openUnchecked(t, dir, o)
					checkDerived(t, again)
					if err := again.Close(); err != nil {
						t.Fatal(err)
					}
					auditClosed(t, again)
					sameFiles(t, live, derivedFiles(t, storedir.Layout(dir)))
					if t.Failed() {
						t.Fatalf("lost %v of the %s store", lost, map[bool]string{true: "clean", false: "killed"}[dir == clean])
					}
				}
			}
		})
	}
}

// A rebuild that cannot go on ends, with what stood in its way, whether or not another
// goroutine has read far ahead; it goes on when the obstacle is gone.
func TestRebuildThatFailsEnds(t *testing.T) {
	o := small(Options{Dispatch: On, RecoverFrom: RecoverFirst, IndexSlots: 100, IndexItems: 5000})
	var messages []*message.Message
	for i := range 2000 {
		messages = append(messages, newMessage(fmt.Sprint("topic", i/700), 0, body(i)))
	}
	dir, _ := written(t, o, true, messages...)
	queues := storedir.Layout(dir).ConsumeQueue()
	for workers := range 3 {
		o.RecoveryWorkers = 1 + workers
		obstacle := filepath.Join(queues, "topic1")
		if err := errors.Join(os.RemoveAll(queues), os.Mkdir(queues, 0o755), os.WriteFile(obstacle, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
		if s, err := Open(dir, o); err == nil || !strings.Contains(err.Error(), obstacle) {
			if err == nil {
				s.Close()
			}
			t.Fatalf("%d workers: got %v, want an error that names %s", o.RecoveryWorkers, err, obstacle)
		}
		if err := os.Remove(obstacle); err != nil {
			t.Fatal(err)
		}
		s := openUnchecked(t, dir, o)
		checkDerived(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDispatchSwitchedOnLaterBuildsWhatIsMissing(t *testing.T) {
	o := small(Options{Dispatch: On, IndexSlots: 10, IndexItems: 20})
	s := openUnchecked(t, scratch(t), o)
	part := func(dispatch, index string) {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		o.Dispatch, o.Index = dispatch, index
		s = openUnchecked(t, string(s.dir), o)
	}
	putAllKinds(t, s, 30, 50)
	part(Off, On)
	putAllKinds(t, s, 30, 50)
	part(On, On)
	checkDerived(t, s)
	putAllKinds(t, s, 30, 50)
	part(On, Off)
	putAllKinds(t, s, 30, 50)
	part(On, On)
	checkDerived(t, s)
}

// B-07: after a kill the newest index file was thrown away whole, but only the
// last part of the log was indexed again.
func TestB07_H19_EveryKeyOnceAfterAKill(t *testing.T) {
	s := openUnchecked(t, scratch(t), small(Options{Dispatch: On, IndexSlots: 100, IndexItems: 400, CommitLogFileBytes: 16 << 10}))
	for i := range 300 {
		put(t, s, keyedMessage("t", "", fmt.Sprint("key", i), text(body(i), 120)))
		if i == 150 {
			saveCheckpoint(t, s)
		}
	}
	if files := s.log.Appended() / s.opt.CommitLogFileBytes; files < 3 {
		t.Fatalf("log has %d full files", files)
	}
	dispatched(t, s)
	again := openUnchecked(t, kill(t, s), s.opt)
	for i := range 300 {
		if got := queryAll(t, again, "t", fmt.Sprint("key", i)); len(got) != 1 {
			t.Errorf("key %d: found %d messages", i, len(got))
		}
	}
	checkDerived(t, again)
}

// B-15: a last queue file that exists but holds no entry gave a negative position.
func TestB15_LastQueueFileWithoutAnEntry(t *testing.T) {
	s := openUnchecked(t, scratch(t), small(Options{Dispatch: On, ConsumeQueueFileBytes: 10 * consumequeue.UnitBytes}))
	var tail PutResult
	for i := range 12 {
		if p := put(t, s, newMessage("t", 0, body(i))); i == 10 {
			tail = p
		}
	}
	dispatched(t, s)
	dir := kill(t, s)
	patch(t, dir, s.opt.CommitLogFileBytes, tail.PhysicalOffset, func(b []byte) { clear(b) })
	forgetDurable(t, dir)
	second := filepath.Join(storedir.Layout(dir).ConsumeQueue(), "t", "0", names(t, s.queues.Get("t", 0).Dir())[1])
	if err := os.WriteFile(second, make([]byte, s.opt.ConsumeQueueFileBytes), 0o644); err != nil {
		t.Fatal(err)
	}
	again := openUnchecked(t, dir, s.opt)
	if first, next := again.QueueBounds("t", 0); first != 0 || next != 10 {
		t.Errorf("queue is [%d, %d), want [0, 10)", first, next)
	}
	checkDerived(t, again)
	if p := put(t, again, newMessage("t", 0, "next")); p.QueueOffset != 10 || p.PhysicalOffset != tail.PhysicalOffset {
		t.Errorf("next message at %+v, want queue offset 10 at %d", p, tail.PhysicalOffset)
	}
	dispatched(t, again)
	checkDerived(t, again)
}

// B-31: recovery dispatched only from the newest log file on, so that messages at
// the end of the one before, not dispatched when the process died, were in no
// queue. The checkpoint is of a moment at which the log was durable up to file 3 and
// the queue within file 2; there is no index that would ask for more.
func TestB31_UndispatchedMessagesOfTwoFiles(t *testing.T) {
	const size = 16 << 10
	s := openUnchecked(t, scratch(t), small(Options{
		Dispatch: On, Index: Off, CommitLogFileBytes: size, FlushIntervalConsumeQueueMs: 1 << 30,
	}))
	var at int64
	fillUpTo := func(end int64) {
		for at < end {
			at = put(t, s, newMessage("t", 0, text("x", 700))).PhysicalOffset
		}
		dispatched(t, s)
	}
	fillUpTo(2*size + size/2)
	q := s.queues.Get("t", 0)
	durable, keep := s.dispatch.at.Load(), q.Max()
	if err := s.checkpoint.queues.syncAll(); err != nil {
		t.Fatal(err)
	}
	fillUpTo(3 * size)
	end, all := s.log.Appended(), q.Max()
	eventually(t, "a checkpoint that says so", func() bool {
		p := readCheckpoint(t, string(s.dir)).Positions
		return p.LogDurable == end && p.QueuesDurable == durable && p.DelaysSaved >= durable
	})
	dir := kill(t, s)
	path := filepath.Join(storedir.Layout(dir).ConsumeQueue(), "t", "0", names(t, q.Dir())[0])
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	clear(b[keep*consumequeue.UnitBytes:])
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	again := openUnchecked(t, dir, s.opt)
	if r := again.Snapshot().Recovery; r.StartOffset != 2*size {
		t.Errorf("recovery began at %d (%s), want file 2", r.StartOffset, r.Reason)
	}
	if _, next := again.QueueBounds("t", 0); next != all {
		t.Errorf("%d messages in the queue, want %d", next, all)
	}
	checkDerived(t, again)
}

// B-34: after two crashes queue entries led to records of other places.
func TestB34_QueuesAfterTwoTruncations(t *testing.T) {
	o := small(Options{Dispatch: On, CommitLogFileBytes: 8 << 10, ConsumeQueueFileBytes: 7 * consumequeue.UnitBytes, IndexSlots: 10, IndexItems: 30})
	dir := scratch(t)
	for round := range 2 {
		s := openUnchecked(t, dir, o)
		var records []PutResult
		for i := range 200 {
			m := keyedMessage("t", "", fmt.Sprint("k", round, i), text(body(i), 60))
			m.QueueID = int32(i % 4)
			records = append(records, put(t, s, m))
		}
		dispatched(t, s)
		dir = kill(t, s)
		cut := records[len(records)-20].PhysicalOffset
		for offset := cut; offset < s.log.Appended(); offset = (offset/o.CommitLogFileBytes + 1) * o.CommitLogFileBytes {
			patch(t, dir, o.CommitLogFileBytes, offset, func(b []byte) { clear(b) })
		}
		forgetDurable(t, dir)
		s = openUnchecked(t, dir, o)
		if end := s.log.Appended(); end != cut {
			t.Fatalf("log ends at %d, was cut at %d", end, cut)
		}
		checkDerived(t, s)
		for i := range 50 {
			m := keyedMessage("t", "", fmt.Sprint("n", round, i), text(body(i), 60))
			m.QueueID = int32(i % 4)
			put(t, s, m)
		}
		dispatched(t, s)
		checkDerived(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// B-40: the checkpoint had the newest time of the queues in memory, so that after a
// power cut recovery did not go back to what their files had lost.
func TestB40_H17_QueuesThatWereNeverSynced(t *testing.T) {
	m := newSeam()
	s := openUnchecked(t, scratch(t), m.options(Options{Dispatch: On, ConsumeQueueFileBytes: 300 * consumequeue.UnitBytes}))
	m.on(func(op mmaptest.Op, path string) error {
		if isSync(op) && strings.Contains(path, "consumequeue") {
			return errors.New("blocked")
		}
		return nil
	})
	for i := range 1000 {
		put(t, s, newMessage("t", 0, body(i)))
	}
	dispatched(t, s)
	saveCheckpoint(t, s)
	if c := readCheckpoint(t, string(s.dir)); c.ConsumeQueueMs > 0 {
		t.Errorf("the checkpoint says that queues are durable up to %d", c.ConsumeQueueMs)
	}
	clone := filepath.Join(scratch(t), "clone")
	if err := m.heap.CrashClone(string(s.dir), clone, nil); err != nil {
		t.Fatal(err)
	}
	o := s.opt
	o.Mapper, o.Disk = nil, nil
	again := openUnchecked(t, clone, o)
	if first, next := again.QueueBounds("t", 0); first != 0 || next != 1000 {
		t.Errorf("queue is [%d, %d), want [0, 1000)", first, next)
	}
	checkDerived(t, again)
}

// Goal: whatever a power cut leaves of queues and index, they agree with the log
// afterwards. Method: cuts at any moment, keeping any subset of the sectors and
// names that were not synced.
func TestPowerCutLeavesQueuesAndIndexThatFollowTheLog(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 3))
		m := newSeam()
		m.heap.LoseNames = true
		s := openUnchecked(t, scratch(t), m.options(Options{
			Dispatch: On, CommitLogFileBytes: 8 << 10, ConsumeQueueFileBytes: 9 * consumequeue.UnitBytes, IndexSlots: 5, IndexItems: 40,
			FlushIntervalMs: 1 << 30, FlushIntervalConsumeQueueMs: int64(1 + rng.IntN(30)), DelayLevels: "1h",
			Preallocate: Off, Populate: segment.PopulateNone,
		}))
		last := rng.IntN(4)
		for round := range last + 1 {
			putAllKinds(t, s, 1+rng.IntN(60), 20, 300)
			if round == rng.IntN(last+1) || round == last { // from then on nothing is dispatched any more
				s.services.dispatch.Stop()
			}
		}
		clone := filepath.Join(scratch(t), "clone")
		if err := m.heap.CrashClone(string(s.dir), clone, rng); err != nil {
			t.Fatal(err)
		}
		o := s.opt
		o.Mapper, o.Disk, o.FlushIntervalMs = nil, nil, 20
		again := openUnchecked(t, clone, o)
		checkDerived(t, again)
		putAllKinds(t, again, 20, 100)
		dispatched(t, again)
		checkDerived(t, again)
		again.Close()
		s.Close()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// Goal: a queue or index that cannot take a record now delays it and loses nothing;
// a store closed like that says so and builds the rest when it is opened again.
func TestH25_DispatchGoesOnWhenTheDiskDoes(t *testing.T) {
	full := errors.New("no space left, says the test")
	for _, part := range []string{"consumequeue", "index"} {
		t.Run(part, func(t *testing.T) {
			m := newSeam()
			s := openUnchecked(t, scratch(t), m.options(Options{Dispatch: On, ConsumeQueueFileBytes: 5 * consumequeue.UnitBytes, IndexSlots: 5, IndexItems: 6}))
			putAllKinds(t, s, 20, 50)
			dispatched(t, s)
			var refused atomic.Int64
			refuse := func(op mmaptest.Op, path string) error {
				if op == mmaptest.OpAllocate && strings.Contains(path, part) {
					refused.Add(1)
					return full
				}
				return nil
			}
			m.on(refuse)
			putAllKinds(t, s, 40, 50)
			eventually(t, "refusal", func() bool { return refused.Load() > 0 })
			if at, end := s.dispatch.at.Load(), s.log.Appended(); at >= end {
				t.Fatalf("dispatched up to %d of %d though there was no room", at, end)
			}
			m.on(nil)
			eventually(t, "dispatch of the rest", func() bool { return s.dispatch.at.Load() == s.log.Appended() })
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openUnchecked(t, string(s.dir), s.opt)
			o := s.opt
			m.on(refuse)
			putAllKinds(t, s, 40, 50)
			if err := s.Close(); !errors.Is(err, ErrDispatchBehind) {
				t.Fatalf("close: got %v, want ErrDispatchBehind", err)
			}
			if left, err := s.dir.AbortMarker().Present(); err != nil || !left {
				t.Errorf("abort marker: %v, %v; want it left", left, err)
			}
			o.Mapper, o.Disk = nil, nil
			s = openUnchecked(t, string(s.dir), o)
			checkDerived(t, s)
		})
	}
}
