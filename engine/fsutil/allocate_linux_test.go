package fsutil

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// B-71: a start was refused because the file system cannot pre-allocate. Whatever errno
// says so must be recognised, so that the caller falls back to zeros; a full disk and a
// bad descriptor must not.
func TestB71_EveryWayToDeclineAllocationIsUnsupported(t *testing.T) {
	original := fallocateCall
	t.Cleanup(func() { fallocateCall = original })
	for errno, want := range map[unix.Errno]bool{
		unix.EOPNOTSUPP: true, unix.ENOSYS: true, unix.EINVAL: true,
		unix.ENOSPC: false, unix.EIO: false, unix.EBADF: false, unix.EFBIG: false,
	} {
		fallocateCall = func(int, uint32, int64, int64) error { return errno }
		f := newFile(t, nil)
		for name, err := range map[string]error{"allocate": Fallocate(f, 100), "punch hole": PunchHole(f, 0, 100)} {
			if !errors.Is(err, errno) || errors.Is(err, errors.ErrUnsupported) != want {
				t.Errorf("%s with %v: got %v, ErrUnsupported should be %v", name, errno, err, want)
			}
		}
		if err := ZeroFill(f, 100, 0); err != nil {
			t.Errorf("the fallback needs no fallocate: %v", err)
		}
	}
}

func TestInterruptedAllocationIsRepeated(t *testing.T) {
	original := fallocateCall
	t.Cleanup(func() { fallocateCall = original })
	calls := 0
	fallocateCall = func(int, uint32, int64, int64) error {
		if calls++; calls < 3 {
			return unix.EINTR
		}
		return nil
	}
	if err := Fallocate(newFile(t, nil), 100); err != nil || calls != 3 {
		t.Errorf("%d calls and %v, want 3 and none", calls, err)
	}
}

// B-67: a file sized by truncation on a full disk let the process die at the first
// store. Real blocks move the failure to the creation of the file.
func TestB67_FullDiskIsAnErrorBeforeMapping(t *testing.T) {
	if os.Getenv(roleVariable) == "" {
		command := child("full disk", "", "-test.run=^"+t.Name()+"$", "-test.v")
		command.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
		output, err := command.CombinedOutput()
		var exit *exec.ExitError
		switch {
		case errors.As(err, &exit):
			t.Fatalf("in the child: %v\n%s", err, output)
		case err != nil:
			t.Skipf("no user namespaces here: %v", err)
		case strings.Contains(string(output), "--- SKIP"):
			t.Skipf("in the child:\n%s", output)
		case !strings.Contains(string(output), "--- PASS: "+t.Name()):
			t.Fatalf("the child ran no test:\n%s", output)
		}
		return
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("cannot mount a tmpfs in a user namespace: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	create := func(name string) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	first, second := create("first"), create("second")
	defer first.Close()
	defer second.Close()
	if err := Fallocate(first, 700<<10); err != nil {
		t.Fatal(err)
	}
	if err := Fallocate(second, 700<<10); !errors.Is(err, unix.ENOSPC) || errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("allocate: got %v, want ENOSPC", err)
	}
	if err := ZeroFill(second, 700<<10, 64<<10); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("zero-fill: got %v, want ENOSPC", err)
	}
	if err := Remove(second.Name()); err != nil {
		t.Fatal(err)
	}
	if usage, err := Usage(dir); err != nil || usage.Total != 1<<20 {
		t.Errorf("usage %+v, %v: want a total of 1 MiB", usage, err)
	}
	if name, err := FileSystem(dir); err != nil || name != "tmpfs" {
		t.Errorf("file system %q, %v", name, err)
	}
}
