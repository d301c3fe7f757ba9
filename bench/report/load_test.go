package report

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"commitlab/bench/host"
	"commitlab/bench/result"
)

// Percentiles of parts were averaged: 1000 values of 10 ms and 10 of 2 s gave
// a p95 of 1005 ms.
func TestB126_PercentilesComeFromMergedHistograms(t *testing.T) {
	s := two(2, always(10*time.Millisecond, 2*time.Second), always(time.Millisecond))
	s.ticks = 1
	s.count = func(block, _ int) int { return map[int]int{1: 1000, 2: 10}[block] }
	d := s.load(t).Groups[0].Cells[0].Latency["append.service"]
	for percent, want := range map[float64]time.Duration{95: 10 * time.Millisecond, 99: 10 * time.Millisecond, 99.5: 2 * time.Second} {
		if got := time.Duration(at(d, percent)); got < want || got > want*1001/1000 {
			t.Errorf("p%v of the merged runs is %v, want %v", percent, got, want)
		}
	}
}

// Two runs twenty minutes apart were merged into one of nine operations per
// second: the pause between them was counted in.
func TestB110_PausesBetweenRunsAreInNoRate(t *testing.T) {
	s := two(2, always(time.Millisecond), always(time.Millisecond))
	s.ticks, s.perTick, s.gap = 10, 10, 20*time.Minute
	got := s.load(t).Groups[0].Cells[0].Throughput()
	if got.AchievedPerSecond != 100 || got.OfferedPerSecond != 100 || got.Done != 200 {
		t.Errorf("achieved %v/s of %v/s, %d done; want 100/s of 100/s and 200", got.AchievedPerSecond, got.OfferedPerSecond, got.Done)
	}
}

// The report of a long run read it whole and ran out of memory.
func TestB111_LongRunsAreStreamed(t *testing.T) {
	s := two(1, tail(time.Microsecond, 0.01, time.Millisecond), always(time.Millisecond))
	s.cells = s.cells[:1]
	s.ticks, s.perTick, s.closed = 600, 10, true
	path := s.write(t)
	short := s
	short.ticks, short.perTick = 30, 200
	want := short.load(t).Groups[0].Cells[0].Latency["append.service"]

	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	cell := r.Groups[0].Cells[0]
	if n := len(cell.Runs[0].Latency["append.service"].Series); n < maxPoints/2 || n > maxPoints+1 {
		t.Errorf("%d points over time of 600 intervals, want about %d", n, maxPoints)
	}
	// One histogram per tag and the points; 600 intervals would be 120 MiB.
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 32<<20 {
		t.Errorf("the report keeps %d MiB", grown>>20)
	}
	got := cell.Latency["append.service"]
	if got.Count() != want.Count() || math.Abs(at(got, 50)/at(want, 50)-1) > 0.01 {
		t.Errorf("%d values, p50 %v; like values in few intervals: %d, %v", got.Count(), at(got, 50), want.Count(), at(want, 50))
	}
	runtime.KeepAlive(r)
}

// A manifest that promised fewer intervals than came (here: none) does not
// let the points over time grow without bound.
func TestPointsAreBoundedWhateverTheManifestSays(t *testing.T) {
	acc := newAccumulator(1)
	h := result.NewHistogram()
	record(t, h, 1000)
	for i := range 10 * maxPoints {
		start := epoch.Add(time.Duration(i) * time.Second)
		fits, err := acc.add(result.Interval{Tag: "append.service", Start: start, End: start.Add(time.Second), Hist: h})
		if err != nil {
			t.Fatal(err)
		}
		if !fits {
			return
		}
	}
	t.Errorf("%d points were taken without a word", 10*maxPoints)
}

// The environment was not recorded: runs with and without huge pages were set
// side by side.
func TestB100_DifferingSettingsAreListed(t *testing.T) {
	s := two(1, always(time.Millisecond), always(time.Millisecond))
	s.host = func(cell string, block int) host.Facts {
		f := testHost(cell, block)
		if cell == "b" {
			f.THP = "always"
		}
		return f
	}
	r := s.load(t)
	if len(r.Hosts) != 1 || r.Hosts[0].Name != "thp" || strings.Join(r.Hosts[0].Values, " ") != "madvise always" {
		t.Errorf("differences %v, want thp: madvise always", r.Hosts)
	}
	wantText(t, text(t, r, Options{}), "DIFFERING CONDITIONS", "thp", "a block 1", "b block 1")
}

// Profiling moves latencies: such runs are shown and never compared.
func TestB140_ProfiledRunsDoNotCount(t *testing.T) {
	s := two(6, always(time.Millisecond), always(2*time.Millisecond))
	s.profiles = func(cell string) []string { return map[string][]string{"b": {"wall"}}[cell] }
	r := s.load(t)
	if n := len(r.Groups[0].Comparisons); n != 0 {
		t.Errorf("%d comparisons with profiled runs, want none", n)
	}
	wantText(t, text(t, r, Options{}), "b has no run that counts (profiled)", "profiled: wall ran along")
}

// An interrupted run lost everything.
func TestB141_InterruptedRunsAreShownAndMarked(t *testing.T) {
	s := two(1, always(time.Millisecond), always(2*time.Millisecond))
	s.end = func(cell string, _ int, e *result.End) bool { return cell != "b" }
	r := s.load(t)
	if d := r.Groups[0].Cells[1].Latency["append.service"]; d.Count() != 500 || at(d, 100) != 2e6 {
		t.Errorf("%d values, max %v: want 500 and the exact 2 ms", d.Count(), at(d, 100))
	}
	wantText(t, text(t, r, Options{}), "interrupted: the run has no end", "2.00 ms")
}

func TestInvalidRunsAreMarkedAndLeftOut(t *testing.T) {
	s := two(3, always(time.Millisecond), always(2*time.Millisecond, 9*time.Millisecond, 2*time.Millisecond))
	s.end = func(cell string, block int, e *result.End) bool {
		if cell == "b" && block == 2 {
			e.Status, e.Reason = result.Invalid, "generator: slip p99.9 is 40 % of the response"
		}
		return true
	}
	r := s.load(t)
	if got := at(r.Groups[0].Cells[1].Latency["append.service"], 100); got != 2e6 {
		t.Errorf("max %v holds the invalid run, want 2 ms", got)
	}
	if n := of(t, r, "append.service", "p50").N; n != 2 {
		t.Errorf("%d blocks compared, want the 2 that are whole", n)
	}
	wantText(t, text(t, r, Options{}), "2 of 3", "1 INVALID", "b block 2 is not in the figures above: invalid: generator: slip")
}

func TestDamagedRunIsNamedAndTheOthersAreShown(t *testing.T) {
	s := two(2, always(time.Millisecond), always(2*time.Millisecond))
	dir := s.write(t)
	log := filepath.Join(dir, "runs", "b", "002", result.LatencyFile)
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log, append(b, "Tag=x,not,an,interval\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, text(t, r, Options{}), "Problems", "latency.hlog", "b block 2 is not in the figures above: damaged")
}

func TestPathsThatAreNoResult(t *testing.T) {
	empty := t.TempDir()
	file := filepath.Join(empty, "notes.txt")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	study := two(1, always(time.Millisecond), always(time.Millisecond)).write(t)
	for _, c := range []struct{ name, path, want string }{
		{"nothing there", filepath.Join(empty, "none"), "no such file"},
		{"another directory", empty, "study.json (a study) or manifest.json (a run)"},
		{"another file", file, "it is a file; want the directory"},
		{"the directory above a study", filepath.Dir(study), "results in it: " + study},
	} {
		_, err := Load(c.path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) {
			t.Errorf("%s: error %v, want one with %q and %q", c.name, err, c.path, c.want)
		}
	}
	if _, err := Load(); err == nil {
		t.Error("no path at all is no error")
	}
}

func TestOneRunOfAStudyCanBeReadByItself(t *testing.T) {
	study := two(2, always(time.Millisecond), always(time.Millisecond)).write(t)
	for _, path := range []string{filepath.Join(study, "runs", "a", "001"), filepath.Join(study, "runs", "a", "001", result.ManifestFile)} {
		r, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Groups) != 1 || len(r.Groups[0].Cells) != 1 || len(r.Groups[0].Cells[0].Runs) != 1 {
			t.Errorf("%s: want one group, cell and run", path)
		}
	}
}

// Runs of one study that are named one by one share its blocks.
func TestRunsNamedOneByOneKeepTheirBlocks(t *testing.T) {
	study := two(1, always(time.Millisecond), always(2*time.Millisecond)).write(t)
	r, err := Load(filepath.Join(study, "runs", "a", "001"), filepath.Join(study, "runs", "b", "001"))
	if err != nil {
		t.Fatal(err)
	}
	if p := of(t, r, "append.service", "p50"); !p.Paired || p.N != 1 {
		t.Errorf("paired %v with %d blocks, want true and 1", p.Paired, p.N)
	}
}

// Runs that belong to no study have no blocks, whatever number they carry.
func TestRunsOfNoStudyAreNotPaired(t *testing.T) {
	s := two(1, always(time.Millisecond), always(2*time.Millisecond))
	s.host = testHost
	var paths []string
	for _, c := range s.cells {
		m := s.manifest(c, 0, 0, epoch)
		m.Cell = ""
		path := filepath.Join(t.TempDir(), "only-"+c.label)
		w, err := result.CreateRun(path, m)
		if err != nil {
			t.Fatal(err)
		}
		s.writeRun(t, w, c, 1, epoch)
		paths = append(paths, path)
	}
	r, err := Load(paths...)
	if err != nil {
		t.Fatal(err)
	}
	if p := of(t, r, "append.service", "p50"); p.Paired || p.Enough {
		t.Errorf("paired %v, enough %v; want neither", p.Paired, p.Enough)
	}
	wantText(t, text(t, r, Options{Runs: true}), "Report on 2 runs", "not enough runs (1 of 6)", "Unpaired:", "a run only-a", "×2.00")
}
