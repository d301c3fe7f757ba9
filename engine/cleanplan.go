package engine

import (
	"fmt"
	"time"

	"commitlab/engine/commitlog"
)

// A situation is what a cleaning pass finds.
type situation struct {
	now   time.Time             // by the wall clock
	ahead time.Duration         // by how much ages are not judged by it; see steadyClock
	disks []diskUse             // those that could be measured
	files []commitlog.FileState // of the commit log, oldest first
	// limit is a log offset: a file that ends behind it is not yet durable, or not
	// dispatched, and stays.
	limit int64
	// asked: somebody wants expired files deleted now, whatever the hour.
	asked bool
	// freeing: blocks of files deleted earlier are not free yet, so the disks will
	// be emptier soon without any more deletions.
	freeing bool
}

// A retirement is one file of the commit log that has to go.
type retirement struct {
	commitlog.FileState
	reason string
	forced bool // deleted though it has not expired, because the disk is full
	doubt  string
}

// plan returns which files go, the oldest first: at most a batch, never the last
// one, and none without all before it.
func (p retention) plan(s situation) []retirement {
	if len(s.files) == 0 {
		return nil
	}
	size := s.files[len(s.files)-1].End - s.files[0].Base
	var due []retirement
	for i, f := range s.files[:len(s.files)-1] {
		if len(due) == p.batch || f.End > s.limit {
			break
		}
		r := retirement{FileState: f}
		if !p.judge(&r, s, i, size) {
			break
		}
		due = append(due, r)
		size -= f.End - f.Base
	}
	return due
}

// judge decides about file i of a log of size bytes and fills in why it goes.
func (p retention) judge(r *retirement, s situation, i int, size int64) (goes bool) {
	if r.Hanged {
		r.reason = "its name could not be removed before"
		return true
	}
	if p.maxLogBytes > 0 && size > p.maxLogBytes {
		r.reason = fmt.Sprintf("the log has %d bytes, maxLogBytes is %d", size, p.maxLogBytes)
		return true
	}
	fullest := fullest(s.disks)
	var newest time.Time
	believed := s.now.Add(-s.ahead)
	newest, r.doubt = newestRecord(s.files, i, believed)
	if age := believed.Sub(newest); age >= p.reserved {
		r.reason = fmt.Sprintf("expired: newest record is %v old, fileReservedMs is %v", age.Truncate(time.Millisecond), p.reserved)
		if s.asked || p.hours.include(s.now) {
			return true
		}
		if fullest.percent > p.maxUsed {
			r.reason += fmt.Sprintf("; %s, diskMaxUsedPercent is %d", fullest, p.maxUsed)
			return true
		}
		return false
	}
	if p.byForce && fullest.percent > p.forcibly && !s.freeing {
		r.forced = true
		r.reason = fmt.Sprintf("not expired, by force: %s, diskCleanForciblyPercent is %d", fullest, p.forcibly)
		return true
	}
	return false
}

// implausible is how far in the future a store time lies that is not believed.
const implausible = 24 * time.Hour

// newestRecord returns when the newest record of file i was stored, judging by
// the first records around it: the next file began with the append that this one
// had no room for. A store time from the future is passed over and the next file's
// taken, which is later still; without any it is the time of the file. A store time
// that is earlier than that of an older file is not believed either. doubt tells
// what was not believed.
func newestRecord(files []commitlog.FileState, i int, now time.Time) (newest time.Time, doubt string) {
	latest := now.Add(implausible).UnixMilli()
	found := int64(0)
	for _, f := range files[i+1:] {
		if f.FirstMs > 0 && f.FirstMs <= latest {
			found = f.FirstMs
			break
		}
		if doubt == "" && f.FirstMs > latest {
			doubt = fmt.Sprintf("the record behind it was stored at %v, in the future", time.UnixMilli(f.FirstMs))
		}
	}
	if found == 0 {
		if doubt == "" {
			doubt = "no store time behind it can be read"
		}
		doubt += "; it is judged by the time of the file"
		found = files[i].ModifiedMs
	}
	for _, f := range files[:i+1] {
		if f.FirstMs <= latest {
			found = max(found, f.FirstMs)
		}
	}
	return time.UnixMilli(found), doubt
}
