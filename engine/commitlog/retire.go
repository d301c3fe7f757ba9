package commitlog

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"commitlab/engine/segment"
)

// A FileState is what retention judges a file by.
type FileState struct {
	Path      string
	Base, End int64 // log offsets
	// FirstMs is the store time of the file's first record, epoch ms; 0 if there is
	// none to be read. That of the next file bounds the newest record of this one.
	FirstMs int64
	// ModifiedMs is when the file was written last, as the file system tells it.
	ModifiedMs int64
	// Hanged: the file was retired, but its name could not be removed.
	Hanged bool
}

// retired is what Retire knows beyond the queue's list.
type retired struct {
	mu      sync.Mutex
	firstMs map[int64]int64 // guarded by mu; by base; does not change once known
	held    []*segment.File // guarded by mu; off the list, not yet wholly gone

	files, bytes atomic.Int64 // so far
}

// FileStates returns the files of the log, oldest first. The last one is the file
// that is written.
func (l *Log) FileStates() []FileState {
	l.retired.mu.Lock()
	defer l.retired.mu.Unlock()
	files := l.queue.Files()
	states := make([]FileState, len(files))
	for i, f := range files {
		states[i] = FileState{Path: f.Path(), Base: f.Base(), End: f.End(), FirstMs: l.retired.firstMs[f.Base()], Hanged: f.Doomed()}
		if info, err := os.Stat(f.Path()); err == nil {
			states[i].ModifiedMs = info.ModTime().UnixMilli()
		}
		if states[i].FirstMs != 0 {
			continue
		}
		if ms, err := firstMs(f); err == nil && ms != 0 {
			states[i].FirstMs = ms
			l.retired.firstMs[f.Base()] = ms
		}
	}
	return states
}

// firstMs reads the store time of the first record of a file, 0 if there is none.
func firstMs(f *segment.File) (int64, error) {
	view, err := f.View(0, f.ReadPosition())
	if err != nil {
		return 0, err
	}
	defer view.Release()
	return headMs(view.Bytes(), f.Base())
}

// Retire takes the oldest file, which begins at base, out of the log and destroys
// it: from now on Min is the start of the next. Readers that hold it keep it alive;
// see Reap. A file whose name cannot be removed stays the first, unavailable, until
// a later Retire succeeds: with a hole between files no log opens. The last file
// is never retired. The caller sees to it that the file is durable and dispatched.
// With reuse its blocks may serve the log again, if it has spares.
//
// It reports whether the file is off the log. If so an error is of giving back its
// mapping or descriptor, and nothing is left to try again.
func (l *Log) Retire(base int64, now time.Time, reuse bool) (retired bool, err error) {
	l.retired.mu.Lock()
	defer l.retired.mu.Unlock()
	files := l.queue.Files()
	if len(files) < 2 || files[0].Base() != base {
		return false, fmt.Errorf("retire the file at %d: %w: the log holds [%d, %d)", base, ErrNotFound, l.Min(), l.Appended())
	}
	f := files[0]
	if reuse {
		f.OfferReuse()
	}
	gone, err := f.Destroy(now, segment.Never)
	if err != nil {
		err = fmt.Errorf("retire %s: %w", f.Path(), err)
		if !gone {
			return false, err
		}
	}
	l.queue.RemoveFirst(f)
	delete(l.retired.firstMs, base)
	l.retired.files.Add(1)
	l.retired.bytes.Add(f.Size())
	if !gone {
		l.retired.held = append(l.retired.held, f)
	}
	return true, err
}

// Waiting is the number of retired files that nobody uses any more and that are still
// to be taken down.
func (l *Log) Waiting() (files int) {
	l.retired.mu.Lock()
	defer l.retired.mu.Unlock()
	for _, f := range l.retired.held {
		if f.Waiting() {
			files++
		}
	}
	return files
}

// Reap looks after retired files that readers held and returns how many they still
// hold. At least force after the retirement it takes the pages from under the
// readers, whose views are then revoked.
func (l *Log) Reap(now time.Time, force time.Duration) (held int, err error) {
	l.retired.mu.Lock()
	defer l.retired.mu.Unlock()
	var errs []error
	kept := l.retired.held[:0]
	for _, f := range l.retired.held {
		gone, err := f.Destroy(now, force)
		errs = append(errs, err)
		if gone {
			continue
		}
		kept = append(kept, f)
		if f.Held() {
			held++
		}
	}
	clear(l.retired.held[len(kept):])
	l.retired.held = kept
	return held, errors.Join(errs...)
}
