package commitlog

import (
	"fmt"

	"commitlab/engine/message"
	"commitlab/engine/mmap"
)

// Recovery of a log has three steps, and nothing is changed before the last:
// Heads and Scan tell what is there, the store decides what to make of it, and
// Settle does that.

// A Head is what the first bytes of a file say.
type Head struct {
	Base, End int64 // the file's place in the log
	// StoreMs is the store time of the file's first record, 0 if none stands there.
	StoreMs int64
}

// Heads returns the heads of all files, oldest first. No checksum is verified.
func (l *Log) Heads() ([]Head, error) {
	files := l.queue.Files()
	heads := make([]Head, len(files))
	for i, f := range files {
		heads[i] = Head{Base: f.Base(), End: f.End()}
		view, err := f.View(0, f.Size())
		if err != nil {
			return nil, err
		}
		heads[i].StoreMs, err = headMs(view.Bytes(), f.Base())
		view.Release()
		if err != nil {
			return nil, fmt.Errorf("read start of %s: %w", f.Path(), err)
		}
	}
	return heads, nil
}

func headMs(data []byte, base int64) (ms int64, err error) {
	defer mmap.Recover(&err, mmap.GuardFaults())
	rec, bad := message.Decode(data)
	if bad != nil || rec.PhysicalOffset != base {
		return 0, nil
	}
	return rec.StoreTimestamp, nil
}

// A Settlement is what recovery decided about a log.
type Settlement struct {
	// End is where the log ends from now on: what lies behind is erased.
	End int64
	// Skipped are the ranges within that are no records.
	Skipped Ranges
	// Durable is the offset up to which nothing has to be synced: what a killed
	// process left in the page cache may not be on disk yet.
	Durable int64
	// Erase: the rest of the last file is erased whatever stands there. Otherwise
	// only if there is something just behind the end.
	Erase bool
}

// Settle makes the log what recovery decided. It runs alone, before Start.
// SyncSettled has to follow.
func (l *Log) Settle(s Settlement) error {
	files := l.queue.Files()
	l.skipped = s.Skipped
	if err := l.queue.Truncate(s.End); err != nil {
		return fmt.Errorf("cut commit log at %d: %w", s.End, err)
	}
	if len(files) == 0 {
		return nil
	}
	if n := len(files) - len(l.queue.Files()); n > 0 {
		l.opt.Logger.Info("removed commit log files behind the end of the log", "files", n, "end", s.End)
	}
	if tail := l.queue.Last(); tail != nil {
		if err := tail.Erase(s.End-tail.Base(), s.Erase, &l.opt.Files); err != nil {
			return err
		}
	}
	l.committed.Store(s.End)
	l.flushed.Store(min(s.Durable, s.End))
	return nil
}

// SyncSettled makes durable what Settle left of the log, however much a killed
// process had not synced. Readers may be at work; appends may follow.
func (l *Log) SyncSettled() error {
	durable, logEnd := l.flushed.Load(), l.committed.Load()
	for _, f := range l.queue.Files() {
		end := min(f.End(), logEnd)                      // what lies behind is zeros, which may be many pages
		if end <= max(durable, f.Base()) || f.Doomed() { // a doomed one has no bytes any more, only a name
			continue
		}
		if err := f.SyncTo(end - f.Base()); err != nil {
			return err
		}
	}
	l.flushed.Store(logEnd)
	return nil
}

// Skipped are the parts of the log that are no records and were given up.
// Immutable after Settle.
func (l *Log) Skipped() Ranges { return l.skipped }
