package engine

import (
	"errors"
	"fmt"
	"testing"
)

// B-95: with many mapped files a start or an unmap failed with 'out of memory', and
// nothing had said that the limit was near. A start says it once, with need and
// limit, from where on four fifths of the limit are needed.
func TestB95_NearTheMapCountLimitAStartWarns(t *testing.T) {
	o := small(Options{Dispatch: On, CommitLogFileBytes: 4 << 10, IndexSlots: 10, IndexItems: 30})
	dir := scratch(t)
	s := openUnchecked(t, dir, o)
	for i := range 60 {
		put(t, s, keyedMessage("t", "", fmt.Sprint("k", i), text(body(i), 300)))
		put(t, s, newMessage(fmt.Sprint("u", i%3), int32(i%4), body(i)))
	}
	dispatched(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	n := s.mappingNeed()
	if want := len(names(t, s.dir.CommitLog())); n.Log != want {
		t.Errorf("%d files of the log, want %d", n.Log, want)
	}
	if want := 1 + 3*4; n.Queues != want || n.Ahead != want+3 {
		t.Errorf("%d files of queues and %d ahead, want %d and %d", n.Queues, n.Ahead, want, want+3)
	}
	if want := len(names(t, s.dir.Index())); n.Index != want || want < 2 {
		t.Errorf("%d files of the index, want %d", n.Index, want)
	}
	need := n.Total()
	least := (need*100 + nearPercent - 1) / nearPercent // of the limits at which nothing is said
	for _, c := range []struct {
		name     string
		limit    int
		err      error
		maxLog   int64
		warnings int
	}{
		{"enough", least, nil, 0, 0},
		{"near", least - 1, nil, 0, 1},
		{"beyond", need / 2, nil, 0, 1},
		{"unknown", 0, errors.ErrUnsupported, 0, 0},
		{"the log may grow", least, nil, 100_000 * o.CommitLogFileBytes, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := &warnings{}
			o := o
			o.Logger, o.MaxLogBytes = log.logger(), c.maxLog
			o.MapCountLimit = func() (int, error) { return c.limit, c.err }
			again := openUnchecked(t, dir, o)
			want := need
			if c.maxLog > 0 {
				want += 100_000 - n.Log
			}
			if got := log.count("max_map_count"); got != c.warnings {
				t.Errorf("%d warnings, want %d:\n%s", got, c.warnings, log)
			}
			if got := log.count("max_map_count", fmt.Sprintf("need=%d limit=%d", want, c.limit)); got != c.warnings {
				t.Errorf("%d warnings with need %d and limit %d:\n%s", got, want, c.limit, log)
			}
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
