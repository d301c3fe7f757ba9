package engine

import (
	"errors"
	"strings"
	"testing"
	"time"

	"commitlab/engine/commitlog"
)

const planFile = 1000 // bytes

// four is at four in the morning, local time: the hour in which expired files go.
var four = time.Date(2026, 3, 2, 4, 30, 0, 0, time.Local)

// ages describes files, oldest first, by the age of the first record of each; the
// last one is the file that is written.
func ages(now time.Time, ages ...time.Duration) (files []commitlog.FileState) {
	for i, age := range ages {
		files = append(files, commitlog.FileState{
			Base: int64(i) * planFile, End: int64(i+1) * planFile, FirstMs: now.Add(-age).UnixMilli(), ModifiedMs: now.Add(-age).UnixMilli(),
		})
	}
	return files
}

// same is n files, of one age.
func same(now time.Time, n int, age time.Duration) (files []commitlog.FileState) {
	list := make([]time.Duration, n)
	for i := range list {
		list[i] = age
	}
	return ages(now, list...)
}

const hour = time.Hour

// Goal: the whole of what is deleted when, and why.
func TestPlanOfDeletion(t *testing.T) {
	noon := four.Add(8 * hour)
	resolved, err := Options{}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	defaults := resolved.retention()
	with := func(change func(p *retention)) retention {
		p := defaults
		change(&p)
		return p
	}
	at := func(percent int) []diskUse { return []diskUse{{"/log", percent}, {"/queue", percent / 2}} }
	for name, c := range map[string]struct {
		policy retention
		s      situation
		go_    int    // files that go, from the first on
		reason string // of the first
		forced bool
	}{
		"nothing there":                        {defaults, situation{now: four}, 0, "", false},
		"one file, however old":                {defaults, situation{now: four, files: same(four, 1, 1000*hour), disks: at(99)}, 0, "", false},
		"expired, in its hour":                 {defaults, situation{now: four, files: same(four, 4, 73*hour)}, 3, "expired", false},
		"expired, at another hour":             {defaults, situation{now: noon, files: same(noon, 4, 73*hour)}, 0, "", false},
		"expired, clock not believed":          {defaults, situation{now: four, ahead: 5 * hour, files: same(four, 4, 77*hour)}, 3, "expired", false},
		"expired only by a clock not believed": {defaults, situation{now: four, ahead: 5 * hour, files: same(four, 4, 76*hour)}, 0, "", false},
		"the hour is that of the wall clock":   {defaults, situation{now: noon, ahead: 8 * hour, files: same(noon, 4, 99*hour)}, 0, "", false},
		"expired, by hand":                     {defaults, situation{now: noon, files: same(noon, 4, 73*hour), asked: true}, 3, "expired", false},
		"young, by hand":                       {defaults, situation{now: noon, files: same(noon, 4, 71*hour), asked: true}, 0, "", false},
		"expired, disk at its limit":           {defaults, situation{now: noon, files: same(noon, 4, 73*hour), disks: at(75)}, 0, "", false},
		"expired, disk above":                  {defaults, situation{now: noon, files: same(noon, 4, 73*hour), disks: at(76)}, 3, "76 % full, diskMaxUsedPercent is 75", false},
		"expired, the other disk above":        {defaults, situation{now: noon, files: same(noon, 4, 73*hour), disks: []diskUse{{"/log", 10}, {"/queue", 80}}}, 3, "/queue", false},
		"a batch at most":                      {defaults, situation{now: four, files: same(four, 55, 73*hour)}, 10, "expired", false},
		"in order, none from the middle":       {defaults, situation{now: four, files: ages(four, 90*hour, 80*hour, 10*hour, 90*hour, 9*hour, 1*hour)}, 1, "expired", false},
		"the newest record counts":             {defaults, situation{now: four, files: ages(four, 100*hour, 71*hour, 1*hour)}, 0, "", false},
		"young, disk at the forcing limit":     {defaults, situation{now: noon, files: same(noon, 4, 1*hour), disks: at(85)}, 0, "", false},
		"young, disk above":                    {defaults, situation{now: noon, files: same(noon, 4, 1*hour), disks: at(86)}, 3, "by force: the disk of /log is 86 % full, diskCleanForciblyPercent is 85", true},
		"young, not by force":                  {with(func(p *retention) { p.byForce = false }), situation{now: noon, files: same(noon, 4, 1*hour), disks: at(99)}, 0, "", false},
		"young, space is on its way":           {defaults, situation{now: noon, files: same(noon, 4, 1*hour), disks: at(99), freeing: true}, 0, "", false},
		"expired, space is on its way":         {defaults, situation{now: noon, files: same(noon, 4, 99*hour), disks: at(99), freeing: true}, 3, "expired", false},
		"disk unknown":                         {defaults, situation{now: noon, files: same(noon, 4, 99*hour)}, 0, "", false},
		"larger than it may be":                {with(func(p *retention) { p.maxLogBytes = 2 * planFile }), situation{now: noon, files: same(noon, 5, 0)}, 3, "maxLogBytes is 2000", false},
		"as large as it may be":                {with(func(p *retention) { p.maxLogBytes = 5 * planFile }), situation{now: noon, files: same(noon, 5, 0)}, 0, "", false},
		"may have no byte":                     {with(func(p *retention) { p.maxLogBytes = 1 }), situation{now: noon, files: same(noon, 5, 0)}, 4, "maxLogBytes", false},
		"not yet dispatched":                   {defaults, situation{now: four, files: same(four, 4, 73*hour), limit: 2*planFile - 1}, 1, "expired", false},
		"larger, but not yet durable":          {with(func(p *retention) { p.maxLogBytes = 1 }), situation{now: noon, files: same(noon, 5, 0), limit: 1}, 0, "", false},
		"several hours":                        {with(func(p *retention) { p.hours = hours{2: true, 12: true} }), situation{now: noon, files: same(noon, 2, 73*hour)}, 1, "expired", false},
		"shorter retention":                    {with(func(p *retention) { p.reserved = hour }), situation{now: four, files: same(four, 2, hour)}, 1, "expired", false},
		"a name that could not be removed":     {defaults, situation{now: noon, files: hanged(same(noon, 3, 1*hour))}, 1, "name could not be removed", false},
		"some expired, the rest young":         {defaults, situation{now: noon, files: ages(noon, 99*hour, 98*hour, 97*hour, 2*hour, 1*hour), disks: at(80)}, 2, "expired", false},
		"some expired, the rest goes by force": {defaults, situation{now: noon, files: ages(noon, 99*hour, 98*hour, 97*hour, 2*hour, 1*hour), disks: at(90)}, 4, "expired", false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.s.limit == 0 {
				c.s.limit = 1 << 40
			}
			due := c.policy.plan(c.s)
			if len(due) != c.go_ {
				t.Fatalf("%d files go, want %d: %+v", len(due), c.go_, due)
			}
			for i, r := range due {
				if r.Base != int64(i)*planFile {
					t.Errorf("file %d of the plan is the one at %d", i, r.Base)
				}
			}
			if c.go_ > 0 && (!strings.Contains(due[0].reason, c.reason) || due[0].forced != c.forced) {
				t.Errorf("reason %q, forced %v; want %q, %v", due[0].reason, due[0].forced, c.reason, c.forced)
			}
		})
	}
}

func hanged(files []commitlog.FileState) []commitlog.FileState {
	files[0].Hanged = true
	return files
}

// B-45, H24: the time of a file does not change on some systems when it is written
// through a mapping, and changes when it is copied. The store times of records
// decide, whatever the file says, in both directions.
func TestB45_RecordsDecideNotFileTimes(t *testing.T) {
	for _, c := range []struct {
		records, file time.Duration
		goes          int
	}{{time.Minute, 100 * hour, 0}, {100 * hour, time.Minute, 2}} {
		files := same(four, 3, c.records)
		for i := range files {
			files[i].ModifiedMs = four.Add(-c.file).UnixMilli()
		}
		resolved, _ := Options{}.Resolve()
		if due := resolved.retention().plan(situation{now: four, files: files, limit: 1 << 40}); len(due) != c.goes {
			t.Errorf("records %v old, files %v old: %d files go, want %d", c.records, c.file, len(due), c.goes)
		}
	}
}

// B-91: one store time far in the future stopped deletion for ever. It is passed over
// for what was stored later, and for the time of the file where there is nothing.
func TestB91_TimeFromTheFutureIsPassedOver(t *testing.T) {
	resolved, _ := Options{FileReservedMs: hour.Milliseconds()}.Resolve()
	policy := resolved.retention()
	tenYears := 10 * 365 * 24 * hour
	for name, c := range map[string]struct {
		change func(files []commitlog.FileState)
		goes   int
		doubt  string
	}{
		"record behind the file":  {func(f []commitlog.FileState) { f[1].FirstMs = four.Add(tenYears).UnixMilli() }, 5, "in the future"},
		"first record of the log": {func(f []commitlog.FileState) { f[0].FirstMs = four.Add(tenYears).UnixMilli() }, 5, ""},
		"all behind it, old files": {func(f []commitlog.FileState) {
			for i := range f[1:] {
				f[i+1].FirstMs = four.Add(tenYears).UnixMilli()
			}
		}, 5, "judged by the time of the file"},
		"all behind it, young files": {func(f []commitlog.FileState) {
			for i := range f {
				f[i].FirstMs, f[i].ModifiedMs = four.Add(tenYears).UnixMilli(), four.UnixMilli()
			}
		}, 0, ""},
		"cannot be read": {func(f []commitlog.FileState) {
			for i := range f {
				f[i].FirstMs = 0
			}
		}, 5, "no store time behind it can be read"},
		"the clock was set back while the last file was written": {func(f []commitlog.FileState) {
			for i := range f {
				f[i].FirstMs, f[i].ModifiedMs = four.UnixMilli(), four.UnixMilli()
			}
			f[3].FirstMs = four.Add(-tenYears).UnixMilli()
		}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := same(four, 6, 5*hour)
			c.change(files)
			due := policy.plan(situation{now: four, files: files, limit: 1 << 40})
			if len(due) != c.goes || c.goes > 0 && !strings.Contains(due[0].doubt, c.doubt) {
				t.Errorf("%d files go, want %d: %+v", len(due), c.goes, due)
			}
		})
	}
}

// H16: an hour of deletion that made no sense ended all cleaning, also that of a
// full disk. It is refused by Open.
func TestH16_HoursOfDeletion(t *testing.T) {
	for text, want := range map[string][]int{"04": {4}, "4": {4}, "02;14": {2, 14}, " 0 ; 23;": {0, 23}} {
		h, err := parseHours(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		var expected hours
		for _, n := range want {
			expected[n] = true
		}
		if h != expected {
			t.Errorf("%q: %v", text, h)
		}
	}
	for _, text := range []string{"03:04:05", "24", "-1", "4,5", "four", ";", "4;;5"} {
		if _, err := parseHours(text); err == nil {
			t.Errorf("%q was taken", text)
		}
		if _, err := Open(t.TempDir(), Options{DeleteWhen: text}); !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), "deleteWhen") {
			t.Errorf("open with deleteWhen %q: %v", text, err)
		}
	}
}
