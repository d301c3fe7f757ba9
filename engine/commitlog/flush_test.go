package commitlog

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"commitlab/engine/message"
	"commitlab/engine/mmap/mmaptest"
	"commitlab/engine/segment"
)

func TestAsynchronousFlushWaitsForPagesOrTime(t *testing.T) {
	l, _ := newLog(t, nil)
	f := &flusher{log: l, thorough: start}
	step := func(after time.Duration) int {
		t.Helper()
		n, err := f.Step(start.Add(after))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	p := mustAppend(t, l, 3*pageBytes)
	if n := step(time.Second); n != 0 || l.Flushed() != 0 {
		t.Errorf("three pages, a second: flushed %d", l.Flushed())
	}
	p = mustAppend(t, l, 10)
	if n := step(10 * time.Second); int64(n) != p.End() || l.Flushed() != p.End() {
		t.Errorf("after the thorough interval: %d, flushed %d, want %d", n, l.Flushed(), p.End())
	}
	for l.Appended()/pageBytes < l.Flushed()/pageBytes+4 {
		p = mustAppend(t, l, 1000)
	}
	if n := step(11 * time.Second); n == 0 || l.Flushed() != p.End() {
		t.Errorf("four pages: %d, flushed %d, want %d", n, l.Flushed(), p.End())
	}
	if n := step(time.Hour); n != 0 {
		t.Errorf("nothing to flush: %d", n)
	}
}

func TestCommitWaitsForPagesOrTime(t *testing.T) {
	l, _ := newLog(t, func(o *Options) { o.SyncPath, o.CommitLeastPages = segment.SyncPwrite, 3 })
	c := &committer{log: l, thorough: start}
	p := mustAppend(t, l, 10)
	if n, err := c.Step(start.Add(199 * time.Millisecond)); n != 0 || err != nil || l.Committed() != 0 {
		t.Errorf("too early: %d, %v, committed %d", n, err, l.Committed())
	}
	if _, err := l.Record(&message.Record{}, 0, 0); !errors.Is(err, ErrNotFound) {
		t.Errorf("record in a buffer: got %v, want ErrNotFound", err)
	}
	if n, err := c.Step(start.Add(200 * time.Millisecond)); int64(n) != p.End() || err != nil || l.Committed() != p.End() {
		t.Errorf("after the interval: %d, %v, committed %d", n, err, l.Committed())
	}
	if l.Flushed() != 0 {
		t.Errorf("commit flushed up to %d", l.Flushed())
	}
	p = mustAppend(t, l, 3*pageBytes)
	if n, err := c.Step(start.Add(201 * time.Millisecond)); n == 0 || err != nil || l.Committed() != p.End() {
		t.Errorf("three pages: %d, %v, committed %d, want %d", n, err, l.Committed(), p.End())
	}
}

// One sync serves all who wait.
func TestGroupSyncServesAllMembersWithOneSync(t *testing.T) {
	l, heap := newLog(t, func(o *Options) { o.GroupSync = true })
	f := &flusher{log: l, thorough: start}
	var rounds []*round
	for range 10 {
		mustAppend(t, l, 100)
		rounds = append(rounds, l.group.join())
	}
	before := syncs(heap)
	if n, err := f.Step(start); n != 10 || err != nil {
		t.Errorf("served %d, %v, want 10", n, err)
	}
	for _, r := range rounds {
		<-r.done
		if r.err != nil {
			t.Error(r.err)
		}
	}
	if n := syncs(heap) - before; n != 1 {
		t.Errorf("%d syncs, want one", n)
	}
	if s := l.Snapshot(); s.SyncGroups != 1 || s.GroupedAppends != 10 || s.FlushedOffset != s.AppendedOffset {
		t.Errorf("snapshot: %+v", s)
	}
	if n, err := f.Step(start.Add(time.Millisecond)); n != 0 || err != nil {
		t.Errorf("nobody waits: %d, %v", n, err)
	}
}

// What nobody waits for is flushed like in asynchronous mode.
func TestGroupSyncFlushesWhatNobodyWaitsFor(t *testing.T) {
	l, _ := newLog(t, func(o *Options) { o.GroupSync, o.FlushLeastPages = true, 2 })
	f := &flusher{log: l, thorough: start, grouped: start}
	p := mustAppend(t, l, 5*testFileBytes/8)
	if n, err := f.Step(start.Add(l.opt.FlushInterval - 1)); n != 0 || err != nil {
		t.Errorf("too early after the last group: %d, %v", n, err)
	}
	if n, err := f.Step(start.Add(l.opt.FlushInterval)); int64(n) != p.End() || err != nil {
		t.Errorf("an interval after the last group: %d, %v, want %d", n, err, p.End())
	}
}

// H13: a flush that got no reference to its file moved the flushed position all
// the same. It is a failed sync like any other.
func TestH13_FlushWithoutAReferenceMovesNothing(t *testing.T) {
	for _, path := range []segment.SyncPath{segment.SyncMsync, segment.SyncFdatasync, segment.SyncPwrite} {
		l, _ := newLog(t, func(o *Options) { o.SyncPath = path })
		first := mustAppend(t, l, 100)
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
		durable := l.DurableMs()
		mustAppend(t, l, 100)
		l.queue.Last().Shutdown()
		if err := l.Flush(); !errors.Is(err, segment.ErrClosed) {
			t.Errorf("%s: got %v, want that the file is closed", path, err)
		}
		if l.Flushed() != first.End() || l.DurableMs() != durable {
			t.Errorf("%s: flushed %d, durable up to %d ms; want %d, %d", path, l.Flushed(), l.DurableMs(), first.End(), durable)
		}
	}
}

// Those who wait when the log stops get the outcome of the last flush, those who
// come later too: nobody waits for a sync that never comes.
func TestClosedGroupAnswersEverybody(t *testing.T) {
	for _, outcome := range []error{nil, errInjected} {
		g := newGroup()
		early := g.join()
		g.close(outcome)
		late := g.join()
		for _, r := range []*round{early, late} {
			select {
			case <-r.done:
			default:
				t.Fatal("somebody is left waiting")
			}
			if r.err != outcome {
				t.Errorf("got %v, want %v", r.err, outcome)
			}
		}
	}
	empty := newGroup()
	empty.close(nil)
	<-empty.join().done
}

// B-62 in small: one who appended before the log stopped, but asks for the sync
// only after it, is answered.
func TestB62_WaitThatBeginsAfterTheLastSyncIsAnswered(t *testing.T) {
	for _, failure := range []error{nil, syscall.EIO} {
		l, heap := newLog(t, func(o *Options) { o.GroupSync, o.FlushInterval = true, time.Hour })
		l.Start()
		p := mustAppend(t, l, 10)
		if failure != nil {
			heap.FailSync(failure, 1)
		}
		if err := l.Stop(); !errors.Is(err, failure) {
			t.Errorf("stop: got %v, want %v", err, failure)
		}
		select {
		case <-l.group.join().done:
		default:
			t.Fatal("whoever joins now waits for ever")
		}
		if err := l.WaitDurable(p.End(), time.Hour); !errors.Is(err, failure) {
			t.Errorf("wait: got %v, want %v", err, failure)
		}
	}
}

// The durable time must not cover an append under way, which read its store time
// earlier and is not in this sync.
func TestDurableTimeDoesNotCoverAnAppendUnderWay(t *testing.T) {
	l, _ := newLog(t, nil)
	p := &pulse{log: l, limit: time.Hour}
	p.Step(start)
	mustAppend(t, l, 10)
	l.lock.lock() // a batch reads the clock …
	p.Step(start.Add(5 * time.Second))
	if err := l.Flush(); err != nil { // … and is not yet published when this sync begins
		t.Fatal(err)
	}
	l.lock.unlock()
	if got, most := l.DurableMs(), start.UnixMilli(); got > most {
		t.Errorf("durable up to %d, but a record of %d may not be", got, most)
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	if got, want := l.DurableMs(), start.Add(5*time.Second).UnixMilli(); got != want {
		t.Errorf("with nothing under way: durable up to %d, want %d", got, want)
	}
}

func TestFlushCrossesFiles(t *testing.T) {
	for _, path := range []segment.SyncPath{segment.SyncMsync, segment.SyncFdatasync, segment.SyncPwrite} {
		l, _ := newLog(t, func(o *Options) { o.SyncPath, o.BufferCount = path, 8 })
		var p Position
		for range 5 {
			p = mustAppend(t, l, testFileBytes*3/4)
		}
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
		if l.Flushed() != p.End() || l.Committed() != p.End() {
			t.Errorf("%s: flushed %d, committed %d, want %d", path, l.Flushed(), l.Committed(), p.End())
		}
	}
}

func TestFailedSyncIsFinal(t *testing.T) {
	l, heap := newLog(t, nil)
	mustAppend(t, l, 10)
	heap.FailSync(syscall.EIO, 1)
	if err := l.Flush(); !errors.Is(err, ErrSyncFailed) || !errors.Is(err, syscall.EIO) {
		t.Fatalf("flush: got %v", err)
	}
	if err := l.Flush(); !errors.Is(err, ErrSyncFailed) || l.Flushed() != 0 || l.DurableMs() != 0 {
		t.Errorf("second flush: got %v, flushed %d, durable up to %d", err, l.Flushed(), l.DurableMs())
	}
	if _, err := tryAppend(t, l, 10); !errors.Is(err, ErrSyncFailed) {
		t.Errorf("append: got %v", err)
	}
	f := &flusher{log: l}
	if n, err := f.Step(start); n != 0 || err != nil {
		t.Errorf("service goes on: %d, %v", n, err)
	}
}

func syncs(heap *mmaptest.Heap) (n int) {
	for _, e := range heap.Trace() {
		if e.Op == mmaptest.OpSync || e.Op == mmaptest.OpSyncData {
			n++
		}
	}
	return n
}
