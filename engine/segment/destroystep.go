package segment

import "time"

// A DestroyStep is one step of taking a file down, for measurements.
type DestroyStep struct {
	Path     string // of the file, as it was named
	Name     string // what was done, one of the Step constants
	Start    time.Time
	Duration time.Duration
	Bytes    int64 // what it was done to, or waited for
}

// The steps of a destruction. One that works in pieces is a step for each piece.
const (
	// StepWait lasts from the first Destroy to the last Release.
	StepWait = "wait"
	// StepUnlink removes the name and syncs the directory.
	StepUnlink = "unlink"
	// StepReplace exchanges the pages under readers who hold on for zeros.
	StepReplace = "replace"
	// StepTruncate and StepPunch free a piece of the file.
	StepTruncate = "truncate"
	StepPunch    = "punch"
	// StepUnmap removes the mapping, or the pages of a piece from it.
	StepUnmap = "munmap"
	// StepClose closes the descriptor and frees the blocks that are left.
	StepClose = "close"
	// StepRecycle renames the file to become a spare, in the place of StepUnlink.
	StepRecycle = "recycle"
	// StepTotal lasts from the first Destroy until nothing is left.
	StepTotal = "total"
)
