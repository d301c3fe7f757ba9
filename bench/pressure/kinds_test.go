package pressure

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"commitlab/engine/fsutil"
)

// records is a holder that counts.
type records struct {
	held, released, most atomic.Int64
	refuse               atomic.Bool
	revoke               bool
}

func (r *records) Hold() (Held, error) {
	if r.refuse.Load() {
		return nil, errors.New("nothing there")
	}
	r.held.Add(1)
	raise(&r.most, r.held.Load()-r.released.Load())
	return heldRecord{r}, nil
}

type heldRecord struct{ of *records }

func (h heldRecord) Revoked() bool { return h.of.revoke }
func (h heldRecord) Release()      { h.of.released.Add(1) }

func TestHeldReadersHoldAndRelease(t *testing.T) {
	r := &records{revoke: true}
	report := put(t, "held-readers=4/20ms", Env{Holder: r}, 100*time.Millisecond)[0]
	if held := r.held.Load(); held != r.released.Load() || r.most.Load() != 4 || report.Values["holds"] != float64(held) || report.Values["mostHeld"] != 4 {
		t.Errorf("held %d, released %d, most %d; report %+v", held, r.released.Load(), r.most.Load(), report)
	}
	if report.Values["revoked"] != report.Values["holds"] || len(report.Notes) > 0 {
		t.Errorf("report is %+v, want every hold revoked and no note", report)
	}

	r = &records{}
	r.refuse.Store(true)
	report = put(t, "held-readers=2", Env{Holder: r}, 20*time.Millisecond)[0]
	if report.Values["holds"] != 0 || report.Values["refused"] < 2 || len(report.Notes) != 1 || !strings.Contains(report.Notes[0], "nothing there") {
		t.Errorf("report of refused readers is %+v", report)
	}
	if _, err := parse(t, "held-readers=1").Start(t.Context(), Env{}); !errors.Is(err, errNoHolder) {
		t.Errorf("without a holder: %v", err)
	}
	if m := parse(t, "held-readers=1").Missing(Env{}); len(m) != 1 || !strings.Contains(m[0], "no records") {
		t.Errorf("without a holder is missing: %q", m)
	}
}

func TestPageWriterKeepsItsRateAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	const rate, d = 40e6, 300 * time.Millisecond
	report := put(t, "page-writer=40MB/s", Env{Dir: dir}, d)[0]
	v := report.Values
	if v["writtenBytes"] < writeBlock || v["writtenBytes"] > rate*v["seconds"]+writeBlock {
		t.Errorf("wrote %v bytes in %v s at 40 MB/s", v["writtenBytes"], v["seconds"])
	}
	if got := v["bytesPerSecond"] * v["seconds"]; got < v["writtenBytes"]*0.99 || got > v["writtenBytes"]*1.01 {
		t.Errorf("rate %v over %v s is not what was written: %v", v["bytesPerSecond"], v["seconds"], v["writtenBytes"])
	}
	if left := leftIn(t, dir); len(left) > 0 || !strings.Contains(report.Did, "of 40.0 asked for") {
		t.Errorf("left %q, report %q", left, report.Did)
	}
}

func TestPageWriterDropsItsFile(t *testing.T) {
	dir := t.TempDir()
	f, err := nameless(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := &runningWriter{loop: newLoop(), pageWriter: pageWriter{1 << 30}, file: f, most: 2 * writeBlock}
	r.run(r.write)
	for deadline := time.Now().Add(20 * time.Second); time.Since(r.begun) < 50*time.Millisecond && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
		if info, err := f.Stat(); err != nil || info.Size() > r.most {
			t.Fatalf("the file has %v bytes, %v; want at most %d", info.Size(), err, r.most)
		}
	}
	report, err := r.stop()
	if err != nil || report.Values["drops"] < 1 || report.Values["writtenBytes"] <= report.Values["drops"]*writeBlock {
		t.Errorf("report is %+v, %v; want drops", report, err)
	}
}

func TestBallastIsTakenAndGivenBack(t *testing.T) {
	if _, err := memory(); err != nil {
		t.Skipf("needs to know free memory: %v", err)
	}
	before := resident(t)
	session, err := parse(t, "ballast=96MiB").Start(t.Context(), Env{})
	if err != nil {
		t.Fatal(err)
	}
	if grown := resident(t) - before; grown < 90*mib {
		t.Errorf("the process grew by %d bytes, want the 96 MiB that were asked for", grown)
	}
	reports, err := session.Stop()
	if err != nil || reports[0].Values["takenBytes"] != 96*mib || reports[0].Values["lockedBytes"] != 0 {
		t.Errorf("report is %+v, %v", reports, err)
	}
	if left := resident(t) - before; left > 64*mib {
		t.Errorf("%d bytes are still there", left)
	}
}

// Goal: what was locked is said, whether the process may lock or not.
func TestLockedBallastSaysWhatIsLocked(t *testing.T) {
	if _, err := memory(); err != nil {
		t.Skipf("needs to know free memory: %v", err)
	}
	report := put(t, "ballast=8MiB/locked", Env{}, 0)[0]
	locked := report.Values["lockedBytes"]
	if locked != 8*mib && (locked != 0 || len(report.Notes) != 1 || !strings.Contains(report.Notes[0], "not locked")) {
		t.Errorf("report is %+v", report)
	}
}

func TestBallastLeavesTheReserve(t *testing.T) {
	m, err := memory()
	if err != nil {
		t.Skipf("needs to know free memory: %v", err)
	}
	set := parse(t, "ballast=1000000GiB")
	if got := set.Missing(Env{}); len(got) != 1 || !strings.Contains(got[0], "will be taken") {
		t.Errorf("missing: %q, want the amount that will be taken", got)
	}
	for _, c := range []struct{ available, total, want int64 }{
		{10 * gib, 20 * gib, 8 * gib}, {2 * gib, 4 * gib, gib}, {gib / 2, 4 * gib, 0},
	} {
		if got := memoryRoom(c.available, c.total); got != c.want {
			t.Errorf("of %s available and %s in all %s may be taken, want %s", size(c.available), size(c.total), size(got), size(c.want))
		}
	}
	if m.available <= 0 || m.total < m.available {
		t.Errorf("memory is %+v", m)
	}
}

// resident is the resident size of the process in bytes.
func resident(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skipf("needs /proc/self/statm: %v", err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

func TestFsyncStormCountsItsSyncs(t *testing.T) {
	dir := t.TempDir()
	v := put(t, "fsync-storm=100/s", Env{Dir: dir}, 200*time.Millisecond)[0].Values
	if v["syncs"] < 1 || v["syncs"] > 100*v["seconds"]+1 || v["maxMs"] < v["meanMs"] {
		t.Errorf("values are %v, want up to 100 syncs a second", v)
	}
	if v = put(t, "fsync-storm=max", Env{Dir: dir}, 50*time.Millisecond)[0].Values; v["syncs"] < 1 {
		t.Errorf("values are %v, want at least one sync", v)
	}
	if left := leftIn(t, dir); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestCPUHogComputesAndEnds(t *testing.T) {
	set := parse(t, "cpu-hog=2")
	if m := set.Missing(Env{}); len(m) > 0 {
		t.Skip(m[0])
	}
	session, err := set.Start(t.Context(), Env{})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	reports, err := session.Stop()
	if err != nil {
		t.Fatal(err)
	}
	v := reports[0].Values
	if v["processes"] != 2 || v["cpuSeconds"] <= 0 || v["cpuSeconds"] > 2*v["seconds"]+0.1 || len(reports[0].Notes) > 0 {
		t.Errorf("report is %+v", reports[0])
	}
}

// Goal: a hog does not outlive a process that was killed. Method: one that belongs
// to another process than this.
func TestCPUHogEndsWithItsOwner(t *testing.T) {
	if m := (cpuHog{}).missing(Env{}); m != "" {
		t.Skip(m)
	}
	owner := exec.Command("sleep", "60")
	if err := owner.Start(); err != nil {
		t.Skipf("needs sleep: %v", err)
	}
	hog := hogOf(owner.Process.Pid)
	if err := hog.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- hog.Wait() }()
	select {
	case err := <-ended:
		t.Errorf("the hog has ended before its owner: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	owner.Process.Kill()
	owner.Wait()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the hog has outlived its owner")
		hog.Process.Kill()
	}
}

func TestToRatioIsWhatTheRatioNeeds(t *testing.T) {
	u := fsutil.DiskUsage{Total: 1000 * mib, Free: 600 * mib, Available: 550 * mib} // 50 MiB for root
	for ratio, want := range map[float64]int64{0.5: 75 * mib, 0.9: 455 * mib, 0.4: 0} {
		if got := toRatio(u, ratio); got != want {
			t.Errorf("to %.0f %%: %s, want %s", 100*ratio, size(got), size(want))
		}
	}
	if got := diskReserve(u); got != 20*mib {
		t.Errorf("reserve is %s, want a fiftieth", size(got))
	}
	if got := diskRoom(fsutil.DiskUsage{Total: 1000 * mib, Free: 10 * mib, Available: 10 * mib}); got != 0 {
		t.Errorf("room is %s, want none: all of it is reserve", size(got))
	}
}
