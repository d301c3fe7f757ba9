package engine

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"commitlab/engine/message"
	"commitlab/engine/segment"
	"commitlab/engine/storedir"
)

// H35: readers went on behind a message that could not be read for a moment, and
// never saw it. Method: a file is cut from outside and made long again, so that
// messages of it cannot be read and then can.
func TestH35_FailedReadLosesNoMessage(t *testing.T) {
	const size = 64 << 10
	for _, how := range coldReads {
		t.Run(string(how), func(t *testing.T) {
			s := openUnchecked(t, scratch(t), small(Options{CommitLogFileBytes: size, ColdRead: how, ColdAfterBytes: 1, Dispatch: On}))
			const n = 40
			for i := range n {
				m := newMessage("t", 0, text(body(i), 6000)) // longer than a page
				m.Properties, _ = m.Properties.Set(message.PropertyKeys, "k")
				put(t, s, m)
			}
			dispatched(t, s)
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
			restore := cutFile(t, filepath.Join(storedir.Layout(s.dir).CommitLog(), segment.FileName(size)), size/2)
			var seen, failed int
			for at := int64(0); at < n; {
				r, err := s.Get("t", 0, at, n, nil)
				if err != nil {
					if !errors.Is(err, ErrUnreadable) || r.NextBegin != at || len(r.Messages) > 0 {
						t.Fatalf("at %d: %v, next %d with %d messages; want ErrUnreadable, nothing and no progress", at, err, r.NextBegin, len(r.Messages))
					}
					if _, err := s.Query("t", "k", n, 0, 1<<60); !errors.Is(err, ErrUnreadable) {
						t.Errorf("query: %v, want ErrUnreadable", err)
					}
					failed++
					restore()
					continue
				}
				for i := range r.Messages {
					if got := r.Messages[i].QueueOffset; got != int64(seen) {
						t.Fatalf("message %d follows %d messages", got, seen)
					}
					seen++
				}
				at = r.NextBegin
				r.Release()
			}
			if seen != n || failed != 1 {
				t.Errorf("%d of %d messages, %d failed reads; want all and one", seen, n, failed)
			}
			if s.Snapshot().CommitLog.FailedReads == 0 {
				t.Error("the failed reads are not counted")
			}
		})
	}
}

// H35, for delayed messages: one whose record cannot be read when it is due is
// delivered later, and those behind it wait.
func TestH35_FailedReadLosesNoDelayedMessage(t *testing.T) {
	const size = 64 << 10
	s := openUnchecked(t, scratch(t), small(Options{CommitLogFileBytes: size, Dispatch: On}))
	d := newDelivery(s, storedir.DelayOffsets{}, nil)
	level := len(s.delays) // the longest delay: the store's own service finds nothing due
	for i := range 40 {
		m := newMessage(message.ScheduleTopic, int32(level-1), text(body(i), 6000))
		m.Properties, _ = m.Properties.Set(message.PropertyRealTopic, "t")
		m.Properties, _ = m.Properties.Set(message.PropertyRealQueue, "0")
		put(t, s, m)
	}
	dispatched(t, s)
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	restore := cutFile(t, filepath.Join(storedir.Layout(s.dir).CommitLog(), segment.FileName(size)), size/2)
	due := time.Now().Add(24 * time.Hour)
	deliver := func() error {
		for {
			if n, err := d.Step(due); n == 0 || err != nil {
				return err
			}
		}
	}
	if err := deliver(); !errors.Is(err, ErrUnreadable) {
		t.Fatalf("got %v, want ErrUnreadable", err)
	}
	restore()
	if err := deliver(); err != nil {
		t.Fatal(err)
	}
	dispatched(t, s)
	if _, next := s.QueueBounds("t", 0); next != 40 {
		t.Errorf("%d messages delivered, want 40", next)
	}
}

// cutFile cuts the file at a size, and returns what puts back what it had behind.
func cutFile(t *testing.T, path string, at int64) (restore func()) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rest, err := io.ReadAll(io.NewSectionReader(f, at, 1<<30))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(at); err != nil {
		t.Fatal(err)
	}
	return func() {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err == nil {
			_, err = f.WriteAt(rest, at)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
