package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"commitlab/engine/fsutil"
	"commitlab/engine/segment"
)

// percentUsed is how full the disk of dir is.
func percentUsed(t testing.TB, dir string) int {
	t.Helper()
	usage, err := fsutil.Usage(dir)
	if err != nil {
		t.Fatal(err)
	}
	ratio, err := usage.Ratio()
	if err != nil {
		t.Fatal(err)
	}
	return int(ratio*100 + 0.5)
}

// fillTo makes the disk of dir so full, with a file that grows, and returns the file.
func fillTo(t testing.TB, dir string, percent int) (path string) {
	t.Helper()
	path = filepath.Join(dir, "filler")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 64<<10); percentUsed(t, dir) < percent; {
		if _, err := f.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// Goal: on a real file system of 64 MiB files are reclaimed, deleted by force and
// puts refused at the ratios that are set, and all of it heals; the file that is
// written is never touched, and what has not expired only goes by force.
func TestThresholdsOnARealDisk(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	for _, way := range []segment.Destruction{segment.DestroyInline, segment.DestroyBackground, segment.DestroyStepwise, segment.DestroyPunch, segment.DestroyRecycle} {
		t.Run(string(way), func(t *testing.T) {
			dir := mountMemory(t, "64m")
			log := &lines{}
			const size = 1 << 20
			o := small(Options{
				CommitLogFileBytes: size, Dispatch: On, Destroy: way, DestroyBytesPerSecond: 1 << 30,
				CleanIntervalMs: 5, DeleteFileIntervalMs: 2, FileReservedMs: 1 << 40, DeleteWhen: fmt.Sprint((time.Now().Hour() + 12) % 24),
				DiskMaxUsedPercent: 75, DiskCleanForciblyPercent: 85, DiskWarningPercent: 90,
			})
			o.Logger = log.logger()
			s := openUnchecked(t, filepath.Join(dir, "store"), o)
			for i := 0; s.log.End() < 20*size; i++ {
				put(t, s, newMessage("t", int32(i%4), text(body(i), 10_000)))
			}
			dispatched(t, s)
			quiet := func() { time.Sleep(60 * time.Millisecond) } // ten looks and more

			fillTo(t, dir, 83) // reclaiming finds nothing that has expired
			if quiet(); s.log.Min() != 0 {
				t.Fatalf("at %d %% files went that had not expired", percentUsed(t, dir))
			}
			put(t, s, newMessage("t", 0, "accepted"))

			filler := fillTo(t, dir, 88)
			eventually(t, "the disk is at the forcing limit", func() bool { return percentUsed(t, dir) <= 85 })
			quiet()
			after := s.Snapshot()
			if got := log.count("deleted by force", "diskCleanForciblyPercent is 85"); after.Retention.ForcedFiles == 0 || int64(got) != after.Retention.ForcedFiles {
				t.Errorf("%d files went by force, %d were said", after.Retention.ForcedFiles, got)
			}
			if used := percentUsed(t, dir); used < 80 {
				t.Errorf("the disk is down to %d %%: more went than had to", used)
			}
			put(t, s, newMessage("t", 0, "accepted"))

			tail := s.log.End() - size
			eventually(t, "only the file that is written is left", func() bool {
				fillTo(t, dir, 97) // again and again, as fast as files go
				return s.log.Min() == s.log.End()-size
			})
			fillTo(t, dir, 92)
			eventually(t, "puts are refused", func() bool {
				_, err := s.Put(newMessage("t", 0, "x"))
				return errors.Is(err, ErrDiskFull)
			})
			if s.log.End() < tail+size {
				t.Errorf("the file that is written is gone: the log ends at %d", s.log.End())
			}
			if got := scan(t, s); len(got) == 0 {
				t.Error("nothing is left in the file that is written")
			}
			if err := os.Remove(filler); err != nil {
				t.Fatal(err)
			}
			eventually(t, "puts are accepted", func() bool {
				_, err := s.Put(newMessage("t", 0, "x"))
				return err == nil
			})
			dispatched(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			verified(t, s)
		})
	}
}

// Expired files go above the reclaiming limit, at any hour, and no longer once the
// disk is below.
func TestReclaimingOnARealDisk(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	dir := mountMemory(t, "64m")
	const size = 1 << 20
	s := openUnchecked(t, filepath.Join(dir, "store"), small(Options{
		CommitLogFileBytes: size, CleanIntervalMs: 5, DeleteFileIntervalMs: 2, FileReservedMs: 1,
		DeleteWhen:         fmt.Sprint((time.Now().Hour() + 12) % 24),
		DiskMaxUsedPercent: 75, DiskCleanForciblyPercent: 85, DiskWarningPercent: 90, CleanFileForcibly: Off, Destroy: segment.DestroyInline,
	}))
	for i := 0; s.log.End() < 20*size; i++ {
		put(t, s, newMessage("t", 0, text(body(i), 10_000)))
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if time.Sleep(50 * time.Millisecond); s.log.Min() != 0 {
		t.Fatalf("at %d %% files went, not in their hour", percentUsed(t, dir))
	}
	fillTo(t, dir, 80)
	eventually(t, "the disk is at its limit", func() bool { return percentUsed(t, dir) <= 75 })
	time.Sleep(50 * time.Millisecond)
	if used := percentUsed(t, dir); used < 72 || s.Snapshot().Retention.ForcedFiles != 0 {
		t.Errorf("the disk is at %d %%, %d files went by force", used, s.Snapshot().Retention.ForcedFiles)
	}
}

// B-94: a store whose disk was full of expired data wrote before it cleaned when it
// was started, and so was never started again.
func TestB94_FullDiskOfExpiredDataOpens(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	for _, killed := range []bool{false, true} {
		dir := mountMemory(t, "16m")
		const size = 1 << 20
		o := small(Options{CommitLogFileBytes: size, Dispatch: On, DeleteWhen: fmt.Sprint((time.Now().Hour() + 12) % 24)})
		s := openUnchecked(t, filepath.Join(dir, "store"), o)
		for i := 0; s.log.End() < 6*size; i++ {
			put(t, s, newMessage("t", int32(i%4), text(body(i), 10_000)))
		}
		dispatched(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if killed {
			if err := s.dir.AbortMarker().Set(); err != nil {
				t.Fatal(err)
			}
		}
		fill(t, dir, 0)
		o.FileReservedMs, o.DiskMaxUsedPercent, o.DiskCleanForciblyPercent, o.DiskWarningPercent = 1, 75, 85, 100
		again, err := Open(string(s.dir), o)
		if err != nil {
			t.Fatalf("killed %v: open: %v", killed, err)
		}
		t.Cleanup(func() { again.Close() })
		if again.log.Min() == 0 {
			t.Errorf("killed %v: nothing went", killed)
		}
		put(t, again, newMessage("t", 0, "writable"))
		dispatched(t, again)
	}
}

// After deletion by force the space of a held file is there at once, not when its
// reader is done.
func TestForcedSpaceIsFreeAtOnce(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	for _, way := range []segment.Destruction{segment.DestroyInline, segment.DestroyBackground, segment.DestroyStepwise, segment.DestroyPunch} {
		dir := mountMemory(t, "64m")
		const size = 8 << 20
		s := openUnchecked(t, filepath.Join(dir, "store"), small(Options{
			CommitLogFileBytes: size, MaxLogBytes: size, Destroy: way, DestroyForceMs: 30, CleanIntervalMs: 5, DeleteFileIntervalMs: 1, Preallocate: Off,
		}))
		view, err := s.At(put(t, s, newMessage("t", 0, "held")).PhysicalOffset)
		if err != nil {
			t.Fatal(err)
		}
		for s.log.End() < 3*size {
			put(t, s, newMessage("t", 0, text("x", 100_000)))
		}
		var stat unix.Statfs_t
		eventually(t, string(way)+": the space of two files is free", func() bool {
			if err := unix.Statfs(dir, &stat); err != nil {
				t.Fatal(err)
			}
			return view.Revoked() && int64(stat.Blocks-stat.Bfree)*stat.Bsize < 2*size
		})
		view.Release()
	}
}
