package engine

import (
	"errors"
	"slices"
	"testing"

	"commitlab/engine/commitlog"
)

var errTest = errors.New("bad, says the test")

// row is a row of records of one queue: from and to are log offsets, the first
// record has the queue offset and store time of its place divided by ten.
func row(from, to int64, sealed bool) commitlog.Run {
	key := commitlog.QueueKey{Topic: "t"}
	r := commitlog.Run{From: from, To: to, Sealed: sealed, Next: make(map[commitlog.QueueKey]int64)}
	if to > from {
		r.Records = (to - from) / 10
		r.First = commitlog.Place{Queue: key, QueueOffset: from / 10, Queued: true, StoreMs: from / 10}
		r.LatestMs = to/10 - 1
		r.Next[key] = to / 10
	}
	if !sealed {
		r.Reason = errTest
	}
	return r
}

// scansOf are scans of files of 100 bytes, each with its runs.
func scansOf(runs ...[]commitlog.Run) (scans []commitlog.FileScan) {
	for i, r := range runs {
		scans = append(scans, commitlog.FileScan{Path: string(rune('a' + i)), Base: int64(i) * 100, End: int64(i+1) * 100, Runs: r})
	}
	return scans
}

func rows(r ...commitlog.Run) []commitlog.Run { return r }

// Goal: bytes that are no record are told apart as the torn end of the log, or as
// damage, which is treated as the policy says. Method: one table of scans, without
// a disk.
func TestTheEndOfTheLogIsToldFromDamage(t *testing.T) {
	type damage struct{ at, behind int64 }
	full := rows(row(0, 90, true))
	stale := row(150, 170, false)
	stale.First.StoreMs = 3
	stale.First.QueueOffset = 50
	used := row(150, 170, false)
	used.First.QueueOffset = 2
	for _, c := range []struct {
		name    string
		scans   []commitlog.FileScan
		history commitlog.History
		torn    int64   // the end, if it is one
		damage  *damage // else
		ranges  commitlog.Ranges
		skipEnd int64
	}{
		{"an empty log", nil, commitlog.History{Durable: -1}, 0, nil, nil, 0},
		{"all is sound", scansOf(full, rows(row(100, 130, false))), commitlog.History{Durable: 130}, 130, nil, nil, 130},
		{"the last file is full", scansOf(full), commitlog.History{Durable: 100}, 100, nil, nil, 100},
		{"a torn end", scansOf(full, rows(row(100, 130, false))), commitlog.History{Durable: 120}, 130, nil, nil, 130},
		{"sound records behind a torn end that were never durable",
			scansOf(full, rows(row(100, 130, false), row(150, 170, false))), commitlog.History{Durable: 130}, 130, nil, nil, 130},
		{"damage, records behind",
			scansOf(full, rows(row(100, 130, false), row(150, 170, false))), commitlog.History{Durable: 160}, 0, &damage{130, 150}, commitlog.Ranges{{From: 130, To: 150}}, 170},
		{"damage of the last durable record",
			scansOf(full, rows(row(100, 130, false))), commitlog.History{Durable: 140}, 0, &damage{130, -1}, commitlog.Ranges{{From: 130, To: 140}}, 140},
		{"damage at the start of a file",
			scansOf(full, rows(row(100, 100, false)), rows(row(200, 250, false))), commitlog.History{Durable: 250}, 0, &damage{100, 200}, commitlog.Ranges{{From: 100, To: 200}}, 250},
		{"damage of a blank",
			scansOf(rows(row(0, 80, false)), rows(row(100, 150, false))), commitlog.History{Durable: 150}, 0, &damage{80, 100}, commitlog.Ranges{{From: 80, To: 100}}, 150},
		{"two damages",
			scansOf(rows(row(0, 20, false), row(40, 80, true)), rows(row(100, 110, false), row(130, 150, false))), commitlog.History{Durable: 150},
			0, &damage{20, 40}, commitlog.Ranges{{From: 20, To: 40}, {From: 110, To: 130}}, 150},
		{"files are missing at the end", scansOf(full), commitlog.History{Durable: 150}, 0, &damage{100, -1}, nil, 100},
		{"the clock was set back before the damage",
			scansOf(rows(row(0, 90, true)), rows(row(100, 130, false), stale)), commitlog.History{Durable: 170}, 0, &damage{130, 150}, commitlog.Ranges{{From: 130, To: 150}}, 170},

		{"by time: nothing behind", scansOf(full, rows(row(100, 130, false))), commitlog.History{Durable: -1, Clean: true}, 130, nil, nil, 130},
		{"by time: a durable record behind",
			scansOf(full, rows(row(100, 130, false), row(150, 170, false))), commitlog.History{Durable: -1, DurableMs: 16}, 0, &damage{130, 150}, commitlog.Ranges{{From: 130, To: 150}}, 170},
		{"by time: the record behind may have been durable",
			scansOf(full, rows(row(100, 130, false), row(150, 170, false))), commitlog.History{Durable: -1, DurableMs: 15}, 0, &damage{130, 150}, commitlog.Ranges{{From: 130, To: 150}}, 170},
		{"by time: nothing was ever durable",
			scansOf(full, rows(row(100, 130, false), row(150, 170, false))), commitlog.History{Durable: -1}, 130, nil, nil, 130},
		{"by time: closed in order, a record behind",
			scansOf(full, rows(row(100, 130, false), row(150, 170, false))), commitlog.History{Durable: -1, Clean: true}, 0, &damage{130, 150}, commitlog.Ranges{{From: 130, To: 150}}, 170},
		{"by time: closed in order, an older record behind", scansOf(full, rows(row(100, 130, false), stale)), commitlog.History{Durable: -1, Clean: true}, 130, nil, nil, 130},
		{"by time: closed in order, a record whose place was given again", scansOf(full, rows(row(100, 130, false), used)), commitlog.History{Durable: -1, Clean: true}, 130, nil, nil, 130},
		{"by time: the older record is not the last witness",
			scansOf(full, rows(row(100, 130, false), stale), rows(row(200, 230, false))), commitlog.History{Durable: -1, Clean: true},
			0, &damage{130, 200}, commitlog.Ranges{{From: 130, To: 200}}, 230},
		{"by time: a blank alone is no witness", scansOf(full, rows(row(100, 130, false)), rows(row(200, 200, true))), commitlog.History{Durable: -1, Clean: true}, 130, nil, nil, 130},
	} {
		v, err := judge(c.scans, c.history, DamageRefuse)
		var d *commitlog.DamageError
		switch {
		case c.damage == nil:
			if err != nil || v.end != c.torn || len(v.skipped)+len(v.damages) > 0 {
				t.Errorf("%s: ends at %d, skipped %v, %v; want the end at %d", c.name, v.end, v.skipped, err, c.torn)
			}
		case !errors.As(err, &d) || d.Offset != c.damage.at || d.Behind != c.damage.behind || d.File == "":
			t.Errorf("%s: got %v, want damage at %d, a record at %d", c.name, err, c.damage.at, c.damage.behind)
		}
		v, err = judge(c.scans, c.history, DamageTruncate)
		end := c.torn
		if c.damage != nil {
			end = c.damage.at
		}
		if err != nil || v.end != end || len(v.skipped) > 0 || len(v.damages) != min(len(v.damages), 1) || (len(v.damages) == 1) != (c.damage != nil) {
			t.Errorf("%s, truncate: ends at %d, skipped %v, damages %v, %v; want the end at %d", c.name, v.end, v.skipped, v.damages, err, end)
		}
		v, err = judge(c.scans, c.history, DamageSkip)
		if err != nil || v.end != c.skipEnd || !slices.Equal(v.skipped, c.ranges) {
			t.Errorf("%s, skip: ends at %d, skipped %v, %v; want the end at %d, skipped %v", c.name, v.end, v.skipped, err, c.skipEnd, c.ranges)
		}
		if c.damage == nil || c.skipEnd == c.damage.at {
			continue
		}
		// Once skipped, the same is no damage any more, whatever the policy.
		h := c.history
		h.Skipped = v.skipped
		for _, policy := range []string{DamageRefuse, DamageSkip, DamageTruncate} {
			again, err := judge(c.scans, h, policy)
			if err != nil || again.end != v.end || !slices.Equal(again.skipped, v.skipped) || len(again.damages) > 0 {
				t.Errorf("%s, %s after it was skipped: ends at %d, skipped %v, damages %v, %v", c.name, policy, again.end, again.skipped, again.damages, err)
			}
		}
	}
}

func TestTheNextQueueOffsetIsThatOfWhatIsKept(t *testing.T) {
	scans := scansOf(rows(row(0, 90, true)), rows(row(100, 130, false), row(150, 170, false)))
	for policy, want := range map[string]int64{DamageSkip: 17, DamageTruncate: 13} {
		v, err := judge(scans, commitlog.History{Durable: 170}, policy)
		if got := v.next[commitlog.QueueKey{Topic: "t"}]; err != nil || got != want {
			t.Errorf("%s: next queue offset %d, %v; want %d", policy, got, err, want)
		}
	}
}
