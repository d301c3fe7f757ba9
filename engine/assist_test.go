package engine

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"commitlab/engine/consumequeue"
	"commitlab/engine/message"
	"commitlab/engine/mmap/mmaptest"
)

// unattended opens a store whose dispatcher does nothing but what the test has it do.
func unattended(t *testing.T, o Options) *Store {
	t.Helper()
	o.Dispatch = On
	s := openUnchecked(t, scratch(t), o)
	s.services.dispatch.Stop()
	return s
}

// step is what the dispatcher would do, to the end.
func step(t *testing.T, s *Store) {
	t.Helper()
	for {
		n, err := s.dispatch.Step(time.Now())
		if err != nil {
			t.Fatalf("step: %v", err)
		}
		if n == 0 {
			return
		}
	}
}

// behind is how much of the log is not dispatched.
func behind(s *Store) int64 { return s.log.Committed() - s.Dispatched() }

// Goal: however long the dispatcher waits for a processor, puts keep the distance.
func TestPutsKeepDispatchNear(t *testing.T) {
	for _, assist := range []int64{1, 4096, -1} {
		for _, flush := range []string{FlushAsync, FlushSync} {
			o := small(Options{DispatchAssistBytes: assist, Flush: flush, CommitLogFileBytes: 1 << 20, ConsumeQueueFileBytes: 1000 * consumequeue.UnitBytes, IndexSlots: 100, IndexItems: 1000})
			s := unattended(t, o)
			put(t, s, keyedMessage("t", "first", "k", "made the queue"))
			step(t, s)
			var batch []message.Message
			for range 20 {
				batch = append(batch, *newMessage("t", 0, text("batch", 300)))
			}
			for i := range 100 {
				if i%10 == 9 {
					if _, err := s.PutBatch(batch); err != nil {
						t.Fatal(err)
					}
				} else {
					put(t, s, keyedMessage("t", body(i), "k", text(body(i), 300)))
				}
				if got := behind(s); assist > 0 && got > assist {
					t.Fatalf("assist %d, %s: %d bytes behind after put %d", assist, flush, got, i)
				}
			}
			if assist < 0 && s.Dispatched() != s.log.Min()+int64(firstRecordBytes(t, s)) {
				t.Errorf("assist -1, %s: dispatched up to %d", flush, s.Dispatched())
			}
			step(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			verified(t, s)
		}
	}
}

// firstRecordBytes is the size of the first record.
func firstRecordBytes(t *testing.T, s *Store) int32 { return read(t, s, s.log.Min()).size }

// Seen: a queue that went on to its next file waited 700 ms for the disk, with the put
// that dispatched. A put makes the next file of a queue only if the name of the last one
// is durable, and none of the index.
func TestPutsDoNotWaitForTheDiskToDispatch(t *testing.T) {
	for name, c := range map[string]struct {
		o     Options
		named bool // names become durable
		stops bool // puts leave something to the dispatcher
	}{
		"queue, names not durable": {Options{ConsumeQueueFileBytes: 8 * consumequeue.UnitBytes, IndexSlots: 10, IndexItems: 1000}, false, true},
		"queue":                    {Options{ConsumeQueueFileBytes: 8 * consumequeue.UnitBytes, IndexSlots: 10, IndexItems: 1000}, true, false},
		"index":                    {Options{ConsumeQueueFileBytes: 1000 * consumequeue.UnitBytes, IndexSlots: 10, IndexItems: 17}, true, true},
	} {
		seam := newSeam()
		c.o.DispatchAssistBytes, c.o.CommitLogFileBytes = 1, 1<<20
		s := unattended(t, seam.options(c.o))
		s.services.queueNames.Stop()
		stopped := 0
		putSome := func() {
			t.Helper()
			seam.on(func(op mmaptest.Op, path string) error {
				switch {
				case strings.Contains(path, "commitlog"):
				case strings.Contains(path, "index") && op != mmaptest.OpAllocate: // its service syncs full files
				case op == mmaptest.OpSyncFile, op == mmaptest.OpSyncDir, op == mmaptest.OpAllocate && c.stops:
					t.Errorf("%s: a put calls %v of %s", name, op, path)
				}
				return nil
			})
			for range 3 { // the others do not try what the first could not
				put(t, s, keyedMessage("t", body(stopped), "k", "x"))
			}
			seam.on(nil)
			if behind(s) > 0 {
				stopped++
				step(t, s)
			}
		}
		put(t, s, keyedMessage("t", "first", "k", "made the queue"))
		step(t, s)
		for range 30 {
			if c.named {
				if _, err := s.queues.Sync(0); err != nil { // and their names
					t.Fatal(err)
				}
			}
			putSome()
		}
		if c.stops != (stopped >= 5) || !c.stops && stopped > 0 {
			t.Errorf("%s: puts left something to the dispatcher %d times", name, stopped)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		verified(t, s)
	}
}

// What a put cannot dispatch is no error of the put, is not tried by each put that
// follows, and is dispatched when it is possible again.
func TestPutsDoNotFailWithTheirDispatch(t *testing.T) {
	o := small(Options{DispatchAssistBytes: 1, CommitLogFileBytes: 1 << 20, ConsumeQueueFileBytes: 1000 * consumequeue.UnitBytes})
	s := unattended(t, o)
	put(t, s, newMessage("t", 0, "made the queue"))
	step(t, s)
	queue := s.queues.Get("t", 0)
	if err := queue.Put(1, consumequeue.Unit{PhysicalOffset: 1 << 30, Size: 100}); err != nil { // in the place of another
		t.Fatal(err)
	}
	at := s.Dispatched()
	for i := range 20 {
		put(t, s, newMessage("t", 0, body(i)))
	}
	if got := s.Dispatched(); got != at || !s.dispatch.alone {
		t.Errorf("dispatched up to %d, want %d and no further attempt", got, at)
	}
	if _, err := s.dispatch.Step(time.Now()); err == nil {
		t.Error("the dispatcher does not report it")
	}
	if err := queue.CutAt(1); err != nil {
		t.Fatal(err)
	}
	step(t, s)
	put(t, s, newMessage("t", 0, "after"))
	if got := behind(s); got != 0 {
		t.Errorf("%d bytes behind: puts do not help any more", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	verified(t, s)
}

// Goal: while puts keep the distance the dispatcher is not woken, and after the last put
// it is.
func TestTheDispatcherIsNeededWherePutsAreNotEnough(t *testing.T) {
	o := small(Options{DispatchAssistBytes: 1000, CommitLogFileBytes: 1 << 20, ConsumeQueueFileBytes: 1000 * consumequeue.UnitBytes})
	s := unattended(t, o)
	d := s.dispatch
	put(t, s, newMessage("t", 0, "made the queue"))
	if !d.atBeat() {
		t.Error("not needed for a new queue")
	}
	step(t, s)
	if d.atBeat() {
		t.Error("needed for nothing")
	}
	for behind(s) == 0 || !d.assisted.Load() {
		put(t, s, newMessage("t", 0, text("x", 400)))
	}
	put(t, s, newMessage("t", 0, text("x", 400)))
	if d.atBeat() {
		t.Error("needed though a put has just helped")
	}
	if !d.atBeat() {
		t.Error("not needed for the last message")
	}
	d.mu.Lock() // somebody dispatches and has lost the processor
	for behind(s) <= 2*d.assistBytes {
		put(t, s, newMessage("t", 0, text("x", 400)))
	}
	d.mu.Unlock()
	d.assisted.Store(true)
	if !d.atBeat() {
		t.Errorf("not needed at a distance of %d", behind(s))
	}
	step(t, s)
}

// A batch does not make up for all of itself, and nobody reads what is far behind.
func TestPutsDoNotDispatchWithoutEnd(t *testing.T) {
	o := small(Options{DispatchAssistBytes: 1, CommitLogFileBytes: 32 << 20, MaxBodyBytes: 1 << 20, ConsumeQueueFileBytes: 10_000 * consumequeue.UnitBytes, IndexSlots: 100, IndexItems: 10_000})
	s := unattended(t, o)
	put(t, s, newMessage("t", 0, "made the queue"))
	step(t, s)
	var batch []message.Message
	for range 1000 {
		batch = append(batch, *newMessage("t", 0, text("batch", 300)))
	}
	at := s.Dispatched()
	if _, err := s.PutBatch(batch); err != nil {
		t.Fatal(err)
	}
	if got := s.Dispatched() - at; got < assistMostBytes || got > 2*assistMostBytes {
		t.Errorf("a batch of %d bytes dispatched %d", s.log.Appended()-at, got)
	}
	s.dispatch.mu.Lock()
	for behind(s) <= assistFarBytes+1 {
		put(t, s, newMessage("t", 0, text("x", 1<<20)))
	}
	s.dispatch.mu.Unlock()
	at = s.Dispatched()
	put(t, s, newMessage("t", 0, "x"))
	if got := s.Dispatched(); got != at {
		t.Error("a put dispatched what is far behind")
	}
	step(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	verified(t, s)
}

// A put may be late: its message is in the log, and Close has gone on meanwhile.
func TestPutsDoNotDispatchOnceTheStoreCloses(t *testing.T) {
	o := small(Options{DispatchAssistBytes: 1, CommitLogFileBytes: 1 << 20, ConsumeQueueFileBytes: 1000 * consumequeue.UnitBytes})
	s := unattended(t, o)
	put(t, s, newMessage("t", 0, "made the queue"))
	step(t, s)
	put(t, s, newMessage("t", 0, "helped"))
	if got := behind(s); got != 0 {
		t.Fatalf("%d bytes behind: puts do not help", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	first := s.log.Min()
	s.dispatch.at.Store(first) // as if its message were not dispatched
	if ok := s.dispatch.assist(1); !ok || s.Dispatched() != first {
		t.Errorf("a late put tried to dispatch in a closed store, and came to %d", s.Dispatched())
	}
	verified(t, s)
}

// Goal: the name of a queue's next file becomes durable without any put or sync.
func TestNamesOfQueueFilesBecomeDurable(t *testing.T) {
	seam := newSeam()
	o := Options{Dispatch: On, CommitLogFileBytes: 1 << 20, ConsumeQueueFileBytes: 4 * consumequeue.UnitBytes,
		FlushIntervalConsumeQueueMs: 3_600_000, FlushIntervalMs: 3_600_000}
	s := openUnchecked(t, scratch(t), seam.options(o))
	second := filepath.Join(s.dir.ConsumeQueue(), "t", "0")
	synced := make(chan struct{}, 100)
	seam.on(func(op mmaptest.Op, path string) error {
		if op == mmaptest.OpSyncDir && path == second {
			synced <- struct{}{}
		}
		return nil
	})
	for i := range 5 { // the last one goes to the second file
		put(t, s, newMessage("t", 0, body(i)))
	}
	for range 2 { // of the first file, for the second to be made, and of the second
		select {
		case <-synced:
		case <-time.After(20 * time.Second):
			t.Fatal("nobody makes the name durable")
		}
	}
}

// Goal: one dispatches at a time, in order, whoever it is, also while the store closes.
// Method: the heap mapper under the race detector.
func TestPutsAndDispatcherTakeTurns(t *testing.T) {
	for _, path := range syncPaths {
		o := Options{DispatchAssistBytes: 1, SyncPath: path, Dispatch: On, ConsumeQueueFileBytes: 100 * consumequeue.UnitBytes, IndexSlots: 50, IndexItems: 500}
		var told []int64
		o.Readable = func(offset int64) { told = append(told, offset) } // never concurrently
		s := openUnchecked(t, scratch(t), newSeam().options(o))
		var writing sync.WaitGroup
		for w := range 4 {
			writing.Go(func() {
				for i := range 20_000 {
					if _, err := s.Put(keyedMessage("t", body(i), "k", text(body(i), 10*w))); err != nil {
						return // closed
					}
				}
			})
		}
		for began := time.Now(); ; time.Sleep(time.Millisecond) {
			if snap := s.Snapshot(); snap.CommitLog.Appends >= 600 && snap.DispatchAssists > 0 {
				break
			}
			if time.Since(began) > 20*time.Second {
				t.Errorf("%s: no put has helped", path)
				break
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		writing.Wait()
		for i := 1; i < len(told); i++ {
			if told[i] <= told[i-1] {
				t.Fatalf("%s: told of %d after %d", path, told[i], told[i-1])
			}
		}
		if end := s.log.Appended(); len(told) == 0 || told[len(told)-1] != end {
			t.Errorf("%s: told of %d times, the log ends at %d", path, len(told), end)
		}
	}
}
