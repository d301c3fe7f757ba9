package consumequeue

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound: the queue has no unit of a message at this offset.
	ErrNotFound = errors.New("no unit at this queue offset")
	// ErrClosed: the queue was closed or destroyed.
	ErrClosed = errors.New("consume queue is closed")
	// ErrSyncFailed: an earlier sync of the queue failed. What was not durable
	// then may be lost, and no later sync of this process can tell.
	ErrSyncFailed = errors.New("a sync of the consume queue failed earlier")
	// ErrUnit: the unit or the queue offset is none that a queue can hold.
	ErrUnit = errors.New("not a unit of a consume queue")
)

// A ConflictError says that another unit than the one to be put stands at its
// place. The log is right, so the queue is damaged there.
type ConflictError struct {
	Dir         string // of the queue
	QueueOffset int64
	Have        Unit // in the queue
	Want        Unit // that was to be put
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("consume queue %s holds %+v at offset %d, expected %+v", e.Dir, e.Have, e.QueueOffset, e.Want)
}

// A GapError says that a unit was to be put behind the end of its queue.
type GapError struct {
	Dir         string // of the queue
	QueueOffset int64  // of the unit
	Max         int64  // where the next unit has to go
}

func (e *GapError) Error() string {
	return fmt.Sprintf("consume queue %s ends at offset %d, got a unit for offset %d", e.Dir, e.Max, e.QueueOffset)
}
