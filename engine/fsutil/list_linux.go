package fsutil

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// Layout of struct linux_dirent64, see getdents64(2): inode, offset, length of the
// entry, type, name with a zero behind.
const (
	direntLengthAt = 8 + 8
	direntTypeAt   = direntLengthAt + 2
	direntNameAt   = direntTypeAt + 1
)

var direntBuffers = sync.Pool{New: func() any { return new([8 << 10]byte) }}

// list asks the directory by its descriptor, so that no path is walked but its own.
func list(dir string) (entries []Entry, err error) {
	fd, err := uninterrupted(func() (int, error) {
		return unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd) // of a directory it has nothing to say
	buffer := direntBuffers.Get().(*[8 << 10]byte)
	defer direntBuffers.Put(buffer)
	for {
		n, err := uninterrupted(func() (int, error) { return unix.Getdents(fd, buffer[:]) })
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			return entries, nil
		}
		for rest := buffer[:n]; len(rest) > direntNameAt; {
			length := binary.NativeEndian.Uint16(rest[direntLengthAt:])
			if entries, err = describe(entries, fd, rest[:length]); err != nil {
				return nil, err
			}
			rest = rest[length:]
		}
	}
}

// describe adds the entry of a directory that is open as fd.
func describe(entries []Entry, fd int, dirent []byte) ([]Entry, error) {
	name, _, _ := bytes.Cut(dirent[direntNameAt:], []byte{0})
	if string(name) == "." || string(name) == ".." {
		return entries, nil
	}
	e := Entry{Name: string(name), Dir: dirent[direntTypeAt] == unix.DT_DIR}
	if e.Dir {
		return append(entries, e), nil
	}
	var stat unix.Stat_t
	_, err := uninterrupted(func() (int, error) { return 0, unix.Fstatat(fd, e.Name, &stat, unix.AT_SYMLINK_NOFOLLOW) })
	switch {
	case errors.Is(err, unix.ENOENT):
		return entries, nil
	case err != nil:
		return nil, err
	}
	if e.Dir = stat.Mode&unix.S_IFMT == unix.S_IFDIR; !e.Dir { // some file systems do not tell the type with the name
		e.Size = stat.Size
	}
	return append(entries, e), nil
}
