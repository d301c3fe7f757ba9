package fsutil

import (
	"errors"
	"fmt"
	"math/bits"
)

// ErrNoSize: the file system reports no size to take a ratio of, as /proc does.
var ErrNoSize = errors.New("file system has no size")

// DiskUsage is the space of the file system that holds a path, in bytes.
type DiskUsage struct {
	Total     uint64 `json:"total"`
	Free      uint64 `json:"free"`      // includes the blocks reserved for root
	Available uint64 `json:"available"` // to an ordinary user
}

// Usage asks for the space of the file system that holds path.
func Usage(path string) (DiskUsage, error) {
	s, err := statfs(path)
	if err != nil {
		return DiskUsage{}, fmt.Errorf("fsutil: disk usage of %s: %w", path, err)
	}
	return s.usage, nil
}

// Ratio is the used part of the space that an ordinary user can ever use, rounded up
// to whole percent, between 0 and 1: 0.9 for a total of 1000, 150 free, 100 available,
// as RocketMQ and df compute it. Reserved blocks count neither as used nor as usable.
// The error wraps ErrNoSize where there is nothing to divide by, or says that the
// figures contradict each other.
func (u DiskUsage) Ratio() (float64, error) {
	if u.Total == 0 {
		return 0, fmt.Errorf("fsutil: disk usage ratio: %w", ErrNoSize)
	}
	if u.Free > u.Total || u.Available > u.Free {
		return 0, fmt.Errorf("fsutil: disk usage ratio: total %d, free %d, available %d bytes contradict each other", u.Total, u.Free, u.Available)
	}
	used := u.Total - u.Free
	usable := used + u.Available // at most Total
	if usable == 0 {
		return 0, fmt.Errorf("fsutil: disk usage ratio: %w: all of it is reserved", ErrNoSize)
	}
	high, low := bits.Mul64(used, 100)
	percent, rest := bits.Div64(high, low, usable)
	if rest > 0 {
		percent++
	}
	return float64(percent) / 100, nil
}

// FileSystem names the type of the file system that holds path, such as "ext4",
// "xfs" or "tmpfs"; an unknown one by its magic number, such as "0x1234". All of the
// ext family are "ext4".
func FileSystem(path string) (string, error) {
	s, err := statfs(path)
	if err != nil {
		return "", fmt.Errorf("fsutil: file system of %s: %w", path, err)
	}
	return s.name, nil
}

// statfsResult is what the operating systems' different statfs structures have in common.
type statfsResult struct {
	usage DiskUsage
	name  string
}
