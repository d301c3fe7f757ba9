package engine

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"commitlab/engine/message"
	"commitlab/engine/segment"
	"commitlab/engine/storedir"
)

// What cleaning does with the files of a store on disk: their times, names that
// cannot be removed, and how many wait to be taken down. What goes when is decided in
// cleanplan_test.go.

// thresholds sets limits below which the disk of a test is.
func thresholds(o Options, disk *fakeDisk) Options {
	o.DiskUsage = disk.usage
	o.DiskMaxUsedPercent, o.DiskCleanForciblyPercent, o.DiskWarningPercent = 75, 85, 90
	return o
}

// touch sets the times of all log files of a store.
func touch(t testing.TB, dir string, at time.Time) {
	t.Helper()
	for _, name := range names(t, storedir.Layout(dir).CommitLog()) {
		if err := os.Chtimes(filepath.Join(storedir.Layout(dir).CommitLog(), name), at, at); err != nil {
			t.Fatal(err)
		}
	}
}

// fileTime is the time of the first log file of a store.
func fileTime(t testing.TB, s *Store) time.Time {
	t.Helper()
	info, err := os.Stat(filepath.Join(s.dir.CommitLog(), segment.FileName(s.log.Min())))
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime()
}

// B-45: the time of a file is wrong where stores through a mapping do not change it,
// and after a copy. Files on a disk that is too full are set 100 h back and are not
// touched, neither by Open nor by a pass, for their records are young; set to a minute
// ago they go all the same 100 h later, for their records are old.
func TestB45_TimesOfRealFilesDecideNothing(t *testing.T) {
	s, _ := retiring(t, Options{Dispatch: On}, 6)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-100 * hour)
	touch(t, string(s.dir), old)
	s = openUnchecked(t, string(s.dir), thresholds(s.opt, &fakeDisk{percent: 80}))
	if got := fileTime(t, s); got.Unix() != old.Unix() {
		t.Fatalf("the first file is of %v, was set to %v", got, old)
	}
	if s.log.Min() != 0 {
		t.Errorf("Open deleted young records: the log begins at %d", s.log.Min())
	}
	if n := pass(t, s, time.Now()); n != 0 {
		t.Errorf("%d files of young records went", n)
	}
	later := time.Now().Add(100 * hour)
	touch(t, string(s.dir), later.Add(-time.Minute))
	if n, want := pass(t, s, later), int64(5); n != want {
		t.Errorf("%d files of old records went, want %d", n, want)
	}
}

// storedAt writes another store time to the first record of a log file of a store
// that is not open.
func storedAt(t testing.TB, dir string, fileBytes, base, ms int64) {
	t.Helper()
	const at = 56 // of a record with IPv4 hosts
	patch(t, dir, fileBytes, base, func(b []byte) {
		binary.BigEndian.PutUint64(b[at:], uint64(ms))
		if rec, err := message.Decode(b); err != nil || rec.StoreTimestamp != ms {
			t.Fatalf("the record at %d was stored at %d, %v; want %d", base, rec.StoreTimestamp, err, ms)
		}
	})
}

// B-91: one store time far in the future stopped deletion for ever. In a real store
// with such records a file goes by the next time that can be believed, else by the
// time of the file, and is said to be doubtful, once each.
func TestB91_RealFilesFromTheFutureGoOnTime(t *testing.T) {
	const size = 16 << 10
	s, _ := retiring(t, Options{CommitLogFileBytes: size, FileReservedMs: hour.Milliseconds()}, 8)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	dir, future := string(s.dir), time.Now().Add(10*365*24*hour).UnixMilli()
	for _, file := range []int64{2, 5, 6, 7} { // behind file 4 nothing can be believed
		storedAt(t, dir, size, file*size, future)
	}
	log := &warnings{}
	o := thresholds(s.opt, &fakeDisk{percent: 80})
	o.Logger = log.logger()
	s = openUnchecked(t, dir, o)
	doubts := func(file int64) int {
		return log.count("is doubtful", filepath.Join(s.dir.CommitLog(), segment.FileName(file*size)))
	}
	later := time.Now().Add(2 * hour)
	touch(t, dir, later)
	if n := pass(t, s, later); n != 4 {
		t.Errorf("%d files went, want those before file 4, whose own time is young", n)
	}
	if n := pass(t, s, later.Add(30*time.Minute)); n != 0 {
		t.Errorf("%d files went before their time", n)
	}
	if n := pass(t, s, later.Add(61*time.Minute)); n != 3 {
		t.Errorf("%d files went by their own time, want all but the last", n)
	}
	for file, want := range []int{0, 1, 0, 0, 1, 1, 1, 0} {
		if got := doubts(int64(file)); got != want {
			t.Errorf("file %d was said to be doubtful %d times, want %d:\n%s", file, got, want, log)
		}
	}
}

// stubbornDisk is the disk of the system, on which the name of the first log file
// cannot be removed while it is stuck.
type stubbornDisk struct {
	segment.OSDisk
	stuck atomic.Bool
}

func (d *stubbornDisk) Remove(path string) error {
	if d.stuck.Load() && filepath.Base(path) == segment.FileName(0) && filepath.Base(filepath.Dir(path)) == "commitlog" {
		return &os.PathError{Op: "remove", Path: path, Err: os.ErrPermission}
	}
	return d.OSDisk.Remove(path)
}

// B-94: a store did not start on a disk full of expired data. One whose expired file
// cannot be deleted opens as well, with a warning: nothing else needs the file gone. It
// is no part of the log, and goes when it can.
func TestB94_AFileThatCannotBeDeletedKeepsNoStoreShut(t *testing.T) {
	for _, killed := range []bool{false, true} {
		s, _ := retiring(t, Options{Dispatch: On}, 6)
		dir, size := string(s.dir), s.opt.CommitLogFileBytes
		if killed {
			dir = kill(t, s)
		} else if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		disk, log := &stubbornDisk{}, &warnings{}
		o := thresholds(s.opt, &fakeDisk{percent: 80})
		o.FileReservedMs, o.Disk, o.Logger = 1, disk, log.logger()
		time.Sleep(5 * time.Millisecond)
		disk.stuck.Store(true)
		again, err := Open(dir, o)
		if err != nil {
			t.Fatalf("killed %v: open: %v", killed, err)
		}
		t.Cleanup(func() { again.Close() })
		if n := log.count("keeps an expired file", "80", os.ErrPermission.Error(), segment.FileName(0)); n != 1 {
			t.Errorf("killed %v: said %d times, want once:\n%s", killed, n, log)
		}
		if again.log.Min() != size {
			t.Errorf("killed %v: the log begins at %d, want %d", killed, again.log.Min(), size)
		}
		if _, err := again.At(0); !errors.Is(err, ErrNotFound) {
			t.Errorf("killed %v: read of the file that is on its way out: %v", killed, err)
		}
		put(t, again, newMessage("t", 0, "writable"))
		dispatched(t, again)
		disk.stuck.Store(false)
		pass(t, again, time.Now().Add(10*time.Minute))
		if left := again.log.End() - again.log.Min(); left != size {
			t.Errorf("killed %v: %d files are left, want one", killed, left/size)
		}
		checkNames(t, again)
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		verified(t, again)
	}
}

// B-81: files that were unmapped in the background could pile up, each with a mapping
// and a descriptor. While as many wait as may, no more are deleted, however full the
// disk is; when they are taken down deletion goes on to the end.
func TestB81_FilesThatWaitToBeTakenDownAreBounded(t *testing.T) {
	const files = mostBacklog + 10
	goOn := make(chan struct{})
	release := sync.OnceFunc(func() { close(goOn) })
	defer release()
	disk := &fakeDisk{percent: 50}
	o := thresholds(Options{CommitLogFileBytes: 4 << 10, FileReservedMs: 1, DeleteFileBatch: files}, disk)
	o.OnDestroy = func(step segment.DestroyStep) {
		if step.Name == segment.StepUnmap { // by the reaper
			<-goOn
		}
	}
	s, _ := retiring(t, o, files)
	time.Sleep(5 * time.Millisecond)
	disk.set(99, nil)
	for i, want := range []int64{mostBacklog, 0} {
		if n := pass(t, s, time.Now()); n != want {
			t.Errorf("pass %d: %d files went, want %d", i, n, want)
		}
	}
	if d, err := s.DeleteExpired(); d.Files != 0 || err != nil {
		t.Errorf("by hand: %+v, %v", d, err)
	}
	if n := s.Snapshot().Retention.ReaperBacklog; n != mostBacklog {
		t.Errorf("%d files wait, want %d", n, mostBacklog)
	}
	release()
	eventually(t, "all but the last are gone", func() bool {
		pass(t, s, time.Now())
		return s.log.End()-s.log.Min() == s.opt.CommitLogFileBytes
	})
}
