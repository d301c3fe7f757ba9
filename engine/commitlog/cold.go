package commitlog

import (
	"fmt"

	"commitlab/engine/message"
	"commitlab/engine/mmap"
	"commitlab/engine/segment"
)

// coldProbe is what is read of a cold record before its size is known: no page
// that the record may not need. A record that ends in another page than it
// begins in takes a second system call.
func coldProbe(pos, readable int64) int64 {
	n := pageBytes - pos%pageBytes
	if n < message.BlankBytes { // no room for the header
		n += pageBytes
	}
	return min(n, readable)
}

// coldView returns a view that begins at pos and holds at least the record
// there, if the readable bytes behind pos do. The wait for the disk is where the
// option ColdRead puts it.
func (l *Log) coldView(f *segment.File, pos, readable int64) (segment.View, error) {
	switch l.opt.ColdRead {
	case segment.ColdPread:
		return copied(f, pos, readable)
	case segment.ColdPopulate:
		return l.populated(f, pos, readable)
	}
	return f.View(pos, readable)
}

// copied reads the record at pos into memory of the heap.
func copied(f *segment.File, pos, readable int64) (segment.View, error) {
	probe := coldProbe(pos, readable)
	view, err := f.Copy(pos, probe)
	if err != nil {
		return segment.View{}, err
	}
	if size, err := statedSize(&view, readable); err != nil || size <= probe {
		return view, err
	} else if err := f.Extend(&view, pos, size); err != nil {
		return segment.View{}, err
	}
	return view, nil
}

// populated makes the pages of the record at pos before the caller touches
// them. Where that cannot be done the caller's touch is a fault, as it would
// have been.
func (l *Log) populated(f *segment.File, pos, readable int64) (segment.View, error) {
	view, err := f.View(pos, readable)
	if err != nil {
		return segment.View{}, err
	}
	probe := coldProbe(pos, readable)
	if !l.prefetch(f, pos, probe) {
		return view, nil
	}
	if size, err := statedSize(&view, readable); err == nil && size > probe {
		l.prefetch(f, pos+probe, size-probe)
	}
	return view, nil
}

func (l *Log) prefetch(f *segment.File, pos, n int64) bool {
	return l.opt.Files.Optional.Record("populate cold record", f.Prefetch(pos, n), "its reader faults the pages in")
}

// statedSize is the size of the record that begins with the view, by its own
// account; 0 if that is more than limit. Whether it is a record is for the caller
// to see. The error is a fault.
func statedSize(view *segment.View, limit int64) (size int64, err error) {
	defer mmap.Recover(&err, mmap.GuardFaults())
	if n := int64(message.StatedSize(view.Bytes())); n <= limit {
		size = n
	}
	return size, nil
}

// Evict makes the log durable and asks the system to let its files out of the
// page cache. For measurements of cold reads; CacheStat tells what has stayed.
func (l *Log) Evict() error {
	if err := l.Flush(); err != nil {
		return err
	}
	for _, f := range l.queue.Files() {
		if err := f.Evict(); err != nil {
			return err
		}
	}
	return nil
}

// CacheStat counts the pages of all files of the log in the page cache.
func (l *Log) CacheStat() (sum mmap.CacheStat, err error) {
	for _, f := range l.queue.Files() {
		s, err := f.CacheStat()
		if err != nil {
			return mmap.CacheStat{}, fmt.Errorf("cached pages of %s: %w", f.Path(), err)
		}
		sum.CachedPages += s.CachedPages
		sum.DirtyPages += s.DirtyPages
		sum.WritebackPages += s.WritebackPages
		sum.EvictedPages += s.EvictedPages
		sum.RecentlyEvictedPages += s.RecentlyEvictedPages
	}
	return sum, nil
}
