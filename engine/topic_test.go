package engine

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"sync"
	"testing"
	"time"

	"commitlab/engine/message"
	"commitlab/engine/mmap/mmaptest"
	"commitlab/engine/storedir"
)

// long lets tests of endurance run for the time that the reports they stem from
// speak of.
var long = flag.Bool("long", false, "run tests of endurance for a minute each")

// endurance is how long such a test runs.
func endurance() time.Duration {
	if *long {
		return time.Minute
	}
	return 500 * time.Millisecond
}

// queueBodies reads a queue from its first offset on.
func queueBodies(t testing.TB, s *Store, topic string, id int32) (first int64, bodies []string) {
	t.Helper()
	first, next := s.QueueBounds(topic, id)
	for offset := first; offset < next; {
		r, err := s.Get(topic, id, offset, 100, nil)
		if err != nil || r.Status != Found {
			t.Fatalf("get at %d of [%d, %d): %v, %v", offset, first, next, r.Status, err)
		}
		for i := range r.Messages {
			if got, want := r.Messages[i].QueueOffset, offset+int64(i); got != want {
				t.Fatalf("message %d has queue offset %d", want, got)
			}
			bodies = append(bodies, string(r.Messages[i].Body))
		}
		offset = r.NextBegin
		r.Release()
	}
	return first, bodies
}

// A deleted topic is empty, also after the store was closed or killed and opened
// again, though the log still has its records; what is put to it later is all that
// it has, and its queue offsets go on.
func TestDeletedTopicStaysDeleted(t *testing.T) {
	for _, flush := range []string{FlushAsync, FlushSync} {
		for _, again := range []string{"open", "closed", "killed"} {
			t.Run(flush+" "+again, func(t *testing.T) {
				o := small(Options{Dispatch: On, Flush: flush})
				s := openUnchecked(t, scratch(t), o)
				for i := range 120 {
					put(t, s, newMessage("gone", int32(i%2), text(body(i), 300)))
					put(t, s, newMessage("kept", 0, text(body(i), 300)))
				}
				if flush == FlushSync { // else some of it is still to be dispatched
					dispatched(t, s)
				}
				if err := s.DeleteTopic("gone"); err != nil {
					t.Fatal(err)
				}
				reopen := func() {
					switch again {
					case "killed":
						dispatched(t, s)
						s = openUnchecked(t, kill(t, s), o)
					case "closed":
						if err := s.Close(); err != nil {
							t.Fatal(err)
						}
						s = openUnchecked(t, string(s.dir), o)
					}
				}
				reopen()
				if r, err := s.Get("gone", 0, 0, 10, nil); err != nil || r.Status != NoMessageInQueue {
					t.Fatalf("get of a deleted topic: %v, %v", r.Status, err)
				}
				for i := range 5 {
					if p := put(t, s, newMessage("gone", 0, body(i))); p.QueueOffset != int64(60+i) {
						t.Errorf("queue offset %d, want %d", p.QueueOffset, 60+i)
					}
				}
				for range 2 {
					dispatched(t, s)
					first, bodies := queueBodies(t, s, "gone", 0)
					if want := fmt.Sprint([]string{body(0), body(1), body(2), body(3), body(4)}); first != 60 || fmt.Sprint(bodies) != want {
						t.Errorf("topic has from %d on %v", first, bodies)
					}
					if _, next := s.QueueBounds("gone", 1); next != 0 {
						t.Errorf("the other queue is back, with %d messages", next)
					}
					if _, bodies := queueBodies(t, s, "kept", 0); len(bodies) != 120 {
						t.Errorf("the other topic has %d messages, want 120", len(bodies))
					}
					reopen()
				}
			})
		}
	}
}

func TestDeleteTopicWithoutOneOrWithoutDispatch(t *testing.T) {
	s := openStore(t, scratch(t), small(Options{}))
	if err := s.DeleteTopic("t"); !errors.Is(err, ErrNoDispatch) {
		t.Errorf("without dispatch: %v", err)
	}
	s = openUnchecked(t, scratch(t), small(Options{Dispatch: On}))
	if err := s.DeleteTopic("unknown"); err != nil {
		t.Errorf("unknown topic: %v", err)
	}
	if err := s.DeleteTopic("SCHEDULE_TOPIC_XXXX"); !errors.Is(err, ErrIllegalMessage) {
		t.Errorf("topic of the store: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteTopic("t"); !errors.Is(err, ErrClosing) {
		t.Errorf("closed: %v", err)
	}
}

// A crash in the middle of a deletion leaves queue files behind; Open finishes it.
func TestInterruptedDeletionIsFinishedByOpen(t *testing.T) {
	seam := newSeam()
	s := openUnchecked(t, scratch(t), seam.options(Options{Dispatch: On}))
	for i := range 50 {
		put(t, s, newMessage("gone", int32(i%4), body(i)))
	}
	dispatched(t, s)
	removed := 0
	seam.on(func(op mmaptest.Op, path string) error {
		if op == mmaptest.OpRemove {
			if removed++; removed > 2 {
				return os.ErrPermission
			}
		}
		return nil
	})
	if err := s.DeleteTopic("gone"); !errors.Is(err, os.ErrPermission) {
		t.Fatalf("delete: %v", err)
	}
	s = openUnchecked(t, kill(t, s), small(Options{Dispatch: On}))
	for id := range int32(4) {
		if _, next := s.QueueBounds("gone", id); next != 0 {
			t.Errorf("queue %d has messages up to %d", id, next)
		}
	}
}

// What is remembered of a deleted topic goes with its last record.
func TestDeletedTopicIsForgottenWithItsRecords(t *testing.T) {
	const size = 16 << 10
	s := openUnchecked(t, scratch(t), small(Options{Dispatch: On, CommitLogFileBytes: size, MaxLogBytes: 2 * size, DeleteFileIntervalMs: 1, CleanIntervalMs: 10}))
	put(t, s, newMessage("gone", 0, "x"))
	if err := s.DeleteTopic("gone"); err != nil {
		t.Fatal(err)
	}
	if got, err := s.dir.LoadDeletedTopics(); err != nil || got["gone"].Before == 0 || got["gone"].Before > s.log.Flushed() {
		t.Fatalf("remembered: %v, %v; the log is durable up to %d", got, err, s.log.Flushed())
	}
	for i := range 200 {
		put(t, s, newMessage("other", 0, text(body(i), 500)))
	}
	eventually(t, "the topic is forgotten", func() bool {
		got, err := s.dir.LoadDeletedTopics()
		return err == nil && len(got) == 0
	})
}

// A deletion says nothing of what is put after a power cut took the end of the log:
// the log offsets below it are then given again. Method: the list of deleted topics,
// which is durable, joins a log from before the last messages, which are not.
func TestDeletionEndsWithTheLogThatAPowerCutLeft(t *testing.T) {
	o := small(Options{Dispatch: On})
	s := openUnchecked(t, scratch(t), o)
	put(t, s, newMessage("gone", 0, body(0)))
	dispatched(t, s)
	dir := kill(t, s)
	for i := range 5 {
		put(t, s, newMessage("gone", 0, text(body(i), 300)))
	}
	if err := s.DeleteTopic("gone"); err != nil {
		t.Fatal(err)
	}
	deleted, err := s.dir.LoadDeletedTopics()
	if err == nil {
		err = storedir.Layout(dir).SaveDeletedTopics(deleted)
	}
	if err != nil {
		t.Fatal(err)
	}
	again := openUnchecked(t, dir, o)
	if p := put(t, again, newMessage("gone", 0, "after")); p.PhysicalOffset >= deleted["gone"].Before {
		t.Fatalf("put at %d, want a place below %d", p.PhysicalOffset, deleted["gone"].Before)
	}
	for range 2 {
		dispatched(t, again)
		if _, bodies := queueBodies(t, again, "gone", 0); fmt.Sprint(bodies) != "[after]" {
			t.Errorf("the topic has %v, want what was put after the power cut", bodies)
		}
		again = openUnchecked(t, kill(t, again), o)
	}
}

// With every deletion, of a topic that never was too, all later Opens read the whole
// log. They read no more than without, and the queue offsets go on all the same.
func TestOpenAfterADeletionReadsNoMore(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprint("killed=", killed), func(t *testing.T) {
			o := small(Options{Dispatch: On, FlushIntervalConsumeQueueMs: 10, FlushConsumeQueueThoroughIntervalMs: 1 << 30})
			s := openUnchecked(t, scratch(t), o)
			for i := range 60 {
				put(t, s, newMessage("gone", int32(i%2), body(i)))
			}
			for i := range 300 {
				put(t, s, newMessage("other", 0, text(body(i), 500)))
			}
			dispatched(t, s)
			file := func(offset int64) int64 { return offset / o.CommitLogFileBytes }
			eventually(t, "the queues are durable up to the last file", func() bool {
				return file(readCheckpoint(t, string(s.dir)).Positions.QueuesDurable) == file(s.log.Appended())
			})
			if err := s.DeleteTopic("unknown"); err != nil {
				t.Fatal(err)
			}
			if got, err := s.dir.LoadDeletedTopics(); err != nil || len(got) != 0 {
				t.Errorf("of an unknown topic is remembered %v, %v", got, err)
			}
			if err := s.DeleteTopic("gone"); err != nil {
				t.Fatal(err)
			}
			dir := string(s.dir)
			if killed {
				eventually(t, "the checkpoint is of the queues that are left", func() bool {
					p, end := readCheckpoint(t, dir).Positions, s.log.Appended()
					return p.QueuesDurable == end && p.DelaysSaved == end && p.QueuesSum == s.queues.Sum(end)
				})
				dir = kill(t, s)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openUnchecked(t, dir, o)
			if r := s.Snapshot().Recovery; r.FilesScanned > normalFiles || r.Files <= 2*normalFiles {
				t.Errorf("%d files of %d were read (%s), want at most %d", r.FilesScanned, r.Files, r.Reason, normalFiles)
			}
			for id := range int32(2) {
				if p := put(t, s, newMessage("gone", id, "after")); p.QueueOffset != 30 {
					t.Errorf("queue %d goes on with %d, want 30", id, p.QueueOffset)
				}
			}
			dispatched(t, s)
			if first, bodies := queueBodies(t, s, "gone", 0); first != 30 || fmt.Sprint(bodies) != "[after]" {
				t.Errorf("topic has from %d on %v", first, bodies)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			verified(t, s)
		})
	}
}

// The queue offsets that are remembered with a deletion are those of its place in the
// log, whatever is put meanwhile: a crash may leave any part of what follows.
func TestDeletionRemembersTheOffsetsOfItsPlace(t *testing.T) {
	s := openUnchecked(t, scratch(t), small(Options{Dispatch: On, CommitLogFileBytes: 1 << 20}))
	const puts = 40 // of each writer, beside each deletion
	var remembered []storedir.DeletedTopic
	for range 200 {
		var writers sync.WaitGroup
		begun := make(chan struct{}, 2)
		for id := range int32(2) {
			writers.Go(func() {
				for i := range puts {
					if i == puts/4 {
						begun <- struct{}{}
					}
					if _, err := s.Put(newMessage("t", id, "x")); err != nil {
						t.Errorf("put: %v", err)
					}
				}
			})
		}
		<-begun
		if err := s.DeleteTopic("t"); err != nil {
			t.Error(err)
		}
		all, err := s.dir.LoadDeletedTopics()
		if err != nil {
			t.Error(err)
		}
		remembered = append(remembered, all["t"])
		writers.Wait()
	}
	records := scan(t, s)
	for _, deletion := range remembered {
		want := make(map[int32]int64)
		for _, r := range records {
			if r.offset < deletion.Before {
				want[r.id] = r.queueOffset + 1
			}
		}
		if !maps.Equal(deletion.Next, want) {
			t.Errorf("at log offset %d the next queue offsets are %v, remembered %v", deletion.Before, want, deletion.Next)
		}
	}
}

// H30: RocketMQ gives the queue offsets of a deleted topic a second time. Where a log
// has both, what is put next got an offset behind the older ones, which no queue took:
// dispatch stood still there. It follows the newer ones.
func TestH30_OffsetsGoOnBehindThoseGivenTwice(t *testing.T) {
	var messages []*message.Message
	for i := range 5 {
		messages = append(messages, newMessage("t", 0, body(i)))
	}
	o := small(Options{Dispatch: On})
	dir, records := written(t, o, false, messages...)
	const queueOffsetAt = 20 // in a record
	for i, r := range records[3:] {
		patch(t, dir, o.CommitLogFileBytes, r.offset+queueOffsetAt, func(b []byte) { binary.BigEndian.PutUint64(b, uint64(i)) })
	}
	if err := os.RemoveAll(storedir.Layout(dir).ConsumeQueue()); err != nil {
		t.Fatal(err)
	}
	forgetDurable(t, dir) // as RocketMQ does
	s := openUnchecked(t, dir, o)
	if p := put(t, s, newMessage("t", 0, "next")); p.QueueOffset != 2 {
		t.Errorf("queue offset %d, want 2", p.QueueOffset)
	}
	dispatched(t, s)
	if _, bodies := queueBodies(t, s, "t", 0); fmt.Sprint(bodies) != fmt.Sprint([]string{body(3), body(4), "next"}) {
		t.Errorf("the queue has %v", bodies)
	}
}

// Recovery by the rules of RocketMQ moves queues on over messages that it does not look
// for, and made those of deleted topics anew to do so.
func TestGivingUpUnitsMakesNoQueueOfADeletedTopic(t *testing.T) {
	for _, rule := range []string{RecoverRocketMQ, RecoverRocketMQ5} {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s killed=%v", rule, killed), func(t *testing.T) {
				o := small(Options{Dispatch: On, RecoverFrom: rule})
				s := openUnchecked(t, scratch(t), o)
				for i := range 6 {
					put(t, s, newMessage("gone", int32(i%2), body(i)))
					put(t, s, newMessage("kept", 0, body(i)))
				}
				dispatched(t, s)
				if err := s.DeleteTopic("gone"); err != nil {
					t.Fatal(err)
				}
				dir := string(s.dir)
				if killed {
					dir = kill(t, s)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = openUnchecked(t, dir, o)
				if got := names(t, s.dir.ConsumeQueue()); fmt.Sprint(got) != "[kept]" {
					t.Errorf("there are queues of %v, want of kept", got)
				}
				if p := put(t, s, newMessage("gone", 1, "after")); p.QueueOffset != 3 {
					t.Errorf("queue offset %d, want 3", p.QueueOffset)
				}
				dispatched(t, s)
				if first, bodies := queueBodies(t, s, "gone", 1); first != 3 || fmt.Sprint(bodies) != "[after]" {
					t.Errorf("the topic has from %d on %v", first, bodies)
				}
			})
		}
	}
}
