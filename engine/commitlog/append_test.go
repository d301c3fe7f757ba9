package commitlog

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"commitlab/engine/message"
	"commitlab/engine/mmap/mmaptest"
	"commitlab/engine/segment"
	"commitlab/engine/service"
)

// B-48: after one failed append the mark "lock held since" stayed, and all later
// writes were refused.
func TestB48_FailedAppendLeavesNothingBehind(t *testing.T) {
	for _, spin := range []bool{false, true} {
		l, heap := newLog(t, func(o *Options) { o.SpinLock = spin })
		p := &pulse{log: l, limit: l.opt.BusyAfter}
		for name, fail := range map[string]func() error{
			"too large": func() error {
				_, err := tryAppend(t, l, testFileBytes)
				return err
			},
			"no file": func() error {
				heap.FailMap(errInjected, 1)
				for range 100 { // one of them must roll
					if _, err := tryAppend(t, l, testFileBytes/2); err != nil {
						return err
					}
				}
				return nil
			},
			"message changed under its plan": func() (err error) {
				m := newMessage(100)
				plan, _ := message.Prepare(m, message.Limits{})
				m.Body = m.Body[:50]
				defer func() { err = fmt.Errorf("panic: %v", recover()) }()
				_, err = l.Append(m, &plan)
				return err
			},
			"batch too large": func() error {
				batch := []message.Message{*newMessage(testFileBytes / 2), *newMessage(testFileBytes / 2)}
				plans := make([]message.Plan, len(batch))
				for i := range batch {
					plans[i], _ = message.Prepare(&batch[i], message.Limits{})
				}
				return l.AppendBatch(batch, plans, make([]Position, len(batch)))
			},
		} {
			before := l.Snapshot()
			if err := fail(); err == nil {
				t.Fatalf("%s: no error", name)
			}
			if !lockIsFree(l) {
				t.Fatalf("%s: append lock is held", name)
			}
			p.Step(start)
			p.Step(start.Add(2 * time.Second))
			after := mustAppend(t, l, 10)
			if want := before.Appends; after.QueueOffset < want {
				t.Errorf("%s: queue offset %d is given twice", name, after.QueueOffset)
			}
		}
	}
}

// A message that cannot have a place in the tail goes to the next file, behind a
// blank record; one that fits by the last byte stays.
func TestRecordAndBlankFillAFileToTheLastByte(t *testing.T) {
	l, _ := newLog(t, nil)
	empty := int(mustAppend(t, l, 0).Size)
	left := testFileBytes - empty - message.BlankBytes
	p := mustAppend(t, l, left-empty)
	if p.End() != testFileBytes-message.BlankBytes {
		t.Fatalf("record ends at %d, want room for the blank alone behind it", p.End())
	}
	if p := mustAppend(t, l, 0); p.PhysicalOffset != testFileBytes {
		t.Errorf("next record at %d, want the start of the next file", p.PhysicalOffset)
	}
	view, _, err := l.Readable(p.End(), testFileBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Release()
	if _, kind, err := message.Check(view.Bytes(), message.CheckOptions{BlankSize: message.BlankBytes}); kind != message.KindBlank {
		t.Errorf("behind the last record: kind %v, %v, want a blank record", kind, err)
	}
}

// A roll that fails leaves the tail as it is, and smaller messages still fit.
func TestFailedRollLeavesTheTailInUse(t *testing.T) {
	l, heap := newLog(t, nil)
	mustAppend(t, l, testFileBytes/2)
	heap.FailMap(errInjected, 1)
	if _, err := tryAppend(t, l, testFileBytes*3/4); !errors.Is(err, errInjected) {
		t.Fatalf("got %v", err)
	}
	if p := mustAppend(t, l, 100); p.PhysicalOffset >= testFileBytes {
		t.Errorf("small message at %d, want it in the first file", p.PhysicalOffset)
	}
	if p := mustAppend(t, l, testFileBytes*3/4); p.PhysicalOffset != testFileBytes {
		t.Errorf("large message at %d, want the second file", p.PhysicalOffset)
	}
	if s := l.Snapshot(); s.Rolls != 2 || s.Files != 2 {
		t.Errorf("%d rolls, %d files, want 2 and 2", s.Rolls, s.Files)
	}
}

// The next file was made, but the blank record has no place: the file must not
// stay behind, for it could never be made again.
func TestRollThatCannotSealGivesTheNextFileBack(t *testing.T) {
	const record = testFileBytes / 4
	l, heap := newLog(t, func(o *Options) { o.SyncPath, o.BufferCount, o.BufferBytes = segment.SyncPwrite, 3, record })
	empty, err := message.Prepare(newMessage(0), message.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // each fills a buffer to the last byte
		mustAppend(t, l, record-empty.Size)
	}
	heap.Fail(mmaptest.OpWrite, errInjected, 1)
	l.loops.commit = service.Start(&committer{log: l}, service.Options{Interval: time.Hour, OnError: func(string, error) {}})
	defer l.loops.commit.Stop()
	if _, err := tryAppend(t, l, record-empty.Size); !errors.Is(err, errInjected) {
		t.Fatalf("got %v", err)
	}
	if files, err := os.ReadDir(l.queue.Dir()); err != nil || len(files) != 1 {
		t.Errorf("directory holds %v, %v, want the first file alone", files, err)
	}
	if p := mustAppend(t, l, record-empty.Size); p.PhysicalOffset != testFileBytes || p.QueueOffset != 3 {
		t.Errorf("after the disk took writes again: %+v, want the next file and queue offset 3", p)
	}
}

// B-47: a correction of the clock during a write made the store call itself
// busy. An append is slow by the monotonic clock alone, and busy ends with it.
func TestB47_BusyIsTimeThatPassed(t *testing.T) {
	for _, spin := range []bool{false, true} {
		l, _ := newLog(t, func(o *Options) { o.SpinLock = spin })
		mustAppend(t, l, 10)
		p := &pulse{log: l, limit: l.opt.BusyAfter}
		l.lock.lock() // an append that takes long
		for _, beat := range []struct {
			after time.Duration
			busy  bool
		}{{0, false}, {time.Millisecond, false}, {time.Second, false}, {time.Second + 1, true}} {
			p.Step(start.Add(beat.after))
			if got := l.busy.Load(); got != beat.busy {
				t.Errorf("%v after it was seen first: busy %v, want %v", beat.after, got, beat.busy)
			}
		}
		if _, err := tryAppend(t, l, 10); !errors.Is(err, ErrBusy) {
			t.Errorf("append beside it: got %v, want ErrBusy", err)
		}
		l.lock.unlock()
		mustAppend(t, l, 10) // at once, even before the next beat
		p.Step(start.Add(3 * time.Second))
		if l.busy.Load() {
			t.Error("busy after the slow append is over")
		}
	}
}

// Many appends one behind the other are not one slow append.
func TestBusyNeedsOneSlowAppend(t *testing.T) {
	l, _ := newLog(t, nil)
	p := &pulse{log: l, limit: l.opt.BusyAfter}
	for i := range 20 {
		mustAppend(t, l, 10)
		l.lock.lock()
		p.Step(start.Add(time.Duration(i) * 900 * time.Millisecond))
		l.lock.unlock()
		if l.busy.Load() {
			t.Fatalf("busy at beat %d, though appends go on", i)
		}
	}
}

func TestCoarseClockFollowsThePulseInBothDirections(t *testing.T) {
	l, _ := newLog(t, nil)
	p := &pulse{log: l, limit: l.opt.BusyAfter}
	for _, now := range []time.Time{start.Add(time.Hour), start.Add(-time.Hour)} {
		p.Step(now)
		if got := mustAppend(t, l, 1).StoreTimestampMs; got != now.UnixMilli() {
			t.Errorf("store time %d, want %d", got, now.UnixMilli())
		}
	}
	exact, _ := newLog(t, func(o *Options) { o.ExactClock = true })
	before := time.Now().UnixMilli()
	if got := mustAppend(t, exact, 1).StoreTimestampMs; got < before || got > time.Now().UnixMilli() {
		t.Errorf("exact clock: store time %d is not now", got)
	}
}

func TestLocksExclude(t *testing.T) {
	for _, spin := range []bool{false, true} {
		l := appendLock{spin: spin}
		n := 0
		var users sync.WaitGroup
		for range 4 {
			users.Go(func() {
				for range 2000 {
					l.lock()
					n++
					l.unlock()
				}
			})
		}
		users.Wait()
		if n != 8000 {
			t.Errorf("spin %v: counted %d, want 8000", spin, n)
		}
		if !l.tryLock() || l.tryLock() {
			t.Errorf("spin %v: tryLock of a free lock, then of a held one", spin)
		}
	}
}
