package mmap

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

// childVariable tells the test binary that it is the child of inNamespace.
const childVariable = "MMAP_TEST_CHILD"

// inNamespace runs the test again in a process of its own, root of a new user and
// mount namespace: free to mount and, unlike real root, bound by RLIMIT_MEMLOCK. It
// reports true in that process and, having seen it succeed, false in this one.
func inNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(childVariable) != "" {
		return true
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), childVariable+"=1")
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	output, err := child.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Skipf("no user namespaces here: %v", err)
	}
	if err != nil {
		t.Fatalf("in the child: %v\n%s", err, output)
	}
	if strings.Contains(string(output), "--- SKIP") {
		t.Skipf("in the child:\n%s", output)
	}
	if !strings.Contains(string(output), "--- PASS: "+t.Name()) {
		t.Fatalf("the child ran no test:\n%s", output)
	}
	return false
}

// B-56: a store through a mapping to a full file system ended the process. Here the
// file is sparse, as it must not be; with a guard even that is an error.
func TestB56_StoreToAFullDiskIsAnError(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("cannot mount a tmpfs in a user namespace: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	f, err := os.Create(filepath.Join(dir, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const size = 4 << 20
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	r, err := OS.Map(f, size, ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Unmap()
	stored := 0
	err = Guard(func() error {
		for ; stored < size; stored += int(pageSize) {
			r.Bytes()[stored] = 1
		}
		return nil
	})
	var fault *FaultError
	if !errors.As(err, &fault) {
		t.Fatalf("stored %d of %d bytes on a disk of 1 MiB: got %v, want a FaultError", stored, size, err)
	}
	if stored == 0 || r.Bytes()[0] != 1 {
		t.Errorf("what was stored before cannot be read")
	}
	if _, err := r.WriteAt([]byte{1}, size-1); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("WriteAt: got %v, want ENOSPC", err)
	}
	if err := r.Populate(0, size, PopulateWrite); err == nil {
		t.Error("Populate succeeded on a full disk")
	}
}

// B-59: a failed lock was reported without cause.
func TestB59_LockErrorNamesErrnoAndLimit(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	const limit = 64 << 10
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		t.Fatal(err)
	}
	r := newAnonymous(t, 1<<20)
	if err := r.Lock(0, limit/2, false); err != nil {
		t.Skipf("cannot lock within the limit: %v", err)
	}
	for _, onFault := range []bool{false, true} {
		err := r.Lock(0, 1<<20, onFault)
		if !errors.Is(err, unix.ENOMEM) {
			t.Errorf("onFault=%v: got %v, want ENOMEM", onFault, err)
			continue
		}
		if !strings.Contains(err.Error(), "RLIMIT_MEMLOCK 65536 bytes") {
			t.Errorf("onFault=%v: error does not name the limit: %v", onFault, err)
		}
	}
	r.Bytes()[1<<20-1] = 1 // the memory is as good as before
	if err := r.Unlock(0, limit/2); err != nil {
		t.Error(err)
	}
}
