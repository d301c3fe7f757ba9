package pressure

import (
	"fmt"
	"math"
	"os"

	"commitlab/engine/fsutil"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

// memoryReserve is the memory that nobody takes: a tenth of all, at least 1 GiB.
func memoryReserve(total int64) int64 { return max(total/10, gib) }

// memoryRoom is how much memory may be taken: what is available less the reserve.
func memoryRoom(available, total int64) int64 { return max(available-memoryReserve(total), 0) }

// diskReserve is the disk space that nobody takes: a fiftieth, at most 1 GiB.
func diskReserve(u fsutil.DiskUsage) int64 {
	return int64(min(u.Total/50, gib))
}

// diskRoom is how much of a disk may be taken.
func diskRoom(u fsutil.DiskUsage) int64 {
	return max(int64(u.Available)-diskReserve(u), 0)
}

// toRatio is how many bytes it takes until the disk is used to a ratio, as
// fsutil.DiskUsage.Ratio has it; 0 when it is already.
func toRatio(u fsutil.DiskUsage, ratio float64) int64 {
	used := float64(u.Total - u.Free)
	usable := used + float64(u.Available)
	return max(int64(math.Ceil(ratio*usable-used)), 0)
}

// nameless makes a file in dir that has no name, so that its space is the
// system's again when it is closed, however the process ends.
func nameless(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "pressure-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, fmt.Errorf("take the name of a file of its own: %w", err)
	}
	return f, nil
}

// size writes bytes in the largest unit that it reaches.
func size(n int64) string {
	switch {
	case n >= gib:
		return fmt.Sprintf("%.2f GiB", float64(n)/gib)
	case n >= mib:
		return fmt.Sprintf("%.1f MiB", float64(n)/mib)
	}
	return fmt.Sprintf("%d bytes", n)
}
