package torture

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// aRound is a round that is as it should be: four messages of one life, of which
// the third is delayed; the fourth was under way.
func aRound() (l *ledger, records []stored, life *lifeLog) {
	worker := workerOf(2, 0, 0)
	old := ID{workerOf(1, 0, 0), 0}
	l = newLedger()
	q, wait := queueName{"t", 0}, queueName{"SCHEDULE_TOPIC_XXXX", 0}
	l.add(1, []stored{{ID: old, kind: plain, queue: q, offset: 0, size: 100}})
	records = []stored{
		{ID: ID{worker, 0}, kind: plain, queue: q, offset: 100, size: 50, queueOffset: 1},
		{ID: ID{worker, 1}, kind: plain, queue: q, offset: 150, size: 50, queueOffset: 2},
		{ID: ID{worker, 2}, kind: waiting, queue: wait, offset: 200, size: 60, queueOffset: 0},
		{ID: ID{worker, 3}, kind: plain, queue: q, offset: 260, size: 40, queueOffset: 3},
		{ID: ID{worker, 2}, kind: delivered, queue: q, offset: 300, size: 60, queueOffset: 4, source: 200},
	}
	life = &lifeLog{
		Round: 2, set: "async-msync", async: true, plan: Life{Death: Kill},
		fates: map[ID]fate{{worker, 0}: acked, {worker, 1}: acked, {worker, 2}: acked, {worker, 3}: unknown, {worker, 4}: rejected},
	}
	for _, r := range records[:3] {
		life.acks = append(life.acks, ack{ID: r.ID, offset: r.offset, queueOffset: r.queueOffset, size: r.size})
	}
	return l, records, life
}

// Goal: each kind of wrong state is found, and nothing in a right one. Method: one
// thing is changed in a round that is as it should be.
func TestJudgeFindsEachFault(t *testing.T) {
	worker := workerOf(2, 0, 0)
	for name, c := range map[string]struct {
		change func(l *ledger, records []stored, life *lifeLog) []stored
		want   string // empty: nothing
	}{
		"as it should be": {func(_ *ledger, r []stored, _ *lifeLog) []stored { return r }, ""},
		"lost": {func(_ *ledger, r []stored, _ *lifeLog) []stored { return r[:1] },
			"message 1 of worker 64 is lost"},
		"lost, but the power went off before": {func(_ *ledger, r []stored, l *lifeLog) []stored {
			l.plan, l.flushed = Life{Death: Power}, 150
			return r[:1]
		}, ""},
		"lost, though flushed before the power went off": {func(_ *ledger, r []stored, l *lifeLog) []stored {
			l.plan, l.flushed = Life{Death: Power}, 200
			return r[:1]
		}, "message 1 of worker 64 is lost"},
		"lost in a transient buffer": {func(_ *ledger, r []stored, l *lifeLog) []stored {
			l.buffers, l.committed = true, 150
			return r[:1]
		}, ""},
		"lost, though closed": {func(_ *ledger, r []stored, l *lifeLog) []stored {
			l.buffers, l.closed = true, true
			return r[:1]
		}, "message 1 of worker 64 is lost"},
		"lost, though its put waited for the disk": {func(_ *ledger, r []stored, l *lifeLog) []stored {
			l.plan, l.waited = Life{Death: Power}, 200
			return r[:1]
		}, "message 1 of worker 64 is lost"},
		"a hole": {func(_ *ledger, r []stored, l *lifeLog) []stored {
			l.plan = Life{Death: Power}
			return slices.Delete(r, 0, 1)
		}, "is there, but message 0 of worker 64 before it"},
		"twice": {func(_ *ledger, r []stored, _ *lifeLog) []stored {
			twice := r[3]
			twice.offset, twice.queueOffset = 360, 5
			return append(r, twice)
		}, "message 3 of worker 64 is at offset 260, and again at 360"},
		"again after a round": {func(l *ledger, r []stored, _ *lifeLog) []stored {
			twice := l.records[0]
			twice.offset, twice.queueOffset = 360, 5
			return append(r, twice)
		}, "message 0 of worker 32 is at offset 0, and again at 360"},
		"back from an earlier round": {func(_ *ledger, r []stored, _ *lifeLog) []stored {
			return append(r, stored{ID: ID{workerOf(1, 0, 0), 7}, kind: plain, queue: r[0].queue, offset: 360, size: 50, queueOffset: 5})
		}, "message 7 of worker 32 of round 1 is at offset 360, where it was not before"},
		"never sent": {func(_ *ledger, r []stored, _ *lifeLog) []stored {
			return append(r, stored{ID: ID{worker, 9}, kind: plain, queue: r[0].queue, offset: 360, size: 50, queueOffset: 5})
		}, "message 9 of worker 64 is at offset 360, but was not sent"},
		"refused": {func(_ *ledger, r []stored, _ *lifeLog) []stored {
			return append(r, stored{ID: ID{worker, 4}, kind: plain, queue: r[0].queue, offset: 360, size: 50, queueOffset: 5})
		}, "its put said that nothing was stored"},
		"moved": {func(_ *ledger, r []stored, _ *lifeLog) []stored {
			r[1].offset = 155
			return r
		}, "message 1 of worker 64 was acknowledged at offset 150 and is at 155"},
		"queue offset given twice": {func(_ *ledger, r []stored, _ *lifeLog) []stored {
			r[3].queueOffset = 2
			return r
		}, "has offset 2 in queue t/0, want 3"},
		"queue offset of an earlier round given again": {func(_ *ledger, r []stored, l *lifeLog) []stored {
			r[0].queueOffset, l.acks[0].queueOffset = 0, 0
			return r
		}, "has offset 0 in queue t/0, want 1"},
		"another queue offset than acknowledged": {func(_ *ledger, r []stored, l *lifeLog) []stored {
			l.acks[1].queueOffset = 7
			return r
		}, "acknowledged were 50 and 7"},
		"delivered twice": {func(_ *ledger, r []stored, _ *lifeLog) []stored {
			twice := r[4]
			twice.offset, twice.queueOffset = 360, 5
			return append(r, twice)
		}, "message 2 of worker 64 is at offset 300, and again at 360"},
		"delivered from nowhere": {func(_ *ledger, r []stored, _ *lifeLog) []stored {
			r[4].source = 150
			return r
		}, "was delivered from offset 150, where it does not wait"},
	} {
		t.Run(name, func(t *testing.T) {
			l, records, life := aRound()
			v := &verdict{}
			judge(v, l, c.change(l, records, life), []*lifeLog{life})
			found := strings.Join(v.found, "\n")
			if (c.want == "") != (found == "") || !strings.Contains(found, c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
}

// Goal: what a later life of the round recovered may not be lost by its own death.
func TestWhatWasRecoveredHasSurvived(t *testing.T) {
	for recovered, want := range map[int64]int{-1: 0, 150: 0, 260: 2} {
		l, records, life := aRound()
		life.plan = Life{Death: Power}
		v := &verdict{}
		judge(v, l, records[:1], []*lifeLog{life, {Round: 2, Number: 1, plan: Life{Death: Power}, recovered: recovered}})
		if len(v.found) != want {
			t.Errorf("recovered up to %d: found %q, want %d", recovered, v.found, want)
		}
	}
}

func TestLossIsMeasured(t *testing.T) {
	l, records, life := aRound()
	life.plan, life.flushed = Life{Death: Power}, 120
	cost := judge(&verdict{}, l, records[:1], []*lifeLog{life})[0]
	if want := (loss{messages: 2, bytes: 110, allowed: 140}); cost != want {
		t.Errorf("got %+v, want %+v", cost, want)
	}
}

// Goal: one fault does not fill pages.
func TestAVerdictIsBounded(t *testing.T) {
	v := &verdict{}
	for range 3 * maxFound {
		v.wrong("again")
	}
	if len(v.found) != maxFound || v.more != 2*maxFound {
		t.Errorf("%d found and %d more", len(v.found), v.more)
	}
}

// Goal: a ledger reads back as it was written, up to any round.
func TestALedgerReadsBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	first, records, _ := aRound()
	whole := newLedger()
	whole.add(1, first.records)
	whole.add(2, records)
	for round, r := range [][]stored{first.records, records} {
		if err := appendLedger(path, 9, round+1, r); err != nil {
			t.Fatal(err)
		}
	}
	for before, want := range map[int]*ledger{1: newLedger(), 2: first, 3: whole} {
		got, size, err := readLedger(path, 9, before)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.records, want.records) || !maps.Equal(got.forms, want.forms) || got.rounds != want.rounds {
			t.Errorf("before round %d: got %+v, want %+v", before, got, want)
		}
		if info, err := os.Stat(path); err != nil || (size == info.Size()) != (before == 3) {
			t.Errorf("before round %d: %d bytes of %d, %v", before, size, info.Size(), err)
		}
	}
	if _, _, err := readLedger(path, 8, 3); !errors.Is(err, ErrDirectory) {
		t.Errorf("of another seed: %v, want %v", err, ErrDirectory)
	}
}

func TestEventsReadBack(t *testing.T) {
	for what, n := range eventNumbers {
		numbers := []int64{4, 5, 6, 7, 1 << 40}[:n]
		line := strings.TrimSuffix(string(appendEvent(nil, what, numbers...)), "\n")
		e, err := parseEvent(line)
		if err != nil || e.what != what || !slices.Equal(e.numbers, numbers) {
			t.Errorf("%q: got %+v, %v", line, e, err)
		}
		if _, err := parseEvent(line + " 1"); err == nil {
			t.Errorf("%q with one more number was taken", line)
		}
	}
	for _, line := range []string{"", "q", "a 1 2", "s one 2"} {
		if e, err := parseEvent(line); err == nil {
			t.Errorf("%q was taken for %+v", line, e)
		}
	}
}
