//go:build !linux

package fsutil

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func fallocate(int, int64) error { return errors.ErrUnsupported }

func punchHole(int, int64, int64) error { return errors.ErrUnsupported }

func evict(int, int64, int64) error { return errors.ErrUnsupported }

func createUnnamed(string) (*os.File, error) { return nil, errors.ErrUnsupported }

func publish(*os.File) error { return errors.ErrUnsupported }

func seekData(int, int64) (int64, error) { return 0, errors.ErrUnsupported }

func seekHole(int, int64) (int64, error) { return 0, errors.ErrUnsupported }

func statKey(info os.FileInfo) (fileKey, error) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileKey{}, errors.New("no device and inode number")
	}
	return fileKey{device: uint64(stat.Dev), inode: stat.Ino}, nil
}

func statTimes(s *unix.Stat_t) (modified, changed unix.Timespec) { return s.Mtim, s.Ctim }

// BootID has no answer here: the error wraps errors.ErrUnsupported.
func BootID() (string, error) {
	return "", fmt.Errorf("fsutil: boot id: %w", errors.ErrUnsupported)
}

func statfs(path string) (statfsResult, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return statfsResult{}, err
	}
	unit := uint64(s.Bsize)
	return statfsResult{
		usage: DiskUsage{Total: s.Blocks * unit, Free: s.Bfree * unit, Available: s.Bavail * unit},
		name:  unix.ByteSliceToString(s.Fstypename[:]),
	}, nil
}

// MapCountLimit has no answer here: the error wraps errors.ErrUnsupported.
func MapCountLimit() (int, error) {
	return 0, fmt.Errorf("fsutil: map count limit: %w", errors.ErrUnsupported)
}
