package consumequeue

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"commitlab/engine/segment"
)

// DeleteBefore moves Min as CorrectMin does and then deletes the files that lie
// wholly below it, oldest first. The last file always stays. It returns the
// number of files deleted. A file that readers hold counts: it has lost its name
// and is off the queue, and its space is free with the last Release, or by force
// in a Reap.
func (q *Queue) DeleteBefore(minPhysical int64, now time.Time) (deleted int, err error) {
	first, err := q.CorrectMin(minPhysical)
	if err != nil {
		return 0, err
	}
	live := first * UnitBytes
	files := q.files.Files()
	for _, f := range files[:max(len(files)-1, 0)] {
		if f.End() > live {
			break
		}
		off, err := q.held.drop(q.files, f, now)
		if off {
			deleted++
		}
		if err != nil {
			return deleted, fmt.Errorf("consume queue %s: %w", q.dir, err)
		}
	}
	return deleted, nil
}

// Reap looks after deleted files that readers held, and returns how many are
// still held. At least force after the deletion it takes the pages from under the
// readers, whose Units are then revoked, and frees the space.
func (q *Queue) Reap(now time.Time, force time.Duration) (held int, err error) {
	return q.held.reap(now, force)
}

// heldFiles are files that were deleted and may still be held by readers. The
// zero value is empty. Safe for concurrent use.
type heldFiles struct {
	mu    sync.Mutex
	files []*segment.File // guarded by mu
}

func (h *heldFiles) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.files)
}

// drop destroys f, the first file of list, takes it off and reports that; if it is
// off already there is nothing to do. If its name cannot be removed the file stays
// first, unavailable, and drop may be called again: a younger file must not go before
// it. Any other error leaves nothing to try again.
func (h *heldFiles) drop(list *segment.Queue, f *segment.File, now time.Time) (off bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if files := list.Files(); len(files) == 0 || files[0] != f {
		return true, nil
	}
	const never = math.MaxInt64 // do not take the pages from under readers here
	gone, err := f.Destroy(now, never)
	if err != nil && !gone {
		return false, err
	}
	list.RemoveFirst(f)
	if !gone {
		h.files = append(h.files, f)
	}
	return true, err
}

// dropAll drops all files of list, the first one first.
func (h *heldFiles) dropAll(list *segment.Queue, now time.Time) error {
	var errs []error
	for _, f := range list.Files() {
		off, err := h.drop(list, f, now)
		errs = append(errs, err)
		if !off {
			break
		}
	}
	return errors.Join(errs...)
}

func (h *heldFiles) reap(now time.Time, force time.Duration) (held int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	kept := h.files[:0]
	for _, f := range h.files {
		gone, err := f.Destroy(now, force)
		errs = append(errs, err)
		if !gone {
			kept = append(kept, f)
		}
	}
	clear(h.files[len(kept):])
	h.files = kept
	return len(kept), errors.Join(errs...)
}

// removeEmpty unlinks a directory, unless something is left in it.
func removeEmpty(dir string, disk segment.Disk) error {
	left, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	if len(left) > 0 {
		return nil
	}
	if err := errors.Join(disk.Remove(dir), disk.SyncDir(filepath.Dir(dir))); err != nil {
		return fmt.Errorf("remove directory %s: %w", dir, err)
	}
	return nil
}
