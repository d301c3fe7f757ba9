package engine

import (
	"errors"
	"fmt"

	"commitlab/engine/commitlog"
	"commitlab/engine/fsutil"
	"commitlab/engine/message"
	"commitlab/engine/segment"
)

// Errors of Put and PutBatch, by what the caller can do.
var (
	// The message is at fault; the same message will fail again.
	ErrIllegalMessage    = message.ErrIllegal
	ErrPropertiesTooLong = message.ErrPropertiesTooLong
	ErrRecordTooLarge    = message.ErrRecordTooLarge

	// The store cannot take it now; nothing was stored, later may work.
	ErrDiskFull      = errors.New("disk is full")
	ErrPageCacheBusy = commitlog.ErrBusy

	// The message is stored, but its durability is not confirmed.
	ErrFlushTimeout = commitlog.ErrFlushTimeout

	// The store takes nothing more.
	ErrClosing    = commitlog.ErrClosing
	ErrSyncFailed = commitlog.ErrSyncFailed
)

// Errors of reads.
var (
	// ErrNotFound: there is no record at an offset.
	ErrNotFound = commitlog.ErrNotFound
	// ErrUnreadable: the disk does not give the bytes at an offset. Another attempt
	// may succeed.
	ErrUnreadable = commitlog.ErrUnreadable
	// ErrNoDispatch: the store was opened with dispatch off (or, for a query,
	// with index off), so messages can only be read by physical offset.
	ErrNoDispatch = errors.New("store does not dispatch: option dispatch or index is off")
)

// ErrDispatchBehind is returned by Close when queues and index could not follow
// the log to its end; the next Open builds what is missing.
var ErrDispatchBehind = errors.New("dispatch is behind")

// A LockedError is returned by Open when another process, or this one, has the
// directory open.
type LockedError = fsutil.LockedError

// A DamageError is returned by Open when the commit log is damaged in the
// middle.
type DamageError = commitlog.DamageError

// classify gives an error of the commit log its place in the list above.
func classify(err error) error {
	switch {
	case commitlog.IsDiskFull(err):
		return fmt.Errorf("%w: %w", ErrDiskFull, err)
	case errors.Is(err, segment.ErrClosed), errors.Is(err, segment.ErrBuffersClosed):
		return fmt.Errorf("%w: %w", ErrClosing, err)
	}
	return err
}
