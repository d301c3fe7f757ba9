package engine

import (
	"errors"
	"fmt"

	"commitlab/engine/message"
	"commitlab/engine/segment"
)

// A View is a record in place, backed by the mapping (with coldRead pread a copy). The record and all its
// byte slices may be read until Release and never after; copy what must live
// longer.
type View struct {
	message.Record
	bytes segment.View
}

// Bytes is the whole record as stored.
func (v *View) Bytes() []byte { return v.bytes.Bytes() }

// Revoked reports that the file was taken down by force while the view was
// held: its bytes may read as zeros.
func (v *View) Revoked() bool { return v.bytes.Revoked() }

// Release gives the mapping back. Every View from the store must be released
// once; a second Release does nothing.
func (v *View) Release() { v.bytes.Release() }

// At returns the record that begins at a physical offset. ErrNotFound covers
// offsets outside of the log and between records; a record that the disk does not give
// is ErrUnreadable.
func (s *Store) At(offset int64) (View, error) {
	var v View
	if err := s.at(&v, offset, 0); err != nil {
		return View{}, err
	}
	return v, nil
}

// at is At into a view that holds nothing, which it still does on an error. The record
// is likely to have so many bytes; 0 is not known.
func (s *Store) at(v *View, offset, likely int64) (err error) {
	v.bytes, err = s.log.Record(&v.Record, offset, likely)
	if err == nil {
		return nil
	}
	if errors.Is(err, segment.ErrClosed) && !s.isClosing() { // deleted just now
		return fmt.Errorf("at: %w: %w", ErrNotFound, err)
	}
	return fmt.Errorf("at: %w", classify(err))
}
