package storedir

import (
	"encoding/hex"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestAbortMarkerExistsBetweenSetAndClear(t *testing.T) {
	m := Layout(t.TempDir()).AbortMarker()
	for i, step := range []struct {
		do   func() error
		want bool
	}{
		{func() error { return nil }, false},
		{m.Set, true},
		{m.Set, true}, // after a crash it is there already
		{m.Clear, false},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if got, err := m.Present(); err != nil || got != step.want {
			t.Fatalf("step %d: present = %v, %v; want %v", i, got, err, step.want)
		}
	}
	if err := m.Clear(); err == nil {
		t.Fatal("clearing a missing marker: no error")
	}
}

func TestCheckpointKeepsItsFieldsAndLayout(t *testing.T) {
	l := Layout(t.TempDir())
	f, c, err := l.OpenCheckpoint()
	if err != nil || c != (Checkpoint{}) {
		t.Fatalf("missing checkpoint: got %+v, %v; want zeros", c, err)
	}
	want := Checkpoint{CommitLogMs: 0x0102030405060708, ConsumeQueueMs: 2, IndexMs: 3, MasterFlushedOffset: 4, ConfirmOffset: -1}
	if err := errors.Join(f.Save(want), f.Close()); err != nil {
		t.Fatal(err)
	}
	f, got, err := l.OpenCheckpoint()
	if err != nil || got != want {
		t.Fatalf("got %+v, %v; want %+v", got, err, want)
	}
	defer f.Close()
	b, err := os.ReadFile(l.Checkpoint())
	if err != nil {
		t.Fatal(err)
	}
	const fields = "0102030405060708" + "0000000000000002" + "0000000000000003" + "0000000000000004" + "ffffffffffffffff"
	if got := hex.EncodeToString(b); len(b) != 4096 || got != fields+strings.Repeat("00", 4096-40) {
		t.Fatalf("%d bytes, begin %s; want 4096, %s then zeros", len(b), got[:80], fields)
	}
}

// RocketMQ 5.5, with accelerated recovery, fails after a kill if it does not find
// here from where queues are to be recovered.
func TestCheckpointTellsRocketMQWhatQueuesHold(t *testing.T) {
	l := Layout(t.TempDir())
	f, _, err := l.OpenCheckpoint()
	if err != nil {
		t.Fatal(err)
	}
	v := Checkpoint{CommitLogMs: 1, ConsumeQueueMs: 2, Positions: Positions{Known: true, QueuesDurable: 0x1234}}
	if err := errors.Join(f.Save(v), f.Close()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(l.Checkpoint())
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(b[40:48]); got != "0000000000001234" {
		t.Errorf("at 40 stands %s, want the offset up to which units are durable", got)
	}
}

func TestShortCheckpointIsAnErrorThatNamesItsSize(t *testing.T) {
	l := Layout(t.TempDir())
	if err := os.WriteFile(l.Checkpoint(), make([]byte, 39), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.OpenCheckpoint(); err == nil || !strings.Contains(err.Error(), "39 bytes, expected 4096") {
		t.Fatalf("got %v", err)
	}
}

func TestReadingACheckpointMakesNone(t *testing.T) {
	l := Layout(t.TempDir())
	if _, err := l.ReadCheckpoint(); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("missing checkpoint: got %v", err)
	}
	if _, err := os.Stat(l.Checkpoint()); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("reading made the file: %v", err)
	}
	f, _, err := l.OpenCheckpoint()
	if err != nil {
		t.Fatal(err)
	}
	want := Checkpoint{CommitLogMs: 1, ConsumeQueueMs: 2, IndexMs: 3}
	if err := errors.Join(f.Save(want), f.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := l.ReadCheckpoint(); err != nil || got != want {
		t.Fatalf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestPositionsAreKeptAndBelongToTheirTimes(t *testing.T) {
	l := Layout(t.TempDir())
	f, c, err := l.OpenCheckpoint()
	if err != nil || c.Positions.Known {
		t.Fatalf("new checkpoint: got %+v, %v; want no positions", c, err)
	}
	want := Checkpoint{CommitLogMs: 1, ConsumeQueueMs: 2, IndexMs: 3, Positions: Positions{
		Known: true, LogDurable: 4, QueuesDurable: 5, QueuesSum: 1 << 63, Indexed: 6, IndexEnd: -1, DelaysSaved: 7, DelaysSum: 8,
	}}
	if err := f.Save(want); err != nil {
		t.Fatal(err)
	}
	if got, err := l.ReadCheckpoint(); err != nil || got != want {
		t.Fatalf("got %+v, %v; want %+v", got, err, want)
	}
	if err := f.NoteLogDurable(1 << 40); err != nil {
		t.Fatal(err)
	}
	want.Positions.LogDurable = 1 << 40
	if got, err := l.ReadCheckpoint(); err != nil || got != want {
		t.Errorf("noted: got %+v, %v; want %+v", got, err, want)
	}
	old := want
	old.Positions.LogDurable = 4 // read before it was noted
	if err := errors.Join(f.Save(old), f.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := l.ReadCheckpoint(); err != nil || got != want {
		t.Errorf("saved again: got %+v, %v; want what was noted to stay: %+v", got, err, want)
	}
	b, err := os.ReadFile(l.Checkpoint())
	if err != nil {
		t.Fatal(err)
	}
	// RocketMQ moves its times; a sector may be damaged.
	for _, at := range []int{7, 15, 23, positionsAt, timesAgainAt + 7, queuesAt, delaysSumAt, sumAt + 7, logDurableAt + 7, logInvertedAt} {
		b[at] ^= 1
		if err := os.WriteFile(l.Checkpoint(), b, 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := l.ReadCheckpoint(); err != nil || got.Positions != (Positions{}) {
			t.Errorf("with byte %d changed: got %+v, %v; want no positions", at, got.Positions, err)
		}
		b[at] ^= 1
	}
}

func TestSkippedRangesAreKept(t *testing.T) {
	l := Layout(t.TempDir())
	if got, err := l.LoadSkipped(); err != nil || len(got) > 0 {
		t.Fatalf("without a file: got %v, %v", got, err)
	}
	want := []SkippedRange{{From: 10, To: 20}, {From: 30, To: 1 << 40}}
	if err := l.SaveSkipped(want); err != nil {
		t.Fatal(err)
	}
	if got, err := l.LoadSkipped(); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	if err := errors.Join(l.SaveSkipped(nil), l.SaveSkipped(nil)); err != nil {
		t.Fatal(err)
	}
	if got, err := l.LoadSkipped(); err != nil || len(got) > 0 {
		t.Errorf("after an empty save: got %v, %v", got, err)
	}
	for _, text := range []string{"{", `{"ranges":[{"from":5,"to":5}]}`, `{"ranges":[{"from":5,"to":9},{"from":8,"to":12}]}`, `{"ranges":[{"from":-1,"to":9}]}`} {
		if err := os.WriteFile(l.Skipped(), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := l.LoadSkipped(); err == nil || !strings.Contains(err.Error(), l.Skipped()) {
			t.Errorf("%s: got %v, %v; want an error that names the file", text, got, err)
		}
	}
}
