package pressure

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"commitlab/engine/fsutil"
)

// smallDisk is a file system of 32 MiB of its own.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=32m"); err != nil {
		t.Skipf("needs to mount a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

func ratioNow(t *testing.T, dir string) float64 {
	t.Helper()
	r, err := ratioOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDiskFillerReachesTheRatioAndGivesBack(t *testing.T) {
	dir := smallDisk(t)
	session, err := parse(t, "disk-filler=85%").Start(t.Context(), Env{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if got := ratioNow(t, dir); got < 0.85 || got > 0.87 {
		t.Errorf("the disk is used to %v, want 0.85", got)
	}
	if left := leftIn(t, dir); len(left) > 0 {
		t.Errorf("its files have names: %q", left)
	}
	reports, err := session.Stop()
	if err != nil || reports[0].Values["ratioReached"] < 0.85 || len(reports[0].Notes) > 0 {
		t.Errorf("report is %+v, %v", reports, err)
	}
	if got := ratioNow(t, dir); got > 0.01 {
		t.Errorf("afterwards the disk is used to %v", got)
	}
	if m := parse(t, "disk-filler=50%").Missing(Env{Dir: dir}); len(m) > 0 {
		t.Errorf("missing: %q, want nothing", m)
	}
}

// Goal: a reserve is kept whatever is asked for, and that is said.
func TestDiskFillerKeepsTheReserve(t *testing.T) {
	dir := smallDisk(t)
	f, err := nameless(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := fsutil.Fallocate(f, 31<<20); err != nil {
		t.Fatal(err)
	}
	if m := parse(t, "disk-filler=90%").Missing(Env{Dir: dir}); len(m) != 1 || !strings.Contains(m[0], "used already") {
		t.Errorf("missing: %q, want that more is used already", m)
	}
	if report := put(t, "disk-filler=90%", Env{Dir: dir}, 0)[0]; report.Values["takenBytes"] != 0 {
		t.Errorf("report is %+v, want nothing taken", report)
	}
	if _, err := parse(t, "page-writer=1MB/s").Start(t.Context(), Env{Dir: dir}); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("page writer on a full disk: %v", err)
	}
}

// Goal: what a killed process took of the disk is free again.
func TestKilledProcessLeavesNoFile(t *testing.T) {
	dir := smallDisk(t)
	cmd := exec.Command("sleep", "60")
	f, err := nameless(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := fsutil.Fallocate(f, 16<<20); err != nil {
		t.Fatal(err)
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	if err := cmd.Start(); err != nil {
		t.Skipf("needs sleep: %v", err)
	}
	f.Close()
	if got := ratioNow(t, dir); got < 0.5 {
		t.Errorf("the disk is used to %v while a process has the file", got)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if got := ratioNow(t, dir); got > 0.01 {
		t.Errorf("the disk is used to %v after the process was killed", got)
	}
}
