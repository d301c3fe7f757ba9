package fsutil

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// fallocateCall is unix.Fallocate, replaced by tests that need a file system without it.
var fallocateCall = unix.Fallocate

func fallocate(fd int, size int64) error { return fallocateCall(fd, 0, 0, size) }

func punchHole(fd int, off, n int64) error {
	return fallocateCall(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
}

func evict(fd int, off, n int64) error {
	return unix.Fadvise(fd, off, n, unix.FADV_DONTNEED)
}

// createUnnamed makes a file in the directory of path that has no name yet.
func createUnnamed(path string) (*os.File, error) {
	fd, err := unix.Open(filepath.Dir(path), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
	switch {
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EISDIR), errors.Is(err, unix.EINVAL):
		return nil, errors.ErrUnsupported
	case err != nil:
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	if _, err := os.Lstat(descriptorPath(f)); err != nil { // no name without /proc
		return nil, errors.Join(errors.ErrUnsupported, f.Close())
	}
	return f, nil
}

// publish links f to its path.
func publish(f *os.File) error {
	return unix.Linkat(unix.AT_FDCWD, descriptorPath(f), unix.AT_FDCWD, f.Name(), unix.AT_SYMLINK_FOLLOW)
}

func descriptorPath(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

func seekData(fd int, off int64) (int64, error) { return unix.Seek(fd, off, unix.SEEK_DATA) }

func seekHole(fd int, off int64) (int64, error) { return unix.Seek(fd, off, unix.SEEK_HOLE) }

func statKey(info os.FileInfo) (fileKey, error) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileKey{}, errors.New("no device and inode number")
	}
	return fileKey{device: stat.Dev, inode: stat.Ino}, nil
}

func statTimes(s *unix.Stat_t) (modified, changed unix.Timespec) { return s.Mtim, s.Ctim }

// BootID names the time from one start of the system to the next: what a process has
// written to files or their mappings is there for another one at least so long.
func BootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("fsutil: boot id: %w", err)
	}
	return strings.TrimSpace(string(id)), nil
}

// fileSystemNames are the names of the magic numbers of statfs(2).
var fileSystemNames = map[uint32]string{
	unix.EXT4_SUPER_MAGIC:      "ext4",
	unix.XFS_SUPER_MAGIC:       "xfs",
	unix.BTRFS_SUPER_MAGIC:     "btrfs",
	unix.F2FS_SUPER_MAGIC:      "f2fs",
	0x2fc12fc1:                 "zfs",
	0xca451a4e:                 "bcachefs",
	unix.TMPFS_MAGIC:           "tmpfs",
	unix.RAMFS_MAGIC:           "ramfs",
	unix.OVERLAYFS_SUPER_MAGIC: "overlay",
	unix.NFS_SUPER_MAGIC:       "nfs",
	unix.CIFS_SUPER_MAGIC:      "cifs",
	unix.SMB2_SUPER_MAGIC:      "smb2",
	unix.FUSE_SUPER_MAGIC:      "fuse",
	unix.V9FS_MAGIC:            "9p",
	unix.CEPH_SUPER_MAGIC:      "ceph",
	unix.MSDOS_SUPER_MAGIC:     "vfat",
	unix.EXFAT_SUPER_MAGIC:     "exfat",
	unix.PROC_SUPER_MAGIC:      "proc",
	unix.SYSFS_MAGIC:           "sysfs",
}

func statfs(path string) (statfsResult, error) {
	var s unix.Statfs_t
	for {
		err := unix.Statfs(path, &s)
		if err == nil {
			break
		}
		if err != unix.EINTR {
			return statfsResult{}, err
		}
	}
	// Block counts are in fragments; a few file systems report the size of one only
	// as the block size.
	unit := uint64(s.Frsize)
	if unit == 0 {
		unit = uint64(s.Bsize)
	}
	name, ok := fileSystemNames[uint32(s.Type)]
	if !ok {
		name = fmt.Sprintf("%#x", uint32(s.Type))
	}
	return statfsResult{
		usage: DiskUsage{Total: s.Blocks * unit, Free: s.Bfree * unit, Available: s.Bavail * unit},
		name:  name,
	}, nil
}

// MapCountLimit is the number of mappings that the system allows a process
// (vm.max_map_count). Every mapped file takes one, and one more where a part of it is
// locked or advised differently.
func MapCountLimit() (int, error) {
	const path = "/proc/sys/vm/max_map_count"
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("fsutil: map count limit: %w", err)
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("fsutil: map count limit in %s: %w", path, err)
	}
	return limit, nil
}
