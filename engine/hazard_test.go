package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"commitlab/engine/consumequeue"
	"commitlab/engine/message"
	"commitlab/engine/mmap/mmaptest"
	"commitlab/engine/segment"
	"commitlab/engine/storedir"
)

// What the store of RocketMQ does wrong around opening and closing, and what is
// right. Other hazards are tested where the behaviour lives; their numbers are in
// the names of the tests or in the comments above them.

// H1: a second process loaded the directory before it tried the lock, and took the
// file away that the first one had prepared.
func TestH01_PreparedFileSurvivesASecondOpen(t *testing.T) {
	o := small(Options{CommitLogFileBytes: fileBytes, Preallocate: On})
	dir := scratch(t)
	s := openStore(t, dir, o)
	put(t, s, newMessage("t", 0, body(0)))
	eventually(t, "the next file", func() bool { return len(names(t, s.dir.CommitLog())) == 2 })
	for range 3 {
		var locked *LockedError
		if err := mustRefuse(t, dir, o); !errors.As(err, &locked) {
			t.Errorf("got %v, want a LockedError", err)
		}
	}
	for _, m := range fiveFiles() { // into the prepared file, and on
		put(t, s, m)
	}
	if n := len(scan(t, s)); n != 16 {
		t.Errorf("%d records, want 16", n)
	}
}

// H5: with the log gone its queues went, but the index stayed: old entries led to
// new records, and new ones were not entered below the old end.
func TestH05_NothingPointsIntoALogThatIsGone(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed=%v", killed), func(t *testing.T) {
			o := small(Options{Dispatch: On, CommitLogFileBytes: fileBytes, IndexSlots: 10, IndexItems: 8})
			s := openUnchecked(t, scratch(t), o)
			for i := range 20 {
				put(t, s, keyedMessage("t", "", fmt.Sprint("old", i), text(body(i), 500)))
			}
			dispatched(t, s)
			dir := string(s.dir)
			if killed {
				dir = kill(t, s)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			log := storedir.Layout(dir).CommitLog()
			for _, name := range names(t, log) {
				if err := os.Remove(filepath.Join(log, name)); err != nil {
					t.Fatal(err)
				}
			}
			s = openUnchecked(t, dir, o)
			if first, next := s.QueueBounds("t", 0); first != next {
				t.Errorf("queue is [%d, %d) without a log", first, next)
			}
			for i := range 20 { // the same places
				p := put(t, s, keyedMessage("t", "", fmt.Sprint("new", i), text(body(i), 500)))
				dispatched(t, s)
				if got := queryAll(t, s, "t", fmt.Sprint("new", i)); !slices.Equal(got, []int64{p.PhysicalOffset}) {
					t.Fatalf("new key %d: found at %v, put at %d", i, got, p.PhysicalOffset)
				}
			}
			for i := range 20 {
				if got := queryAll(t, s, "t", fmt.Sprint("old", i)); len(got) > 0 {
					t.Errorf("old key %d: found at %v", i, got)
				}
			}
			checkDerived(t, s)
		})
	}
}

// H6: after a clean stop only records behind the greatest end that any queue knew
// were dispatched, so that a lost queue stayed lost while another was ahead, and
// the first missing record, which begins exactly there, was passed over.
func TestH06_EveryQueueGetsWhatItLacks(t *testing.T) {
	// drop removes the last unit of a queue, of which one file is left.
	drop := func(t *testing.T, dir, queue string) {
		path := filepath.Join(dir, "consumequeue", queue, segment.FileName(0))
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for consumequeue.DecodeUnit(b[n*consumequeue.UnitBytes:]).Size > 0 {
			n++
		}
		clear(b[(n-1)*consumequeue.UnitBytes:])
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, lose := range map[string]func(t *testing.T, dir string){
		"one queue, another is ahead": func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "consumequeue", "t", "0")); err != nil {
				t.Fatal(err)
			}
		},
		"the last record of the log": func(t *testing.T, dir string) { drop(t, dir, "t/1") },
		"the last record of each queue": func(t *testing.T, dir string) {
			drop(t, dir, "t/0")
			drop(t, dir, "t/1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := small(Options{Dispatch: On, CommitLogFileBytes: fileBytes})
			s := openUnchecked(t, scratch(t), o)
			for _, m := range fiveFiles() {
				m.QueueID = (m.QueueID + 1) % 2 // the last one goes to queue 1
				put(t, s, m)
			}
			dispatched(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			lose(t, string(s.dir))
			again := openUnchecked(t, string(s.dir), o)
			checkDerived(t, again)
			for id, want := range []int64{7, 8} {
				if first, next := again.QueueBounds("t", int32(id)); first != 0 || next != want {
					t.Errorf("queue %d is [%d, %d), want [0, %d)", id, first, next, want)
				}
			}
		})
	}
}

// H11: a file that recovery could not remove was forgotten all the same, and came
// back with the next start, possibly behind a gap. Until it is gone the store does
// not open; nothing is lost meanwhile.
func TestH11_FilesThatCannotBeRemovedAreNotForgotten(t *testing.T) {
	o := small(Options{CommitLogFileBytes: fileBytes, Preallocate: Off})
	dir, records := written(t, o, true, fiveFiles()...)
	cut := records[4] // in the second file
	patch(t, dir, fileBytes, cut.offset+300, func(b []byte) { b[0] ^= 1 })
	for _, r := range records[5:] { // nor does a record follow, so that this is the torn end
		patch(t, dir, fileBytes, r.offset, func(b []byte) { clear(b[:8]) })
	}
	forgetDurable(t, dir)
	m := newSeam()
	log := storedir.Layout(dir).CommitLog()
	refused := errors.New("the name stays, says the test")
	for left := int64(5); left > 2; left-- { // one file goes with each attempt but the first
		removed := int64(0)
		m.on(func(op mmaptest.Op, path string) error {
			if op == mmaptest.OpRemove && strings.HasPrefix(path, log) {
				if removed++; removed > 1 || left == 5 {
					return refused
				}
			}
			return nil
		})
		if s, err := Open(dir, m.options(o)); !errors.Is(err, refused) {
			if err == nil {
				s.Close()
			}
			t.Fatalf("open: got %v, want the refusal", err)
		}
		var want []string
		for i := range left {
			want = append(want, segment.FileName(i*fileBytes))
		}
		if got := names(t, log); !slices.Equal(got, want) {
			t.Fatalf("files %v are left, want %v", got, want)
		}
	}
	goesOn(t, dir, o, records[:4])
}

// B-09: the half full index file was not synced by a clean stop, while checkpoint
// and missing abort marker said that all is well. With H17 in mind: what vouches
// for queues and index comes after them, and nothing is built again.
func TestB09_IndexAndQueuesAreDurableBeforeTheMarkerGoes(t *testing.T) {
	m := newSeam()
	dir := scratch(t)
	s := openUnchecked(t, dir, m.options(Options{Dispatch: On, FlushIntervalConsumeQueueMs: 1 << 30, FlushConsumeQueueThoroughIntervalMs: 1 << 30}))
	for i := range 10 {
		put(t, s, keyedMessage("t", "", fmt.Sprint("key", i), body(i)))
	}
	dispatched(t, s)
	before := readCheckpoint(t, dir).IndexMs
	synced := make(map[string]int)
	m.on(func(op mmaptest.Op, path string) error {
		if !isSync(op) {
			return nil
		}
		part := filepath.Base(filepath.Dir(path))
		synced[part]++
		if here, err := s.dir.AbortMarker().Present(); err != nil || !here {
			t.Errorf("%s synced with the abort marker gone (%v)", part, err)
		}
		if part == "index" && readCheckpoint(t, dir).IndexMs != before {
			t.Error("index synced after the checkpoint vouched for it")
		}
		return nil
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	m.on(nil)
	if synced["index"] == 0 || synced["0"] == 0 {
		t.Errorf("Close synced %v, want the index and queue 0 too", synced)
	}
	clone := filepath.Join(scratch(t), "clone")
	if err := m.heap.CrashClone(dir, clone, nil); err != nil {
		t.Fatal(err)
	}
	again := openUnchecked(t, clone, small(Options{Dispatch: On}))
	if n := again.Snapshot().Dispatched; n != 0 {
		t.Errorf("%d records were dispatched again, though all was durable", n)
	}
	for i := range 10 {
		if got := queryAll(t, again, "t", fmt.Sprint("key", i)); len(got) != 1 {
			t.Errorf("key %d: found %d messages", i, len(got))
		}
	}
	checkDerived(t, again)
}

// H8: one bad record ended recovery, and everything behind it was destroyed, later
// files too. Skipped, it costs itself alone, in the log, by queue and by key; the
// next start knows of it.
func TestH08_ABadRecordCostsOnlyItself(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed=%v", killed), func(t *testing.T) {
			o := small(Options{Dispatch: On, CommitLogFileBytes: fileBytes, IndexSlots: 10, IndexItems: 20})
			var messages []*message.Message
			for i := range 15 {
				messages = append(messages, keyedMessage("t", "", fmt.Sprint("key", i), text(body(i), 900)))
			}
			dir, records := written(t, o, killed, messages...)
			bad := map[int]bool{9: true, 13: true} // of the last three files, which a start verifies
			for i := range bad {
				patch(t, dir, fileBytes, records[i].offset+300, func(b []byte) { b[0] ^= 0x04 })
			}
			if killed { // as if nothing was known of queues and index
				if err := errors.Join(os.RemoveAll(filepath.Join(dir, "consumequeue")), os.RemoveAll(filepath.Join(dir, "index"))); err != nil {
					t.Fatal(err)
				}
			}
			for _, damage := range []string{DamageSkip, DamageRefuse} {
				o.Damage = damage
				s := openUnchecked(t, dir, o)
				if n := len(s.Snapshot().Recovery.Skipped); n != len(bad) {
					t.Errorf("%s: %d ranges are skipped, want %d", damage, n, len(bad))
				}
				for i, r := range records {
					want := 1
					if bad[i] {
						want = 0
					}
					if got := stands(s, r.offset); got == bad[i] {
						t.Errorf("%s: record %d stands: %v", damage, i, got)
					}
					if _, at := get(t, s, "t", 0, int64(i), 1, nil); !bad[i] && !slices.Equal(at, []int64{int64(i)}) {
						t.Errorf("%s: queue offset %d gives %v", damage, i, at)
					}
					if found := queryAll(t, s, "t", fmt.Sprint("key", i)); len(found) != want {
						t.Errorf("%s: key %d is found %d times, want %d", damage, i, len(found), want)
					}
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
