package engine

import (
	"encoding/binary"
	"testing"
	"time"

	"commitlab/engine/message"
)

// A step of the wall clock must not make all files expire at once. What looks like
// one is followed an hour later, a step back at once.
func TestSteadyClockSurvivesSteps(t *testing.T) {
	var c steadyClock
	// at is what the clock says after so much has passed, while the wall clock is set
	// forward by step: how far behind the wall it stays.
	at := func(passed, step time.Duration) (behind time.Duration, stepped bool) {
		wall := four.Add(passed + step)
		now, stepped := c.at(wall, passed)
		return wall.Sub(now), stepped
	}
	for _, s := range []struct {
		passed, step, behind time.Duration
		stepped              bool
	}{
		{0, 0, 0, false},
		{time.Minute, time.Second, 0, false}, // corrections are no steps
		{2 * time.Minute, 1000 * hour, 1000*hour - time.Second, true},
		{30 * time.Minute, 1000 * hour, 1000*hour - time.Second, false},
		{61 * time.Minute, 1000 * hour, 1000*hour - time.Second, false},
		{63 * time.Minute, 1000 * hour, 0, false}, // it has lasted
		{64 * time.Minute, 2000 * hour, 1000 * hour, true},
		{65 * time.Minute, 1000 * hour, 0, false}, // set back again
		{66 * time.Minute, -5 * hour, 0, false},
	} {
		if behind, stepped := at(s.passed, s.step); behind != s.behind || stepped != s.stepped {
			t.Errorf("after %v, set by %v: %v behind the wall clock, stepped %v; want %v, %v", s.passed, s.step, behind, stepped, s.behind, s.stepped)
		}
	}
}

// A clock that was wrong already when the store was opened was believed. The time since
// the newest record is a step that has to last, too.
func TestSteadyClockBeginsWithTheNewestRecord(t *testing.T) {
	const years = 20_000 * hour
	for name, c := range map[string]struct {
		idle    time.Duration // from the newest record to Open, by the wall clock
		stepped bool
		later   time.Duration // the next look
		set     time.Duration // by how much the clock was set meanwhile
		behind  time.Duration // the wall clock, then
	}{
		"opened again soon":      {30 * time.Second, false, time.Minute, 0, 0},
		"idle for days":          {100 * hour, true, 59 * time.Minute, 0, 100 * hour},
		"idle for days, later":   {100 * hour, true, 61 * time.Minute, 0, 0},
		"years ahead, set back":  {years + hour, true, time.Minute, -years, hour},
		"record from the future": {-hour, false, time.Minute, 0, 0},
		"set forward later":      {100 * hour, true, 30 * time.Minute, 5 * hour, 105 * hour},
	} {
		var clock steadyClock
		const opened = 3 * time.Second // of the monotonic clock
		if stepped := clock.begin(four.Add(-c.idle), four, opened); stepped != c.stepped {
			t.Errorf("%s: begin says stepped %v", name, stepped)
		}
		wall := four.Add(c.later + c.set)
		now, _ := clock.at(wall, opened+c.later)
		if behind := wall.Sub(now); behind != c.behind {
			t.Errorf("%s: %v behind the wall clock, want %v", name, behind, c.behind)
		}
	}
}

// aged is the directory of a closed store, its records stored four days ago.
func aged(t testing.TB, o Options) (dir string) {
	t.Helper()
	var messages []*message.Message
	for i := range 150 {
		messages = append(messages, newMessage("t", 0, text(body(i), 500)))
	}
	dir, records := written(t, o, false, messages...)
	const storeTimeAt = 56 // in a record
	for _, r := range records {
		patch(t, dir, o.CommitLogFileBytes, r.offset+storeTimeAt, func(b []byte) {
			binary.BigEndian.PutUint64(b, uint64(time.Now().Add(-96*time.Hour).UnixMilli()))
		})
	}
	return dir
}

// A clock that was years ahead when the store was opened made all files go. What has
// expired only by the time that the store was not open stays for an hour, unless the
// disk is so full that Open might fail.
func TestClockAtOpenHasToLast(t *testing.T) {
	disk := &fakeDisk{percent: 80}
	o := small(Options{
		DiskUsage: disk.usage, DiskMaxUsedPercent: 75, DiskCleanForciblyPercent: 85, DiskWarningPercent: 90, CleanFileForcibly: Off,
		CleanIntervalMs: 1 << 30, DeleteFileIntervalMs: 1,
	})
	s := openUnchecked(t, aged(t, o), o)
	if d, err := s.DeleteExpired(); err != nil || d.Files != 0 || s.log.Min() != 0 {
		t.Errorf("after Open: %+v went by hand, %v; the log begins at %d", d, err, s.log.Min())
	}
	now := time.Now()
	if n := pass(t, s, now.Add(30*time.Minute)); n != 0 {
		t.Errorf("half an hour later %d files went", n)
	}
	if n := pass(t, s, now.Add(61*time.Minute)); n < 4 || s.log.End()-s.log.Min() != o.CommitLogFileBytes {
		t.Errorf("an hour later %d files went, the log has %d bytes", n, s.log.End()-s.log.Min())
	}
	disk.set(75, nil)
	full := aged(t, o)
	disk.set(88, nil)
	if s := openUnchecked(t, full, o); s.log.Min() == 0 {
		t.Error("on a full disk nothing went")
	}
}
