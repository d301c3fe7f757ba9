package commitlog

import (
	"fmt"
	"time"
)

// commit moves everything appended so far from the transient buffers to the
// page cache and returns how many bytes that were. Called under syncMu.
func (l *Log) commit() (int64, error) {
	if l.pool == nil {
		return 0, nil
	}
	var moved int64
	for {
		at := l.committed.Load()
		f := l.queue.Find(at)
		if f == nil {
			return moved, nil
		}
		n, err := f.Commit()
		moved += n
		l.syncs.commitBytes.Add(n)
		l.committed.Store(f.Base() + f.ReadPosition())
		if err != nil {
			l.pool.Fail(err)
			return moved, fmt.Errorf("commit: %w", err)
		}
		if f.ReadPosition() < f.Size() {
			return moved, nil
		}
	}
}

// pageBytes is the page in which least-pages options count and cold records are
// read.
const pageBytes = 4096

// A committer commits transient buffers every interval. It is a service, used
// with asynchronous flush only: a group sync commits by itself.
type committer struct {
	log      *Log
	thorough time.Time // of the last commit that took whatever there was
}

// Name implements service.Service.
func (c *committer) Name() string { return "commit" }

// Step commits once if enough pages wait, or if it has been long enough. A full
// buffer wakes it too, and then it commits in any case.
func (c *committer) Step(now time.Time) (int, error) {
	l := c.log
	pending := l.Appended()/pageBytes - l.committed.Load()/pageBytes
	if now.Sub(c.thorough) >= l.opt.CommitThorough || l.pool.Starved() {
		c.thorough = now
	} else if pending < int64(l.opt.CommitLeastPages) {
		return 0, nil
	}
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	moved, err := l.commit()
	return int(moved), err
}
