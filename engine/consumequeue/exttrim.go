package consumequeue

import (
	"errors"
	"fmt"
	"time"

	"commitlab/engine/segment"
)

// TruncateAfter drops all units behind the one at an address, durably: the
// largest that the queue still has after it was cut. An address that is none
// drops everything. For recovery.
func (x *Ext) TruncateAfter(address int64) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	files := x.files.Files()
	if len(files) == 0 {
		return nil
	}
	end := files[0].Base()
	if IsExtAddress(address) {
		u, ok := x.Get(address, nil)
		if !ok {
			return fmt.Errorf("%w: no extension unit at offset %d of %s", ErrNotFound, extOffset(address), x.files.Dir())
		}
		end = extOffset(address) + u.size()
	}
	if end >= x.end.Load() {
		return nil
	}
	if err := x.cut(end, true); err != nil {
		return fmt.Errorf("cut consume queue extension %s at byte %d: %w", x.files.Dir(), end, err)
	}
	return nil
}

// DeleteBefore deletes the files that lie wholly below an address, oldest first:
// the smallest that live units of the queue have. The last file stays. It returns
// the number of files deleted; see [Queue.DeleteBefore] for those that are held.
func (x *Ext) DeleteBefore(address int64, now time.Time) (deleted int, err error) {
	if !IsExtAddress(address) {
		return 0, nil
	}
	files := x.files.Files()
	for _, f := range files[:max(len(files)-1, 0)] {
		if f.End() > extOffset(address) {
			break
		}
		off, err := x.held.drop(x.files, f, now)
		if off {
			deleted++
		}
		if err != nil {
			return deleted, fmt.Errorf("consume queue extension %s: %w", x.files.Dir(), err)
		}
	}
	return deleted, nil
}

// Reap is [Queue.Reap] for the extension.
func (x *Ext) Reap(now time.Time, force time.Duration) (held int, err error) {
	return x.held.reap(now, force)
}

// Sync makes all units durable. Call it before the Sync of the queue, whose units
// point at these. An error is final as with [Queue.Sync]; the caller must not try
// again and believe a success.
func (x *Ext) Sync() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	files := x.files.Files()
	i := len(files)
	for i > 0 && files[i-1].Flushed() < files[i-1].Size() {
		i--
	}
	for _, f := range files[i:] {
		if _, err := f.Sync(x.opt.SyncPath); err != nil && !errors.Is(err, segment.ErrClosed) {
			return fmt.Errorf("%w: %w", ErrSyncFailed, err)
		}
	}
	return nil
}

// Close gives up the files without syncing them.
func (x *Ext) Close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.files.Close()
}

// Destroy removes the extension from the disk, for good.
func (x *Ext) Destroy(now time.Time) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.held.dropAll(x.files, now); err != nil {
		return fmt.Errorf("destroy consume queue extension %s: %w", x.files.Dir(), err)
	}
	return removeEmpty(x.files.Dir(), x.opt.Files.Disk)
}
