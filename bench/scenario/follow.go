package scenario

import (
	"time"

	"commitlab/bench/measure"
)

// follower is an appender that also times how long each message takes from the start
// of its put until it can be found by queue and key. When that is, whoever dispatches says;
// the worker only looks after each put what it said, so that its looking does not count.
type follower struct {
	*appender
	began    time.Time // of the times below
	passed   *milestones
	awaiting []awaiting // by worker
}

// awaited is a message that is not known to be dispatched.
type awaited struct {
	end int64         // log offset behind it
	at  time.Duration // when its put began
}

// awaiting is a ring of messages of one worker, oldest first. When it is full,
// further messages are not followed.
type awaiting struct {
	ring       [maxAwaiting]awaited
	head, tail uint
	seen       int64 // number of the milestone that the last one was found by
}

// maxAwaiting bounds what a worker follows at a time; a power of two.
const maxAwaiting = 1 << 14

func (a *awaiting) add(m awaited) {
	if a.tail-a.head < maxAwaiting {
		a.ring[a.tail%maxAwaiting] = m
		a.tail++
	}
}

// next returns the oldest message and drops it, if it is dispatched, with the time it
// took.
func (a *awaiting) next(passed *milestones) (took time.Duration, ok bool) {
	if a.head == a.tail {
		return 0, false
	}
	m := a.ring[a.head%maxAwaiting]
	at, ok := passed.when(m.end, &a.seen)
	if !ok {
		return 0, false
	}
	a.head++
	return at - m.at, true
}

func newFollower(spec Spec) (measure.Instance, error) {
	f := &follower{began: time.Now(), passed: new(milestones), awaiting: make([]awaiting, spec.Writers)}
	spec.Options.Readable = func(offset int64) { f.passed.add(offset, time.Since(f.began)) }
	var err error
	f.appender, err = newAppender(spec)
	return f, err
}

// Op puts the worker's next message and observes which earlier ones have become
// readable. The time of the put itself is timed as append.
func (f *follower) Op(w *measure.Worker) error {
	start, began := w.Now(), time.Since(f.began)
	r, err := f.put(f.writers[w.ID])
	if err != nil {
		return err
	}
	w.Observe(opAppend, w.Now()-start)
	awaiting := &f.awaiting[w.ID]
	awaiting.add(awaited{end: r.End(), at: began})
	for {
		took, ok := awaiting.next(f.passed)
		if !ok {
			return nil
		}
		w.Observe(opReadable, took)
	}
}
