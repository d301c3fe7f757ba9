package commitlog

import (
	"errors"
	"testing"
	"time"
	"unsafe"
)

// stepped is t as read from a system whose wall clock was set by so much, in whole
// seconds, while its monotonic clock went on. Package time offers no way to such a
// time; its layout is checked before it is relied on.
func stepped(t testing.TB, now time.Time, by time.Duration) time.Time {
	t.Helper()
	after := now
	wall := (*struct {
		wall uint64 // 1 bit: with a monotonic part; 33 bits of seconds; 30 bits of nanoseconds
		ext  int64
		loc  *time.Location
	})(unsafe.Pointer(&after))
	wall.wall += uint64(int64(by/time.Second) << 30)
	if got := after.Round(0).Sub(now.Round(0)); got != by || after.Sub(now) != 0 {
		t.Fatalf("package time is laid out differently here: the wall clock went by %v, the monotonic one by %v", got, after.Sub(now))
	}
	return after
}

// B-47: a correction of the clock during a write made the store call itself busy. The
// wall clock is set by 5 s, forth and back, while an append holds the lock for 1 ms;
// store times follow it, busy follows the monotonic clock alone.
func TestB47_StepOfTheWallClockMakesNobodyBusy(t *testing.T) {
	for _, by := range []time.Duration{5 * time.Second, -5 * time.Second} {
		l, _ := newLog(t, nil)
		p := &pulse{log: l, limit: l.opt.BusyAfter}
		mustAppend(t, l, 10)
		began := time.Now() // with the monotonic clock, unlike start
		l.lock.lock()
		for _, beat := range []struct {
			after time.Duration
			by    time.Duration
			busy  bool
		}{{0, 0, false}, {time.Millisecond, by, false}, {time.Second, by, false}, {time.Second + 1, by, true}} {
			now := stepped(t, began.Add(beat.after), beat.by)
			p.Step(now)
			if got := l.busy.Load(); got != beat.busy {
				t.Errorf("clock set by %v: %v after it was seen first: busy %v, want %v", by, beat.after, got, beat.busy)
			}
			if got := l.clock.nowMs(); got != now.UnixMilli() {
				t.Errorf("clock set by %v: store time %d, want %d", by, got, now.UnixMilli())
			}
		}
		if _, err := tryAppend(t, l, 10); !errors.Is(err, ErrBusy) {
			t.Errorf("clock set by %v: append beside it: got %v, want ErrBusy", by, err)
		}
		l.lock.unlock()
		mustAppend(t, l, 10)
	}
}
