package segment

import (
	"time"

	"commitlab/engine/mmap"
)

// Destruction says who takes a destroyed file down once its last reference is
// gone, and how its blocks are freed.
type Destruction string

const (
	// DestroyInline: whoever gives up the last reference, a reader or the cleaning
	// pass, unmaps and closes the file.
	DestroyInline Destruction = "inline"
	// DestroyBackground: the reaper unmaps and closes it.
	DestroyBackground Destruction = "background"
	// DestroyStepwise: the reaper unmaps and truncates it in pieces, at a set rate.
	DestroyStepwise Destruction = "stepwise"
	// DestroyPunch: the reaper frees it in pieces by punching holes, at a set rate.
	DestroyPunch Destruction = "punch"
	// DestroyRecycle: the file becomes the next one that the log writes to, if
	// there is need for one; else as DestroyBackground.
	DestroyRecycle Destruction = "recycle"
)

// pieceBytes is how much of a file one step frees. Freeing written blocks may
// wait for the device (discards), in proportion.
const pieceBytes = 4 << 20

// freeing is a way to free the blocks of a file ahead of its close.
type freeing interface {
	// piece frees up to pieceBytes at the end of the first left bytes and returns
	// how many; 0 leaves the rest to the close. Nobody reaches the pages any more,
	// and the name is gone.
	piece(f *File, left int64) int64
}

// freeingOf returns the way of an option.
func freeingOf(d Destruction) freeing {
	switch d {
	case DestroyStepwise:
		return truncating{}
	case DestroyPunch:
		return punching{}
	}
	return whole{}
}

// whole leaves all to the close.
type whole struct{}

func (whole) piece(*File, int64) int64 { return 0 }

// truncating makes the file shorter.
type truncating struct{}

func (truncating) piece(f *File, left int64) int64 {
	n := min(left, pieceBytes)
	return f.freePiece(left-n, n, StepTruncate, func() error { return f.disk.Truncate(f.f, left-n) })
}

// punching leaves the length and frees the blocks.
type punching struct{}

func (punching) piece(f *File, left int64) int64 {
	n := min(left, pieceBytes)
	return f.freePiece(left-n, n, StepPunch, func() error { return f.disk.PunchHole(f.f, left-n, n) })
}

// freePiece takes the pages of [off, off+n) out of the mapping and frees them. It
// returns n, or 0 if that does not work here.
func (f *File) freePiece(off, n int64, step string, free func() error) int64 {
	if n == 0 {
		return 0
	}
	optional := f.end.reaper.opt.Optional
	if !f.revoked.Load() { // else they are gone already
		start := time.Now()
		optional.Record("unmap pieces", f.region.Advise(off, n, mmap.DontNeed), "all is unmapped at once")
		f.took(StepUnmap, start, n)
	}
	start := time.Now()
	if !optional.Record(step, free(), "the close frees all that is left") {
		return 0
	}
	f.took(step, start, n)
	return n
}
