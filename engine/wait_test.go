package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
)

// waitFor starts a Wait and returns its result as a channel, once it is waiting.
func waitFor(t testing.TB, s *Store, ctx context.Context, topic string, id int32, offset int64) <-chan error {
	t.Helper()
	before := s.waiters.count.Load()
	done := make(chan error, 1)
	go func() { done <- s.Wait(ctx, topic, id, offset) }()
	eventually(t, "reader waits", func() bool { return s.waiters.count.Load() > before })
	return done
}

// within returns what arrives on done, and fails the test if nothing does.
func within(t testing.TB, done <-chan error) (err error) {
	t.Helper()
	eventually(t, "a reader to be woken", func() bool {
		select {
		case err = <-done:
			return true
		default:
			return false
		}
	})
	return err
}

func TestWaitReturnsWhenTheMessageCanBeRead(t *testing.T) {
	for _, flush := range []string{FlushAsync, FlushSync} {
		t.Run(flush, func(t *testing.T) {
			s := openUnchecked(t, scratch(t), small(Options{Dispatch: On, Flush: flush}))
			second := waitFor(t, s, t.Context(), "t", 1, 1) // the queue does not exist yet
			first := waitFor(t, s, t.Context(), "t", 1, 0)
			put(t, s, newMessage("t", 0, "of another queue"))
			put(t, s, newMessage("u", 1, "of another topic"))
			put(t, s, newMessage("t", 1, "first"))
			if err := within(t, first); err != nil {
				t.Fatal(err)
			}
			if r, at := get(t, s, "t", 1, 0, 1, nil); r.Status != Found || len(at) != 1 {
				t.Errorf("after Wait: %v", r.Status)
			}
			select {
			case err := <-second:
				t.Fatalf("Wait for offset 1 returned with one message there: %v", err)
			default:
			}
			put(t, s, newMessage("t", 1, "second"))
			if err := within(t, second); err != nil {
				t.Fatal(err)
			}
			if err := s.Wait(t.Context(), "t", 1, 0); err != nil {
				t.Fatalf("the message is there: %v", err)
			}
		})
	}
}

func TestWaitEndsWithContextOrStore(t *testing.T) {
	s := openUnchecked(t, scratch(t), small(Options{Dispatch: On}))
	put(t, s, newMessage("t", 0, "body"))
	reason := errors.New("no more patience")
	ctx, cancel := context.WithCancelCause(t.Context())
	for i := range 100 { // none of these must leave anything behind
		cancelled := waitFor(t, s, ctx, fmt.Sprint("unknown", i), 0, 0)
		defer func() {
			if err := within(t, cancelled); !errors.Is(err, reason) {
				t.Errorf("got %v, want the cause of the context", err)
			}
		}()
	}
	closing := waitFor(t, s, t.Context(), "t", 0, 1)
	cancel(reason)
	eventually(t, "readers gone", func() bool { return s.waiters.count.Load() == 1 })
	s.waiters.mu.Lock()
	if n := len(s.waiters.queues); n != 1 {
		t.Errorf("%d queues are kept, one is waited for", n)
	}
	s.waiters.mu.Unlock()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := within(t, closing); !errors.Is(err, ErrClosing) {
		t.Errorf("got %v, want ErrClosing", err)
	}
}

// Goal: no wake-up is lost. Method: readers follow queues by Wait and Get while
// writers put; every reader must see every message once, in order.
func TestTailReadersSeeEveryMessageOnce(t *testing.T) {
	const queues, readersEach, messages = 2, 3, 300
	for _, o := range []Options{{}, {Flush: FlushSync}, {SyncPath: "pwrite"}} {
		o.Dispatch = On
		m := newSeam() // memory that the race detector watches
		s := openUnchecked(t, scratch(t), m.options(o))
		var group sync.WaitGroup
		for id := range int32(queues) {
			group.Go(func() {
				for i := range messages {
					if _, err := s.Put(unwaited("t", id, body(i))); err != nil {
						t.Error(err)
						return
					}
				}
			})
			for range readersEach {
				group.Go(func() {
					var r GetResult
					for at := int64(0); at < messages; {
						err := s.Wait(t.Context(), "t", id, at)
						if err == nil {
							err = s.GetInto(&r, "t", id, at, 7, nil)
						}
						if err != nil || r.Status != Found {
							t.Errorf("at %d: %v, %v", at, r.Status, err)
							return
						}
						for i := range r.Messages {
							if v := &r.Messages[i]; v.QueueOffset != at || string(v.Body) != body(int(at)) {
								t.Errorf("at %d: offset %d, body %q", at, v.QueueOffset, v.Body)
							}
							at++
						}
						r.Release()
					}
				})
			}
		}
		group.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Goal: who is told that messages are readable can read them, is told in order and up
// to the last, and of what Open dispatches is told nothing.
func TestReadableTellsHowFarDispatchIs(t *testing.T) {
	var told []int64
	var s *Store
	o := small(Options{Dispatch: On})
	o.Readable = func(offset int64) {
		if s == nil {
			t.Errorf("told of %d while the store was opened", offset)
		} else if at := s.Dispatched(); offset > at || len(told) > 0 && offset <= told[len(told)-1] {
			t.Errorf("told of %d after %d, dispatched is up to %d", offset, told, at)
		}
		told = append(told, offset)
	}
	dir := scratch(t)
	opened := openUnchecked(t, dir, o)
	s = opened
	for i := range 100 {
		put(t, s, newMessage("t", int32(i%3), text(body(i), 100)))
	}
	dispatched(t, s)
	end := s.log.Appended()
	if err := s.Close(); err != nil { // ends the dispatcher
		t.Fatal(err)
	}
	if len(told) == 0 || told[len(told)-1] != end {
		t.Errorf("told of %d, the log ends at %d", told, end)
	}
	for _, derived := range []string{opened.dir.ConsumeQueue(), opened.dir.Index()} {
		if err := os.RemoveAll(derived); err != nil {
			t.Fatal(err)
		}
	}
	s = nil
	again := openUnchecked(t, dir, o)
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	verified(t, again)
}
