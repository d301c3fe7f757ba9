package engine

import (
	"fmt"
	"testing"

	"commitlab/engine/consumequeue"
)

// B-63: a search by time failed with several messages of one millisecond and where
// they lie in two queue files.
func TestB63_ByTimeWithSeveralMessagesOfOneTime(t *testing.T) {
	const t1, t2, t3 = 1_700_000_000_001, 1_700_000_000_002, 1_700_000_000_003
	for _, perFile := range []int64{1, 2, 3, 4, 100} {
		t.Run(fmt.Sprintf("units per file=%d", perFile), func(t *testing.T) {
			s := openUnchecked(t, scratch(t), small(Options{Dispatch: On, ConsumeQueueFileBytes: perFile * consumequeue.UnitBytes}))
			times := make(map[int64]int64)
			for i, ms := range []int64{t1, t1, t1, t3, t3} {
				times[put(t, s, newMessage("t", 0, body(i))).PhysicalOffset] = ms
			}
			dispatched(t, s)
			s = restamped(t, s, times)
			for _, c := range []struct{ ms, lower, upper int64 }{
				{0, 0, 0}, {t1 - 1, 0, 0}, {t1, 0, 2}, {t2, 3, 2}, {t3, 3, 4}, {t3 + 1, 5, 4}, {1 << 62, 5, 4},
			} {
				for bound, want := range map[Bound]int64{Lower: c.lower, Upper: c.upper} {
					if got, err := s.OffsetByTime("t", 0, c.ms, bound); got != want || err != nil {
						t.Errorf("t1%+d, bound %d: got %d, %v; want %d", c.ms-t1, bound, got, err, want)
					}
				}
			}
			if ms, ok := s.EarliestTime("t", 0); !ok || ms != t1 {
				t.Errorf("earliest time: %d, %v; want %d", ms, ok, int64(t1))
			}
		})
	}
}

func TestByTimeOfAQueueWithoutMessages(t *testing.T) {
	s := openUnchecked(t, scratch(t), small(Options{Dispatch: On}))
	put(t, s, newMessage("t", 1, "body"))
	dispatched(t, s)
	if got, err := s.OffsetByTime("t", 0, 1, Upper); got != 0 || err != nil {
		t.Errorf("unknown queue: got %d, %v; want 0", got, err)
	}
	if _, ok := s.EarliestTime("t", 0); ok {
		t.Error("unknown queue: it has an earliest time")
	}
	if first, next := s.QueueBounds("unknown", 7); first != 0 || next != 0 {
		t.Errorf("unknown queue: [%d, %d), want [0, 0)", first, next)
	}
	if n := len(s.queues.All()); n != 1 {
		t.Errorf("looking at unknown queues made them: there are %d, want 1", n)
	}
}
