package index

import (
	"errors"
	"time"
)

// DeleteBefore takes down the files that have only records below the physical
// offset min, oldest first, and returns how many left the list. The newest file
// always stays. A file that a cursor holds goes when that is released, or is
// emptied under it when DeleteBefore is called again at least force later; it
// does not keep younger files from going.
func (s *Set) DeleteBefore(min int64, now time.Time, force time.Duration) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	files := s.Files()
	n := 0
	for n < len(files)-1 && files[n].endPhysical.Load() < min {
		n++
	}
	if n > 0 {
		s.setFiles(files[n:])
		for _, f := range files[:n] {
			f.own.Release()
			f.b = nil
		}
		s.gone = append(s.gone, files[:n]...)
		s.settleDurable()
	}
	return n, s.reap(now, force)
}

// reap goes on with the destruction of the files that left the list. The caller
// holds mu.
func (s *Set) reap(now time.Time, force time.Duration) error {
	var errs []error
	var held []*File
	for _, f := range s.gone {
		// Called again when done it has the errors of the end, if any.
		gone, err := f.seg.Destroy(now, force)
		errs = append(errs, err)
		if !gone {
			held = append(held, f)
		}
	}
	s.gone = held
	return errors.Join(errs...)
}
