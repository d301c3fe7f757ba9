package storedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"commitlab/engine/fsutil"
)

// An AbortMarker is the file whose existence says that the store is open, or
// was not closed in order. Only its existence counts; the process id in it is
// for people.
type AbortMarker struct{ path string }

// AbortMarker returns the marker of the store.
func (l Layout) AbortMarker() AbortMarker { return AbortMarker{l.Abort()} }

// Present reports whether the marker exists.
func (a AbortMarker) Present() (bool, error) {
	_, err := os.Stat(a.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for abort marker: %w", err)
	}
	return true, nil
}

// Set creates the marker durably.
func (a AbortMarker) Set() error {
	if err := fsutil.ReplaceFile(a.path, strconv.AppendInt(nil, int64(os.Getpid()), 10)); err != nil {
		return fmt.Errorf("set abort marker: %w", err)
	}
	return nil
}

// Clear removes the marker durably. Everything else must be durable before.
func (a AbortMarker) Clear() error {
	if err := fsutil.Remove(a.path); err != nil {
		return fmt.Errorf("clear abort marker: %w", err)
	}
	return nil
}
