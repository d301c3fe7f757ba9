package scenario

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"commitlab/bench/workload"
	"commitlab/engine"
)

// Goal: the tail readers get every message of every queue, and whoever waits
// for more than there is learns how many there were.
func TestTailReadersGetEveryMessage(t *testing.T) {
	data, err := workload.New(workload.Spec{Topics: 2, Queues: 3})
	if err != nil {
		t.Fatal(err)
	}
	s, err := engine.Open(filepath.Join(t.TempDir(), "store"), engine.Options{
		CommitLogFileBytes: 1 << 20, ConsumeQueueFileBytes: 2000, IndexSlots: 1000, IndexItems: 4000,
	})
	if err != nil {
		t.Fatal(err)
	}
	tails := followTails(s, data.Spec())
	const messages = 500
	g := data.Generator(0)
	for range messages {
		if _, err := s.Put(g.Next()); err != nil {
			t.Fatal(err)
		}
	}
	if err := tails.await(t.Context(), messages); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := tails.await(ctx, messages+1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for one more: %v", err)
	}
	tails.stop()
	if got := tails.read.Load(); got != messages || tails.failed() != nil {
		t.Errorf("read %d of %d messages, failure %v", got, messages, tails.failed())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// Goal: a reader that ends before it is told to is an error of the run.
func TestTailReaderThatFailsIsReported(t *testing.T) {
	s, err := engine.Open(filepath.Join(t.TempDir(), "store"), engine.Options{
		CommitLogFileBytes: 1 << 20, ConsumeQueueFileBytes: 2000, IndexSlots: 1000, IndexItems: 4000,
	})
	if err != nil {
		t.Fatal(err)
	}
	tails := followTails(s, workload.Spec{Topics: 1, Queues: 1})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := tails.await(t.Context(), 1); !errors.Is(err, engine.ErrClosing) {
		t.Errorf("got %v, want ErrClosing", err)
	}
	tails.stop()
}
