package fsutil

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// lockContent is what the lock file of a store holds. It only informs: what excludes
// others is the record lock on its first byte.
const lockContent = "lock"

// LockedError says that another owner has the lock.
type LockedError struct {
	Path      string // of the lock file, as asked for
	HolderPID int    // process that holds it; 0 if the system did not say
}

func (e *LockedError) Error() string {
	if e.HolderPID == 0 {
		return fmt.Sprintf("fsutil: %s is locked by another process", e.Path)
	}
	return fmt.Sprintf("fsutil: %s is locked by process %d", e.Path, e.HolderPID)
}

// DirLock is a held lock. The zero value is of no use.
type DirLock struct {
	file *os.File
	key  fileKey
}

// fileKey identifies a file whatever path led to it.
type fileKey struct{ device, inode uint64 }

// held are the locks of this process. Record locks belong to the process: the
// system would grant a second one, and closing that one would drop the first.
var held = struct {
	mu    sync.Mutex
	locks map[fileKey]*DirLock // guarded by mu
}{locks: make(map[fileKey]*DirLock)}

// AcquireLock takes the exclusive lock of a store, without waiting: a POSIX record
// lock (fcntl) on the byte [0,1) of the file at path, which is created if missing and
// then holds exactly "lock". A Java broker takes the same lock, so it keeps out and
// is kept out. The file stays after Release; existence means nothing, and a file left
// by a killed process stops nobody.
//
// If somebody holds it, in this process or another, by this path or through a link,
// the error is a *LockedError.
//
// While the lock is held no other code of this process may open and close that file:
// the system drops a process's record locks with any descriptor of the file.
//
// Note: an open file description lock would not have that trap, but its holder cannot
// be named, and the reader of the error wants to know whom to stop.
func AcquireLock(path string) (*DirLock, error) {
	held.mu.Lock()
	defer held.mu.Unlock()
	// Asked before the file is opened: to close it again would drop the lock.
	if key, err := keyOf(os.Stat(path)); err == nil && held.locks[key] != nil {
		return nil, &LockedError{Path: path, HolderPID: os.Getpid()}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("fsutil: lock: %w", err)
	}
	key, err := keyOf(f.Stat())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("fsutil: lock %s: %w", path, err), f.Close())
	}
	if err := lockFirstByte(f, path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := writeLockContent(f); err != nil {
		return nil, errors.Join(fmt.Errorf("fsutil: lock %s: %w", path, err), f.Close())
	}
	l := &DirLock{file: f, key: key}
	held.locks[key] = l
	return l, nil
}

// Release gives the lock up. A second call fails with os.ErrClosed.
func (l *DirLock) Release() error {
	held.mu.Lock()
	defer held.mu.Unlock()
	if held.locks[l.key] == l {
		delete(held.locks, l.key)
	}
	if err := l.file.Close(); err != nil { // drops the lock
		return fmt.Errorf("fsutil: release lock: %w", err)
	}
	return nil
}

// CheckLock says whether somebody holds the lock of a store, without taking it and
// without changing anything: nil if nobody does or the file is missing, else a
// *LockedError. The answer may be old when it arrives.
func CheckLock(path string) error {
	held.mu.Lock() // also keeps AcquireLock out while the descriptor below exists
	defer held.mu.Unlock()
	key, err := keyOf(os.Stat(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("fsutil: look at lock: %w", err)
	}
	if held.locks[key] != nil {
		return &LockedError{Path: path, HolderPID: os.Getpid()}
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("fsutil: look at lock: %w", err)
	}
	defer f.Close()
	firstByte := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: 0, Len: 1}
	err = withDescriptor(f, func(fd int) error { return unix.FcntlFlock(uintptr(fd), unix.F_GETLK, &firstByte) })
	if err != nil {
		return fmt.Errorf("fsutil: look at lock %s: %w", path, err)
	}
	if firstByte.Type == unix.F_UNLCK {
		return nil
	}
	return &LockedError{Path: path, HolderPID: max(int(firstByte.Pid), 0)}
}

func keyOf(info os.FileInfo, err error) (fileKey, error) {
	if err != nil {
		return fileKey{}, err
	}
	return statKey(info)
}

// lockFirstByte takes the record lock, or says who has it.
func lockFirstByte(f *os.File, path string) error {
	firstByte := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: 0, Len: 1}
	request := firstByte
	err := withDescriptor(f, func(fd int) error { return unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &request) })
	if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EACCES) {
		if err != nil {
			return fmt.Errorf("fsutil: lock %s: %w", path, err)
		}
		return nil
	}
	locked := &LockedError{Path: path}
	err = withDescriptor(f, func(fd int) error { return unix.FcntlFlock(uintptr(fd), unix.F_GETLK, &firstByte) })
	if err == nil && firstByte.Type != unix.F_UNLCK && firstByte.Pid > 0 {
		locked.HolderPID = int(firstByte.Pid)
	}
	return locked
}

func writeLockContent(f *os.File) error {
	content, err := io.ReadAll(io.NewSectionReader(f, 0, int64(len(lockContent))+1))
	if err != nil || string(content) == lockContent {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(lockContent), 0)
	return err
}
