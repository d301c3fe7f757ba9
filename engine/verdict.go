package engine

import (
	"errors"
	"fmt"

	"commitlab/engine/commitlog"
)

// Values of Options.Damage.
const (
	DamageRefuse   = "refuse"
	DamageSkip     = "skip"
	DamageTruncate = "truncate"
)

// A verdict is what recovery makes of the log that was scanned.
type verdict struct {
	// end is where the log ends from now on.
	end int64
	// skipped are the ranges below end that are no records, those known before too.
	skipped commitlog.Ranges
	// damages are those of skipped that were not known before, or what was cut
	// off though it had been durable; for the log and the snapshot.
	damages []*commitlog.DamageError
	// next is the next queue offset of each queue, by the records scanned.
	next map[commitlog.QueueKey]int64
	// records is their number, latestMs the latest store time, epoch ms.
	records, latestMs int64
}

// errMissingFiles is what is wrong where the log should go on and no file does.
var errMissingFiles = errors.New("the files that follow are missing")

// judge decides where a log ends and which parts of it are given up, by the scans
// of its last files. It is pure.
//
// Bytes that are no record are damage if the log is known to have been durable
// beyond them. Else they are the torn end of a log that was not closed, and are cut
// off. Of a log that RocketMQ wrote that is not known, its times being seconds old:
// there any sound record behind speaks for damage, since it may have been durable,
// and what is cut is gone. A record that is older than those before it does not:
// RocketMQ leaves what it cut off standing, so that after it has written over a part
// of that, the rest of it follows the end of the log. A checkpoint without any time
// says that nothing was ever synced.
//
// Damage is refused with an error, unless policy says to skip it or to truncate
// the log there.
func judge(scans []commitlog.FileScan, h commitlog.History, policy string) (verdict, error) {
	v := verdict{next: make(map[commitlog.QueueKey]int64)}
	if len(scans) == 0 {
		return v, nil
	}
	w := witness{history: h, next: v.next}
	runs := flatten(scans)
	first := scans[0].Base
	v.end = first
	for len(runs) > 0 {
		r := runs[0]
		if r.From == v.end { // the log goes on
			runs = runs[1:]
			v.records += r.Records
			v.latestMs = max(v.latestMs, r.LatestMs)
			w.accept(r.Run)
			v.end = r.after
			continue
		}
		if known, ok := h.Skipped.At(v.end); ok && known.Contains(v.end) {
			v.end, v.skipped = known.To, v.skipped.Add(known)
			runs = from(runs, v.end)
			continue
		}
		damage := w.damage(scans, v.end, runs)
		switch {
		case damage == nil:
			return v, nil
		case policy == DamageSkip:
			v.damages = append(v.damages, damage)
			to := damage.Behind
			if to < 0 {
				to = damage.Durable
			}
			v.skipped = v.skipped.Add(commitlog.Range{From: v.end, To: to})
			v.end = to
			runs = from(runs, to)
		case policy == DamageTruncate:
			v.damages = append(v.damages, damage)
			return v, nil
		default:
			return v, damage
		}
	}
	return v.close(scans, w, policy)
}

// close judges what follows the last run.
func (v verdict) close(scans []commitlog.FileScan, w witness, policy string) (verdict, error) {
	last := scans[len(scans)-1].End
	if known, ok := w.history.Skipped.At(v.end); ok && known.Contains(v.end) {
		v.skipped = v.skipped.Add(commitlog.Range{From: v.end, To: min(known.To, last)})
		v.end = min(known.To, last)
	}
	damage := w.damage(scans, v.end, nil)
	switch {
	case damage == nil:
	case policy == DamageSkip && v.end < last:
		v.damages = append(v.damages, damage)
		to := min(damage.Durable, last)
		v.skipped = v.skipped.Add(commitlog.Range{From: v.end, To: to})
		v.end = to
	case policy == DamageRefuse:
		return v, damage
	default:
		v.damages = append(v.damages, damage)
	}
	return v, nil
}

// placedRun is a run with the offset at which the log goes on behind it.
type placedRun struct {
	commitlog.Run
	after int64
}

// flatten lists the runs of all files. Those without records only say why there
// are none, and are left out.
func flatten(scans []commitlog.FileScan) (runs []placedRun) {
	for _, s := range scans {
		for _, r := range s.Runs {
			switch {
			case r.Sealed:
				runs = append(runs, placedRun{r, s.End})
			case r.Records > 0:
				runs = append(runs, placedRun{r, r.To})
			}
		}
	}
	return runs
}

// from drops the runs that begin before an offset.
func from(runs []placedRun, offset int64) []placedRun {
	for len(runs) > 0 && runs[0].From < offset {
		runs = runs[1:]
	}
	return runs
}

// A witness knows what was read so far, and tells whether what follows speaks for
// damage.
type witness struct {
	history  commitlog.History
	latestMs int64
	next     map[commitlog.QueueKey]int64 // that of the verdict
}

// accept takes a run into what was read.
func (w *witness) accept(r commitlog.Run) {
	if r.Records > 0 {
		w.latestMs = max(w.latestMs, r.LatestMs)
	}
	for key, next := range r.Next {
		w.next[key] = max(w.next[key], next)
	}
}

// stale reports whether a run is left over from before the log was cut: its first
// record is older than one before it, or its queue has been given its place
// already.
func (w *witness) stale(r commitlog.Run) bool {
	if r.Records == 0 {
		return true // a blank alone
	}
	return r.First.StoreMs < w.latestMs || r.First.Queued && r.First.QueueOffset < w.next[r.First.Queue]
}

// damage returns what is wrong at end, if it is damage: runs are what follows.
func (w *witness) damage(scans []commitlog.FileScan, end int64, runs []placedRun) *commitlog.DamageError {
	d := &commitlog.DamageError{Offset: end, Behind: -1, Durable: w.history.Durable, Reason: errMissingFiles}
	known := w.history.Durable >= 0
	if known && end >= w.history.Durable {
		return nil
	}
	for _, r := range runs {
		durable := known && r.From < w.history.Durable && r.Records > 0
		if durable || !w.stale(r.Run) && (known || w.history.Clean || w.history.DurableMs > 0) {
			d.Behind = r.From
			break
		}
	}
	if !known && d.Behind < 0 {
		return nil
	}
	for _, s := range scans {
		if end < s.Base || end >= s.End {
			continue
		}
		d.File, d.Position, d.Reason = s.Path, end-s.Base, fmt.Errorf("no record follows")
		for _, r := range s.Runs {
			if r.To == end && r.Reason != nil {
				d.Reason = r.Reason
			}
		}
	}
	if d.File == "" { // behind the last file
		d.File = scans[len(scans)-1].Path
		d.Position = end - scans[len(scans)-1].Base
	}
	return d
}
