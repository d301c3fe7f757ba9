package fsutil

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The test binary runs itself again as another process; roleVariable tells it its part
// and pathVariable the lock file.
const (
	roleVariable = "FSUTIL_TEST_ROLE"
	pathVariable = "FSUTIL_TEST_PATH"
)

// child is a command that runs this binary in the given role, with the path if it
// needs one.
func child(role, path string, arguments ...string) *exec.Cmd {
	command := exec.Command(os.Args[0], arguments...)
	command.Env = append(os.Environ(), roleVariable+"="+role, pathVariable+"="+path)
	return command
}

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role == "hold" || role == "try" {
		lockChild(role)
		return
	}
	os.Exit(m.Run())
}

// lockChild is the other process. It says in a line what came of the lock, and as
// "hold" keeps it until its input ends.
func lockChild(role string) {
	_, err := AcquireLock(os.Getenv(pathVariable))
	var locked *LockedError
	switch {
	case errors.As(err, &locked):
		fmt.Printf("result: locked by %d\n", locked.HolderPID)
	case err != nil:
		fmt.Printf("result: %v\n", err)
	default:
		fmt.Println("result: acquired")
	}
	if role == "hold" {
		io.Copy(io.Discard, os.Stdin)
	}
}

// result waits for the child's line.
func result(t *testing.T, output io.Reader) string {
	t.Helper()
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if line, ok := strings.CutPrefix(lines.Text(), "result: "); ok {
			return line
		}
	}
	t.Fatalf("child said nothing: %v", lines.Err())
	return ""
}

// tryElsewhere asks for the lock in another process.
func tryElsewhere(t *testing.T, path string) string {
	t.Helper()
	output, err := child("try", path).Output()
	if err != nil {
		t.Fatalf("child: %v\n%s", err, output)
	}
	return result(t, strings.NewReader(string(output)))
}

// holdElsewhere starts a process that has the lock until it is killed or the test ends.
func holdElsewhere(t *testing.T, path string) *os.Process {
	t.Helper()
	command := child("hold", path)
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		command.Wait()
	})
	if got := result(t, stdout); got != "acquired" {
		t.Fatalf("child: %s", got)
	}
	return command.Process
}

func acquire(t *testing.T, path string) *DirLock {
	t.Helper()
	l, err := AcquireLock(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Release() })
	return l
}

// viaLink is the same file by way of a linked directory.
func viaLink(t *testing.T, path string) string {
	t.Helper()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Dir(path), link); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(link, filepath.Base(path))
}

func wantLocked(t *testing.T, path string, holder int) {
	t.Helper()
	l, err := AcquireLock(path)
	var locked *LockedError
	if !errors.As(err, &locked) {
		if err == nil {
			l.Release()
		}
		t.Fatalf("got %v, want a LockedError", err)
	}
	if locked.HolderPID != holder || locked.Path != path {
		t.Errorf("got %+v, want path %s and holder %d", locked, path, holder)
	}
	for _, part := range []string{path, fmt.Sprint(holder)} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("message does not name %s: %v", part, err)
		}
	}
}

// B-97: two processes on one directory corrupted it, the second perhaps through a link.
func TestB97_SecondProcessIsKeptOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	holder := holdElsewhere(t, path)
	wantLocked(t, path, holder.Pid)
	wantLocked(t, viaLink(t, path), holder.Pid)
}

// B-97, the other way round. The system gives a process a record lock that it has
// already, and takes it away when any descriptor of the file is closed: neither may
// happen through a second attempt in the same process.
func TestB97_SecondOpenInTheProcessIsKeptOutAndHarmless(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l := acquire(t, path)
	link := viaLink(t, path)
	wantLocked(t, path, os.Getpid())
	wantLocked(t, link, os.Getpid())
	want := fmt.Sprintf("locked by %d", os.Getpid())
	if got := tryElsewhere(t, path); got != want {
		t.Errorf("other process after failed attempts here: %s, want %s", got, want)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if got := tryElsewhere(t, link); got != "acquired" {
		t.Errorf("other process after Release: %s", got)
	}
	acquire(t, path)
}

// B-98: a left-over lock file blocked the start after a crash.
func TestB98_LeftOverLockFileStopsNobody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	holder := holdElsewhere(t, path)
	if err := holder.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := acquire(t, path).Release(); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"4242\n", "", "lock", "locked"} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		l := acquire(t, path)
		// Reading the file here would drop the lock, so it is given up first.
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != "lock" {
			t.Errorf("content %q became %q, want lock", content, got)
		}
	}
}

func TestReleaseTwiceIsAnErrorAndHarmless(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first := acquire(t, path)
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	acquire(t, path)
	if err := first.Release(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v, want os.ErrClosed", err)
	}
	wantLocked(t, path, os.Getpid())
	if got, want := tryElsewhere(t, path), fmt.Sprintf("locked by %d", os.Getpid()); got != want {
		t.Errorf("other process: %s, want %s", got, want)
	}
}

func TestLocksOfDifferentDirectoriesAreIndependent(t *testing.T) {
	acquire(t, filepath.Join(t.TempDir(), "lock"))
	acquire(t, filepath.Join(t.TempDir(), "lock"))
}

func TestLockInAMissingDirectoryIsNotALockedError(t *testing.T) {
	_, err := AcquireLock(filepath.Join(t.TempDir(), "missing", "lock"))
	var locked *LockedError
	if !errors.Is(err, os.ErrNotExist) || errors.As(err, &locked) {
		t.Errorf("got %v, want os.ErrNotExist", err)
	}
}

// Whoever only looks must see every owner, take nothing and drop nothing.
func TestCheckLockNamesTheHolderAndLeavesTheLockAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	check := func(holder int) {
		t.Helper()
		err := CheckLock(path)
		var locked *LockedError
		if errors.As(err, &locked) != (holder != 0) || holder != 0 && locked.HolderPID != holder || holder == 0 && err != nil {
			t.Fatalf("got %v, want holder %d (0: none)", err, holder)
		}
	}
	check(0)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("looking made the file: %v", err)
	}
	other := holdElsewhere(t, path)
	check(other.Pid)
	if err := other.Kill(); err != nil {
		t.Fatal(err)
	}
	other.Wait()
	check(0)
	l := acquire(t, path)
	check(os.Getpid())
	if got, err := child("try", path).Output(); err != nil || !strings.Contains(string(got), fmt.Sprintf("locked by %d", os.Getpid())) {
		t.Fatalf("after looking, another process: %s, %v", got, err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	check(0)
}
