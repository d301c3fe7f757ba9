package engine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"commitlab/engine/segment"
	"commitlab/engine/stats"
	"commitlab/engine/storedir"
)

// namespaceVariable tells the test binary that it is the child of inNamespace.
const namespaceVariable = "ENGINE_TEST_NAMESPACE"

// inNamespace runs the test again in a process that is root of a new user and
// mount namespace: free to mount and, unlike real root, bound by RLIMIT_MEMLOCK.
// It reports true in that process and, having seen it succeed, false in this one.
func inNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(namespaceVariable) != "" {
		return true
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), namespaceVariable+"=1")
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

// mountMemory mounts a file system of its own that holds size.
func mountMemory(t *testing.T, size string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("cannot mount a tmpfs in a user namespace: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// fill takes all the space that is left, but for keep bytes, and returns the
// file that takes it.
func fill(t *testing.T, dir string, keep int64) (path string) {
	t.Helper()
	path = filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 64<<10)
	var size int64
	for err == nil {
		var n int
		n, err = f.Write(block)
		size += int64(n)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	if err := f.Truncate(max(0, size-keep)); err != nil {
		t.Fatal(err)
	}
	return path
}

// B-56, B-67, B-70: on a full disk the process died of a bus error, or waited
// for space that nobody would free. A file system of 16 MiB fills while messages
// are put: each further put says that the disk is full, reads go on, and when
// space returns puts work again.
func TestB56_B67_B70_FullDiskIsAnErrorAndHeals(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	for _, allocate := range []segment.Allocation{segment.Fallocate, segment.ZeroFill, segment.Sparse} {
		for name, o := range map[string]Options{
			"async":              {},
			"sync":               {Flush: FlushSync, SyncPath: segment.SyncMsync},
			"async pwrite":       {SyncPath: segment.SyncPwrite},
			"sync pwrite":        {Flush: FlushSync},
			"preallocate=off":    {Preallocate: Off},
			"warmUp":             {WarmUp: segment.WarmUpTouch, Populate: segment.PopulateNone},
			"file":               {Populate: segment.PopulateFile, MemoryLock: segment.LockFile},
			"spin populate=none": {AppendLock: LockSpin, Populate: segment.PopulateNone},
		} {
			t.Run(string(allocate)+" "+name, func(t *testing.T) {
				dir := mountMemory(t, "16m")
				o.Allocate, o.CommitLogFileBytes, o.TransientBufferBytes = allocate, 1<<20, 1<<20
				s := openUnchecked(t, filepath.Join(dir, "store"), small(o))
				first := newMessage("t", 0, "first")
				p, err := s.Put(first)
				if err != nil {
					t.Fatal(err)
				}
				all := []stored{asStored(first, p)}
				// Filling takes all space for a moment: no file may be made then.
				for o.Preallocate != Off && !s.Snapshot().CommitLog.Prepared {
					time.Sleep(time.Millisecond)
				}
				fillerPath := fill(t, dir, 5<<20)

				for i := 0; err == nil; i++ {
					if i > 3000 {
						t.Fatal("3000 messages of 10 kB fit 16 MiB")
					}
					m := newMessage("t", 0, text(body(i), 10_000))
					var p PutResult
					if p, err = s.Put(m); p.Size > 0 {
						all = append(all, asStored(m, p))
					}
				}
				if len(all) < 100 {
					t.Errorf("full after %d messages: %v", len(all), err)
				}
				for i := range 20 {
					m := newMessage("t", 0, text("beyond", 10_000))
					p, err := s.Put(m)
					if p.Size > 0 {
						all = append(all, asStored(m, p))
					}
					if !errors.Is(err, ErrDiskFull) {
						t.Fatalf("put %d on a full disk: got %v, want ErrDiskFull", i, err)
					}
				}
				for _, r := range all[:100] {
					if got := read(t, s, r.offset); got != r {
						t.Fatalf("on a full disk: at %d: got %+v", r.offset, got)
					}
				}
				if err := s.Snapshot().CommitLog.CheckWatermarks(); err != nil {
					t.Error(err)
				}
				if err := os.Remove(fillerPath); err != nil {
					t.Fatal(err)
				}
				m := newMessage("t", 0, text("after", 10_000))
				p, err = s.Put(m)
				for deadline := time.Now().Add(20 * time.Second); errors.Is(err, ErrDiskFull) && time.Now().Before(deadline); p, err = s.Put(m) {
					time.Sleep(10 * time.Millisecond) // the next attempt to make a file is due
				}
				if err != nil {
					t.Fatalf("put after space returned: %v", err)
				}
				all = append(all, asStored(m, p))
				if err := s.Flush(); err != nil {
					t.Fatalf("flush after space returned: %v", err)
				}
				if got := scan(t, s); len(got) != len(all) {
					t.Errorf("%d records, want %d", len(got), len(all))
				}
				audit(t, s)
			})
		}
	}
}

// B-56 at the end of a sparse file: what finds no block is the blank record. The
// next file, already made, must not be left behind: no later roll could make it.
func TestB56_BlankRecordWithoutABlockIsAnErrorAndHeals(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	dir := mountMemory(t, "2m")
	const page = 4096
	s := openUnchecked(t, filepath.Join(dir, "store"), small(Options{
		CommitLogFileBytes: 16 * page, Allocate: segment.Sparse, Populate: segment.PopulateNone, FlushIntervalMs: 1 << 30,
	}))
	m := newMessage("t", 0, text("three pages", 3*page-overhead(t, "t")))
	for range 5 { // the last page of the file stays a hole
		put(t, s, m)
	}
	fillerPath := fill(t, dir, 0)
	for range 3 {
		if _, err := s.Put(m); !errors.Is(err, ErrDiskFull) {
			t.Fatalf("got %v, want ErrDiskFull", err)
		}
	}
	if err := os.Remove(fillerPath); err != nil {
		t.Fatal(err)
	}
	if p := put(t, s, m); p.PhysicalOffset != 16*page || p.QueueOffset != 5 {
		t.Errorf("after space returned: %+v, want the start of the second file", p)
	}
	audit(t, s)
}

// countingDisk is the disk of the system, and counts the files that are to get blocks.
type countingDisk struct {
	segment.OSDisk
	allocations atomic.Int64
}

func (d *countingDisk) Fallocate(f *os.File, size int64) error {
	d.allocations.Add(1)
	return d.OSDisk.Fallocate(f, size)
}

// B-70: writers on a full disk are answered each time, none waits. Those who come back
// every 10 ms find nobody who has tried on meanwhile: not more attempts to make a file
// than puts, no goroutine more, and the processor idle.
func TestB70_ManyWritersOnAFullDiskAreAllAnswered(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	const writers, puts = 4, 60
	dir := mountMemory(t, "16m")
	disk := &countingDisk{}
	o := small(Options{CommitLogFileBytes: 1 << 20})
	o.Disk = disk
	s := openUnchecked(t, filepath.Join(dir, "store"), o)
	fillerPath := fill(t, dir, 2<<20)
	refusals := func(count int, pause time.Duration) (goroutines int64) {
		var writing sync.WaitGroup
		var most stats.Max
		for range writers {
			writing.Go(func() {
				for refused := 0; refused < count; time.Sleep(pause) {
					_, err := s.Put(newMessage("t", 0, text("x", 5000)))
					if err == nil {
						continue
					}
					if refused++; !errors.Is(err, ErrDiskFull) {
						t.Errorf("got %v, want ErrDiskFull", err)
						return
					}
					most.Raise(int64(runtime.NumGoroutine()))
				}
			})
		}
		writing.Wait()
		return most.Load()
	}
	refusals(200, 0)
	idle, used, began, made := runtime.NumGoroutine(), processorTime(t), time.Now(), disk.allocations.Load()
	most := refusals(puts, 10*time.Millisecond)
	if limit := int64(idle + 2*writers); most > limit {
		t.Errorf("%d goroutines beside %d writers, %d without", most, writers, idle)
	}
	if n := disk.allocations.Load() - made; n > writers*puts {
		t.Errorf("%d attempts to make a file in %d puts", n, writers*puts)
	}
	if used, passed := processorTime(t)-used, time.Since(began); used > passed/2 {
		t.Errorf("%v of a processor were used in %v of refusals", used, passed)
	}
	if err := os.Remove(fillerPath); err != nil {
		t.Fatal(err)
	}
	audit(t, s)
}

// B-76: one page under a mapping that could not be read killed the process. A
// log file is cut from outside: reads and appends there are errors, all else
// goes on.
func TestB76_FileCutFromOutsideIsAnError(t *testing.T) {
	for _, path := range syncPaths {
		for _, flush := range []string{FlushAsync, FlushSync} {
			t.Run(flush+" "+string(path), func(t *testing.T) {
				const size = 64 << 10
				s := openUnchecked(t, scratch(t), small(Options{
					CommitLogFileBytes: size, SyncPath: path, Flush: flush, FlushIntervalMs: 1 << 30, CommitIntervalMs: 1 << 30,
				}))
				var all []stored
				for i := range 70 { // 32 of them to a file
					m := newMessage("t", 0, text(body(i), 1900))
					all = append(all, asStored(m, put(t, s, m)))
				}
				if err := s.Flush(); err != nil {
					t.Fatal(err)
				}
				cut := func(index int64) {
					path := filepath.Join(storedir.Layout(s.dir).CommitLog(), segment.FileName(index*size))
					if err := os.Truncate(path, size/2); err != nil {
						t.Fatal(err)
					}
				}
				cut(1)
				for _, r := range all {
					file, pos := r.offset/size, r.offset%size
					lost := file == 1 && pos+int64(r.size) > size/2
					v, err := s.At(r.offset)
					switch {
					case err == nil && lost:
						t.Errorf("record at %d of file %d was read, though it is cut off", pos, file)
					case err != nil && !lost:
						t.Errorf("record at %d of file %d: %v", pos, file, err)
					}
					if err == nil {
						v.Release()
					}
				}
				// The tail is another file: appends go on there, until it is cut too.
				put(t, s, newMessage("t", 0, "the tail is whole"))
				tail := s.log.Appended()/size*size + size/2
				for s.log.Appended() < tail {
					put(t, s, newMessage("t", 0, text("up to the cut", 1900)))
				}
				if err := s.Flush(); err != nil {
					t.Fatal(err)
				}
				cut(2)
				refused := 0
				for range 5 {
					if _, err := s.Put(newMessage("t", 0, text("behind the cut", 1900))); err != nil {
						refused++
						if !strings.Contains(err.Error(), "cut from outside") && !errors.Is(err, ErrSyncFailed) {
							t.Errorf("put into the cut tail: %v", err)
						}
					}
				}
				if pooled := path == segment.SyncPwrite && flush == FlushAsync; !pooled && refused != 5 {
					t.Errorf("%d of 5 puts into the cut tail were refused", refused)
				}
				if err := s.Flush(); err == nil && path == segment.SyncPwrite {
					t.Error("flush of a cut tail: no error")
				}
				if got := read(t, s, all[0].offset); got != all[0] {
					t.Errorf("first record: got %+v", got)
				}
			})
		}
	}
}

// B-59: a lock that failed was reported without cause. The store goes on
// unlocked, with one warning that names errno and limit, and says so in its
// snapshot.
func TestB59_LockBeyondTheLimitIsOneWarning(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: 64 << 10, Max: 64 << 10}); err != nil {
		t.Fatal(err)
	}
	for _, lock := range []segment.MemoryLock{segment.LockFile, segment.LockOnFault} {
		log := &warnings{}
		o := small(Options{CommitLogFileBytes: 256 << 10, MemoryLock: lock})
		o.Logger = log.logger()
		s := openStore(t, t.TempDir(), o)
		for s.Snapshot().CommitLog.Rolls < 5 {
			put(t, s, newMessage("t", 0, text("x", 10_000)))
		}
		if n := log.count("mlock", "cannot allocate memory", "RLIMIT_MEMLOCK 65536"); n != 1 {
			t.Errorf("%s: %d warnings about the lock, want 1:\n%s", lock, n, log)
		}
		snap := s.Snapshot()
		if got := snap.SystemCalls["mlock"]; !strings.HasPrefix(got, "failed: ") || !strings.Contains(got, "RLIMIT_MEMLOCK 65536") {
			t.Errorf("%s: snapshot says %q", lock, got)
		}
		if got := snap.SystemCallFailures["mlock"]; got < 5 {
			t.Errorf("%s: %d failures counted, want one a file", lock, got)
		}
	}
}

// B-58: pages were locked and never unlocked. Whatever the way of appending, not
// more than the tail and the file prepared after it is locked, and the transient
// buffers, if there are any.
func TestB58_OnlyTailAndNextFileStayLocked(t *testing.T) {
	const size = 64 << 10
	for _, o := range []Options{
		{Preallocate: On, Flush: FlushAsync}, {Preallocate: Off, Flush: FlushAsync}, {Preallocate: On, Flush: FlushSync}, {Preallocate: Off, Flush: FlushSync},
	} {
		for _, path := range []segment.SyncPath{segment.SyncMsync, segment.SyncPwrite} {
			t.Run("preallocate="+o.Preallocate+" flush="+o.Flush+" syncPath="+string(path), func(t *testing.T) {
				before := lockedBytes(t)
				o.CommitLogFileBytes, o.MemoryLock, o.WarmUp, o.SyncPath = size, segment.LockFile, segment.WarmUpTouch, path
				s := openStore(t, t.TempDir(), small(o))
				for i := 0; s.Snapshot().CommitLog.Rolls < 20; i++ {
					put(t, s, newMessage("t", 0, text(body(i), 10_000)))
				}
				if outcome := s.Snapshot().SystemCalls["mlock"]; outcome != "ok" {
					t.Skipf("cannot lock memory here: %s", outcome)
				}
				most := int64(2 * size)
				if path == segment.SyncPwrite {
					most += int64(s.opt.TransientBuffers) * s.opt.TransientBufferBytes
				}
				for deadline := time.Now().Add(20 * time.Second); lockedBytes(t)-before > most; time.Sleep(time.Millisecond) {
					if time.Now().After(deadline) { // files that were rolled are unlocked in the background
						t.Fatalf("%d bytes are locked, want at most %d", lockedBytes(t)-before, most)
					}
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if got := lockedBytes(t) - before; got != 0 {
					t.Errorf("%d bytes are locked after Close", got)
				}
			})
		}
	}
}

// lockedBytes is VmLck of this process.
func lockedBytes(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skipf("needs /proc: %v", err)
	}
	for line := range strings.Lines(string(b)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "VmLck: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	t.Fatal("no VmLck in /proc/self/status")
	return 0
}
