package fsutil

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// A Stamp tells a file or directory from what else may come to stand under its name,
// and from itself after a change: to the bytes of a file, to the names in a directory.
type Stamp struct {
	Inode    uint64
	Size     int64 // in bytes
	ModifyNs int64 // epoch nanoseconds; of the last change of content
	ChangeNs int64 // epoch nanoseconds; of the last change of anything, not to be set from outside
}

// A Directory is open for questions about what lies in it and below, by paths that
// begin there: of those the system has to walk less than of whole ones. Safe for
// concurrent use.
type Directory struct {
	path string
	fd   int
}

// OpenDirectory opens a directory, which the caller closes.
func OpenDirectory(path string) (*Directory, error) {
	fd, err := uninterrupted(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, fmt.Errorf("fsutil: open directory %s: %w", path, err)
	}
	return &Directory{path: path, fd: fd}, nil
}

// Stamp asks for the stamp of what stands at a path below the directory, with one
// system call. It follows symbolic links.
func (d *Directory) Stamp(name string) (Stamp, error) {
	var stat unix.Stat_t
	if _, err := uninterrupted(func() (int, error) { return 0, unix.Fstatat(d.fd, name, &stat, 0) }); err != nil {
		return Stamp{}, fmt.Errorf("fsutil: stat %s in %s: %w", name, d.path, err)
	}
	modified, changed := statTimes(&stat)
	return Stamp{Inode: stat.Ino, Size: stat.Size, ModifyNs: modified.Nano(), ChangeNs: changed.Nano()}, nil
}

// Close gives the directory up.
func (d *Directory) Close() error { return unix.Close(d.fd) }

// WholeSeconds reports whether a time of the stamp is one of whole seconds, as all are on
// an ext4 with small inodes: there a change within the second may not show.
func (s Stamp) WholeSeconds() bool {
	return s.ModifyNs%int64(time.Second) == 0 || s.ChangeNs%int64(time.Second) == 0
}

// StampSteps is more than the steps in which any file system that [StampsTell] writes
// these times, unless in whole seconds: of two changes within it, the second may leave
// the stamp as it was.
const StampSteps = 20 * time.Millisecond

// StampsTell reports whether a change of a file at dir always shows in its stamp, also
// one through a mapping, while the system runs: not so on tmpfs, which leaves the times
// alone when mapped pages are written, and nothing is promised of file systems that are
// not local.
func StampsTell(dir string) bool {
	name, err := FileSystem(dir)
	return err == nil && (name == "ext4" || name == "xfs" || name == "btrfs")
}
