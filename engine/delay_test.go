package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"commitlab/engine/consumequeue"
	"commitlab/engine/message"
	"commitlab/engine/segment"
	"commitlab/engine/storedir"
)

// delayedMessage is a message of a delay level.
func delayedMessage(topic string, queueID int32, level int, body string) *message.Message {
	m := newMessage(topic, queueID, body)
	m.Properties = message.Properties("DELAY\x01" + strconv.Itoa(level) + "\x02KEYS\x01" + "k" + "\x02")
	return m
}

// openByHand opens a store whose delayed messages are delivered by deliverAt only.
func openByHand(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	o.Dispatch = On
	s := openUnchecked(t, dir, small(o))
	s.services.delivery.Stop()
	return s
}

// deliverAt does what the service of delayed messages does at a time, until there
// is nothing more to do, and returns the number of messages.
func deliverAt(t testing.TB, s *Store, ms int64) (n int) {
	t.Helper()
	dispatched(t, s)
	for {
		worked, err := s.delivery.service.Step(time.UnixMilli(ms))
		if err != nil {
			t.Fatal(err)
		}
		if n += worked; worked == 0 {
			dispatched(t, s)
			return n
		}
	}
}

// bodies returns the bodies of all messages of a queue.
func bodies(t testing.TB, s *Store, topic string, id int32) (all []string) {
	t.Helper()
	first, next := s.QueueBounds(topic, id)
	for at := first; at < next; {
		r, err := s.Get(topic, id, at, 32, nil)
		if err != nil || r.Status != Found {
			t.Fatalf("get %s/%d at %d: %v, %v", topic, id, at, r.Status, err)
		}
		for i := range r.Messages {
			all = append(all, string(r.Messages[i].Body))
		}
		at = r.NextBegin
		r.Release()
	}
	return all
}

func TestDelayedMessageWaitsAndArrivesAsItWasPut(t *testing.T) {
	s := openByHand(t, scratch(t), Options{DelayLevels: "1s 1h"})
	m := delayedMessage("t", 3, 2, "late")
	m.Flag, m.ReconsumeTimes = 7, 2
	p := put(t, s, m)
	due := p.StoreTimestampMs + time.Hour.Milliseconds()
	if n := deliverAt(t, s, due-1); n != 0 {
		t.Fatalf("%d messages delivered before they were due", n)
	}
	if got := bodies(t, s, "t", 3); got != nil {
		t.Fatalf("before it is due the queue holds %q", got)
	}
	v, err := s.At(p.PhysicalOffset)
	if err != nil || string(v.Topic) != message.ScheduleTopic || v.QueueID != 1 {
		t.Fatalf("waits in %s/%d, %v; want %s/1", v.Topic, v.QueueID, err, message.ScheduleTopic)
	}
	v.Release()
	if u, ok := s.queues.Get(message.ScheduleTopic, 1).Read(0); !ok || u.TagsCode != due {
		t.Fatalf("its unit is %+v, %v; want the due time %d", u, ok, due)
	}
	if n := deliverAt(t, s, due); n != 1 {
		t.Fatalf("%d messages delivered when one was due", n)
	}
	r, err := s.Get("t", 3, 0, 10, nil)
	if err != nil || len(r.Messages) != 1 {
		t.Fatalf("when due: %v, %v", r.Status, err)
	}
	defer r.Release()
	got := &r.Messages[0]
	if string(got.Body) != "late" || got.Flag != 7 || got.ReconsumeTimes != 2 || got.BornTimestamp != m.BornTimestamp || got.BornHost != m.BornHost || got.StoreHost != m.StoreHost {
		t.Errorf("arrived as %+v, put as %+v", got.Record, m)
	}
	if len(queryAll(t, s, "t", "k")) != 1 || len(queryAll(t, s, message.ScheduleTopic, "k")) != 1 {
		t.Error("not found by key under both topics")
	}
	if n := deliverAt(t, s, due+time.Hour.Milliseconds()); n != 0 {
		t.Errorf("delivered once more")
	}
	checkDerived(t, s)
}

func TestDelayLevels(t *testing.T) {
	s := openByHand(t, scratch(t), Options{DelayLevels: "1s 1m"})
	for level, want := range map[string]string{
		"1": "SCHEDULE_TOPIC_XXXX/0", "2": "SCHEDULE_TOPIC_XXXX/1", "3": "SCHEDULE_TOPIC_XXXX/1", "1000": "SCHEDULE_TOPIC_XXXX/1",
		"0": "t/5", "-1": "t/5", "one": "", "": "t/5",
	} {
		m := newMessage("t", 5, "body")
		m.Properties = message.Properties("DELAY\x01" + level + "\x02")
		p, err := s.Put(m)
		if want == "" {
			if !errors.Is(err, ErrIllegalMessage) {
				t.Errorf("level %q: got %v, want ErrIllegalMessage", level, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("level %q: %v", level, err)
			continue
		}
		r := read(t, s, p.PhysicalOffset)
		if got := fmt.Sprintf("%s/%d", r.topic, r.id); got != want {
			t.Errorf("level %q went to %s, want %s", level, got, want)
		}
		if level == "1000" {
			v, err := s.At(p.PhysicalOffset)
			if err != nil {
				t.Fatal(err)
			}
			if stored, _ := v.Properties.Get(message.PropertyDelay); string(stored) != "2" {
				t.Errorf("a level beyond the table is stored as %q, want the highest", stored)
			}
			v.Release()
		}
	}
	prepared := delayedMessage("t", 5, 1, "body")
	prepared.SysFlag = int32(message.TransactionPrepared)
	if r := read(t, s, put(t, s, prepared).PhysicalOffset); r.topic != "t" {
		t.Errorf("a prepared message waits in %s", r.topic)
	}
}

// Goal: a clock set back does not keep a message for longer than its level says.
func TestDelayedMessageWhenTheClockWasSetBack(t *testing.T) {
	s := openByHand(t, scratch(t), Options{DelayLevels: "1h"})
	p := put(t, s, delayedMessage("t", 0, 1, "late"))
	if n := deliverAt(t, s, p.StoreTimestampMs-1); n != 1 {
		t.Errorf("%d messages delivered when the wait would be longer than an hour, want 1", n)
	}
}

// Goal: every delayed message arrives once, in the order of its level, across
// restarts and kills at any moment. Method: random steps; a kill goes on with a
// copy of the directory, where the saved progress may be old or missing.
func TestDelayedMessagesArriveOnceAcrossRestartsAndKills(t *testing.T) {
	const levels, hour = 3, int64(3_600_000)
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 6))
		o := Options{DelayLevels: "1h 2h 3h", CommitLogFileBytes: 8 << 10}
		if seed%3 == 0 {
			o.Flush = FlushSync
		}
		s := openByHand(t, scratch(t), o)
		var put1 [levels][]string
		clock := time.Now().UnixMilli()
		for step := range 60 {
			switch rng.IntN(8) {
			case 0, 1, 2, 3:
				level := rng.IntN(levels)
				b := fmt.Sprintf("%d of level %d", step, level+1)
				put(t, s, delayedMessage("t", int32(level), level+1, b))
				put1[level] = append(put1[level], b)
			case 4: // some levels become due
				deliverAt(t, s, clock+int64(1+rng.IntN(3))*hour+time.Minute.Milliseconds())
			case 5: // a part of what is due, as if killed in between
				dispatched(t, s)
				s.delivery.service.Step(time.UnixMilli(clock + 2*hour))
			case 6:
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = openByHand(t, string(s.dir), o)
			case 7:
				if rng.IntN(2) == 0 {
					if err := s.delivery.service.Save(clock); err != nil {
						t.Fatal(err)
					}
				}
				if err := s.Flush(); err != nil {
					t.Fatal(err)
				}
				dir := kill(t, s)
				if rng.IntN(3) == 0 {
					os.Remove(storedir.Layout(dir).DelayOffset())
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = openByHand(t, dir, o)
			}
		}
		deliverAt(t, s, clock+4*hour)
		for level := range levels {
			if got := bodies(t, s, "t", int32(level)); !slices.Equal(got, put1[level]) {
				t.Errorf("seed %d, level %d: arrived %q, put %q", seed, level+1, got, put1[level])
			}
		}
		checkDerived(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Goal: a power cut takes neither an acknowledged delayed message nor its delivery,
// whatever it leaves of the files. Method: sync flush on simulated disks; the cut
// comes between deliveries, and the saved progress is durable as always.
func TestDelayedMessagesSurviveAPowerCut(t *testing.T) {
	for _, flush := range []string{FlushSync, FlushAsync} {
		for seed := range uint64(8) {
			rng := rand.New(rand.NewPCG(seed, 7))
			m := newSeam()
			o := m.options(Options{Dispatch: On, DelayLevels: "1h", Flush: flush, FlushIntervalMs: 1 << 30, CommitLogFileBytes: 8 << 10, Preallocate: Off, Populate: segment.PopulateNone})
			s := openByHand(t, scratch(t), o)
			var want []string
			for i := range 10 {
				want = append(want, body(i))
				put(t, s, delayedMessage("t", 0, 1, body(i)))
			}
			if err := s.Flush(); err != nil { // async: acknowledged long ago
				t.Fatal(err)
			}
			due := time.Now().UnixMilli() + 2*time.Hour.Milliseconds()
			if rng.IntN(3) > 0 {
				eventually(t, "dispatch", func() bool { return s.dispatch.at.Load() == s.log.Appended() })
				for range 1 + rng.IntN(2) {
					if _, err := s.delivery.service.Step(time.UnixMilli(due)); err != nil {
						t.Fatal(err)
					}
				}
				if rng.IntN(2) == 0 {
					if err := s.delivery.service.Save(due); err != nil {
						t.Fatal(err)
					}
				}
			}
			s.services.dispatch.Stop() // nobody writes while the power goes off
			clone := scratch(t) + "/clone"
			if err := m.heap.CrashClone(string(s.dir), clone, rng); err != nil {
				t.Fatal(err)
			}
			again := openByHand(t, clone, Options{DelayLevels: "1h", CommitLogFileBytes: 8 << 10})
			deliverAt(t, again, due)
			if got := bodies(t, again, "t", 0); !slices.Equal(got, want) {
				t.Errorf("flush %s, seed %d: arrived %q, want %q", flush, seed, got, want)
			}
			checkDerived(t, again)
			again.Close()
			s.Close()
		}
	}
}

// longestPause measures how long this process was kept from running, at most,
// until stop is called.
func longestPause() (stop func() time.Duration) {
	end, result := make(chan struct{}), make(chan time.Duration)
	go func() {
		longest, last := time.Duration(0), time.Now()
		for {
			select {
			case <-end:
				result <- longest
				return
			case <-time.After(time.Millisecond):
			}
			longest, last = max(longest, time.Since(last)), time.Now()
		}
	}()
	return func() time.Duration { close(end); return <-result }
}

// Goal: each message is delivered by the first step at or after the time it is due, and by
// none before.
func TestEachDelayedMessageIsDeliveredWhenItIsDue(t *testing.T) {
	s := openByHand(t, scratch(t), Options{DelayLevels: "1s 2s", Clock: ClockExact})
	dues := make(map[int64]int) // messages by when they are due
	first, last := int64(1<<62), int64(0)
	for i := range 60 {
		level := i % 2
		p := put(t, s, delayedMessage("t", int32(level), level+1, body(i)))
		due := p.StoreTimestampMs + int64(level+1)*1000
		dues[due]++
		first, last = min(first, due), max(last, due)
		if i%5 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	for now := first - 1; now <= last+1; now++ {
		if got := deliverAt(t, s, now); got != dues[now] {
			t.Errorf("%d ms after the first was due: %d messages delivered, %d are due", now-first, got, dues[now])
		}
	}
}

// Goal: a delayed message is there within 100 ms after it is due, never before,
// and the messages of a level arrive in order; across a restart as well. Judged is
// the quickest, less what the machine kept the whole process from running.
func TestDelayedMessagesArriveInTime(t *testing.T) {
	stop := longestPause()
	o := small(Options{Dispatch: On, DelayLevels: "1s 2s", Clock: ClockExact})
	s := openUnchecked(t, scratch(t), o)
	due := make(map[string]int64)
	var want [2][]string
	for i := range 40 {
		level := i % 2
		p := put(t, s, delayedMessage("t", int32(level), level+1, body(i)))
		due[body(i)] = p.StoreTimestampMs + int64(level+1)*1000
		want[level] = append(want[level], body(i))
	}
	if err := s.Wait(t.Context(), "t", 0, 19); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openUnchecked(t, string(s.dir), o)
	if err := s.Wait(t.Context(), "t", 1, 19); err != nil {
		t.Fatal(err)
	}
	limit := 100 + stop().Milliseconds()
	for level, want := range want {
		r, at := get(t, s, "t", int32(level), 0, 32, nil)
		if got := bodies(t, s, "t", int32(level)); !slices.Equal(got, want) || len(at) != len(want) {
			t.Errorf("level %d: %v, arrived %q, want %q", level+1, r.Status, got, want)
		}
		quickest := int64(1 << 62)
		for at := range int64(len(want)) {
			u, _ := s.queues.Get("t", int32(level)).Read(at)
			v, err := s.At(u.PhysicalOffset)
			if err != nil {
				t.Fatal(err)
			}
			late := v.StoreTimestamp - due[string(v.Body)]
			v.Release()
			if late < 0 {
				t.Errorf("level %d: message %d arrived %d ms before it was due", level+1, at, -late)
			}
			quickest = min(quickest, late)
		}
		if quickest > limit {
			t.Errorf("level %d: every message was at least %d ms late, want %d at most", level+1, quickest, limit)
		}
	}
}

// Goal: what cannot be delivered is passed over with a warning, and the level goes
// on. Method: messages put to the schedule topic by hand.
func TestDelayedMessageWithoutADestination(t *testing.T) {
	var w warnings
	s := openByHand(t, scratch(t), Options{DelayLevels: "1h", Logger: w.logger()})
	for _, properties := range []string{
		"DELAY\x011\x02",
		"DELAY\x011\x02REAL_TOPIC\x01t\x02",
		"DELAY\x011\x02REAL_TOPIC\x01t\x02REAL_QID\x01x\x02",
		"DELAY\x011\x02REAL_TOPIC\x01t\x02REAL_QID\x01-1\x02",
		"DELAY\x011\x02REAL_TOPIC\x01a/b\x02REAL_QID\x010\x02",
		"DELAY\x011\x02REAL_TOPIC\x01" + message.HalfTopic + "\x02REAL_QID\x010\x02",
		"DELAY\x011\x02REAL_TOPIC\x01" + message.ScheduleTopic + "\x02REAL_QID\x010\x02",
	} {
		m := newMessage(message.ScheduleTopic, 0, "lost")
		m.Properties = message.Properties(properties)
		put(t, s, m)
	}
	put(t, s, delayedMessage("t", 0, 1, "good"))
	deliverAt(t, s, time.Now().UnixMilli()+2*time.Hour.Milliseconds())
	if got := bodies(t, s, "t", 0); !slices.Equal(got, []string{"good"}) {
		t.Errorf("arrived %q, want the good one", got)
	}
	if n := w.count("passed over"); n != 7 {
		t.Errorf("%d warnings, want 7:\n%s", n, w.String())
	}
	checkDerived(t, s)
}

// RocketMQ 4.9.8, killed, recovers before it has read its table of delays: units of
// delayed messages then hold 0, or the hash of tags, instead of the time of
// delivery, and it delivers two hours early. Here the record tells the time.
func TestDelayedMessageWhoseUnitHasNoTime(t *testing.T) {
	dir := scratch(t)
	s := openByHand(t, dir, Options{DelayLevels: "1s 2h"})
	p := put(t, s, delayedMessage("t", 0, 2, "late"))
	dispatched(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.dir.ConsumeQueue(), message.ScheduleTopic, "1", segment.FileName(0))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	u := consumequeue.DecodeUnit(b)
	u.TagsCode = 0
	consumequeue.EncodeUnit(b, u)
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	auditClosed(t, s)

	s = openByHand(t, dir, Options{DelayLevels: "1s 2h"})
	due := p.StoreTimestampMs + 2*time.Hour.Milliseconds()
	if n := deliverAt(t, s, due-1); n != 0 {
		t.Errorf("%d messages delivered before they were due", n)
	}
	if n := deliverAt(t, s, due); n != 1 {
		t.Errorf("%d messages delivered when one was due", n)
	}
}
