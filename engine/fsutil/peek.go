package fsutil

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Peek copies len(p) bytes at off of the file at path. If the file has fewer there it
// returns how many that were, and io.EOF. It makes three system calls, about a third
// of what it costs to open an *os.File for one read.
func Peek(path string, p []byte, off int64) (n int, err error) {
	fd, err := uninterrupted(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return 0, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd) // of a file that was only read it has nothing to say
	for n < len(p) {
		read, err := uninterrupted(func() (int, error) { return unix.Pread(fd, p[n:], off+int64(n)) })
		if err != nil {
			return n, &os.PathError{Op: "read", Path: path, Err: err}
		}
		if read == 0 {
			return n, io.EOF
		}
		n += read
	}
	return n, nil
}

// uninterrupted repeats a system call that a signal interrupted.
func uninterrupted(call func() (int, error)) (n int, err error) {
	for {
		if n, err = call(); err != unix.EINTR {
			return n, err
		}
	}
}
