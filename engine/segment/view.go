package segment

import "commitlab/engine/mmap"

// A View is a range of a mapped file with a reference on it, or a copy of such
// a range. Its bytes may be read until Release and never after; they must not be
// written. The zero View holds nothing.
type View struct {
	file  *File // nil: bytes are memory of the heap
	bytes []byte
}

// Bytes are the bytes of the view, backed by the mapping unless it is a copy.
func (v *View) Bytes() []byte { return v.bytes }

// Revoked reports that the file was destroyed by force while the view was
// held: the bytes may read as zeros.
func (v *View) Revoked() bool { return v.file != nil && v.file.revoked.Load() }

// Release gives the reference back. Calling it again on the same View does
// nothing; releasing a copy of a released View panics.
func (v *View) Release() {
	f := v.file
	v.file, v.bytes = nil, nil
	if f != nil {
		f.life.release()
	}
}

// Clip shortens the view to its first n bytes.
func (v *View) Clip(n int) { v.bytes = v.bytes[:n:n] }

// Touch reads one byte of every page of the view, so that a page which the
// disk cannot back is an error here and not a fault later.
func (v *View) Touch() (err error) {
	defer mmap.Recover(&err, mmap.GuardFaults())
	touch(v.bytes)
	return nil
}

// touch is kept apart so that the loads are not optimised away.
//
//go:noinline
func touch(b []byte) (sum byte) {
	for i := 0; i < len(b); i += pageBytes {
		sum ^= b[i]
	}
	if n := len(b); n > 0 {
		sum ^= b[n-1]
	}
	return sum
}
