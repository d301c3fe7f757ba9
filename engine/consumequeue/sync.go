package consumequeue

import (
	"errors"
	"fmt"

	"commitlab/engine/segment"
)

// pageBytes is the page of leastPages, whatever the platform's.
const pageBytes = 4096

// Sync makes units durable and returns how many bytes that were: those of each
// file that is full or has at least leastPages dirty pages of 4096 bytes; with 0
// all units put before the call, and zeros behind them. After a failed sync it fails
// for good, with [ErrSyncFailed], so that no checkpoint can come to trust the queue; the next
// start builds the units again.
func (q *Queue) Sync(leastPages int) (synced int64, err error) {
	q.syncMu.Lock()
	defer q.syncMu.Unlock()
	if q.syncErr != nil {
		return 0, q.syncErr
	}
	if leastPages <= 0 {
		if err := q.finishErase(); err != nil {
			return 0, err
		}
	}
	for _, f := range q.unsynced() {
		if !due(f.Flushed(), f.ReadPosition(), f.Size(), int64(leastPages)) {
			continue
		}
		n, err := f.Sync(q.opt.SyncPath)
		synced += n
		if errors.Is(err, segment.ErrClosed) {
			continue // deleted meanwhile
		}
		if err != nil {
			q.syncErr = fmt.Errorf("%w: %w", ErrSyncFailed, err)
			return synced, q.syncErr
		}
	}
	return synced, nil
}

// finishErase does what Open has left to the first Put. One that failed, here or
// there, counts as a failed sync: it syncs the file. syncMu is held.
func (q *Queue) finishErase() error {
	q.putMu.Lock()
	defer q.putMu.Unlock()
	if q.closed {
		return nil
	}
	err := q.erase()
	if q.eraseErr != nil {
		q.syncErr = fmt.Errorf("%w: %w", ErrSyncFailed, q.eraseErr)
		return q.syncErr
	}
	return err
}

// unsynced is the end of the list of files behind the last one that is durable as
// a whole.
func (q *Queue) unsynced() []*segment.File {
	files := q.files.Files()
	i := len(files)
	for i > 0 && files[i-1].Flushed() < files[i-1].Size() {
		i--
	}
	return files[i:]
}

// due decides whether a file that is durable up to flushed and readable up to end
// is worth a sync.
func due(flushed, end, size, leastPages int64) bool {
	switch {
	case end <= flushed:
		return false
	case end == size || leastPages <= 0:
		return true
	}
	return end/pageBytes-flushed/pageBytes >= leastPages
}
