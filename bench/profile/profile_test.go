package profile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	pprofile "github.com/google/pprof/profile"

	"commitlab/bench/profile"
)

var label = profile.Label{Run: "b3", Scenario: "append", Config: "tuned"}

// take profiles work for the given kinds and returns the files by kind, with the
// length of the window as seen from outside.
func take(t *testing.T, work func(), kinds ...profile.Kind) (map[profile.Kind][]byte, time.Duration) {
	t.Helper()
	dir := t.TempDir()
	before := time.Now()
	s, err := profile.Start(dir, label, kinds)
	if err != nil {
		t.Fatal(err)
	}
	work()
	paths, err := s.Stop()
	if err != nil {
		t.Fatal(err)
	}
	length := time.Since(before)
	files := map[profile.Kind][]byte{}
	for _, kind := range kinds {
		path := filepath.Join(dir, label.FileName(kind))
		if !slices.Contains(paths, path) {
			t.Errorf("files %q lack %s", paths, path)
		}
		if files[kind], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return files, length
}

func parse(t *testing.T, data []byte) *pprofile.Profile {
	t.Helper()
	p, err := pprofile.Parse(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// total sums one sample type over the samples that pass through function.
func total(p *pprofile.Profile, sampleType, function string) int64 {
	column := slices.IndexFunc(p.SampleType, func(v *pprofile.ValueType) bool { return v.Type == sampleType })
	sum := int64(0)
	for _, s := range p.Sample {
		if passes(s, function) {
			sum += s.Value[column]
		}
	}
	return sum
}

func passes(s *pprofile.Sample, function string) bool {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if strings.HasSuffix(line.Function.Name, function) {
				return true
			}
		}
	}
	return false
}

//go:noinline
func sleepInTarget(d time.Duration) { time.Sleep(d) }

// B-137: a wall-clock profile came without period type, unit and duration, so
// that tools took it for CPU time.
func TestB137_WallProfileSaysWhatItIs(t *testing.T) {
	before := time.Now()
	files, length := take(t, func() { sleepInTarget(300 * time.Millisecond) }, profile.Wall)
	p := parse(t, files[profile.Wall])
	if p.PeriodType == nil || p.PeriodType.Type != "wallclock" || p.PeriodType.Unit != "nanoseconds" || p.Period <= 0 {
		t.Errorf("period %d of type %+v, want some nanoseconds of wallclock", p.Period, p.PeriodType)
	}
	if got := time.Duration(p.DurationNanos); got < 300*time.Millisecond || got > length {
		t.Errorf("duration %v, want that of the window, between 300ms and %v", got, length)
	}
	if start := time.Unix(0, p.TimeNanos); start.Before(before) || start.After(before.Add(length)) {
		t.Errorf("start %v, want within %v of %v", start, length, before)
	}
	if total(p, "time", "sleepInTarget") <= 0 {
		t.Error("waiting goroutine does not show")
	}
	for _, want := range []string{"run=b3", "scenario=append", "config=tuned", "kind=wall"} {
		if !slices.Contains(p.Comments, want) {
			t.Errorf("comments %q lack %q", p.Comments, want)
		}
	}
	if got, want := label.FileName(profile.Wall), "b3-append-tuned.wall.pprof"; got != want {
		t.Errorf("file name %q, want %q", got, want)
	}
}

func TestWallProfileOfNoLengthIsAnError(t *testing.T) {
	dir := t.TempDir()
	s, err := profile.Start(dir, label, []profile.Kind{profile.Wall})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stop(); err == nil || !strings.Contains(err.Error(), "too short") {
		t.Errorf("error %v, want one that says the window was too short", err)
	}
}

func TestCPUProfileCoversTheWindow(t *testing.T) {
	files, length := take(t, func() { time.Sleep(50 * time.Millisecond) }, profile.CPU)
	p := parse(t, files[profile.CPU])
	if p.PeriodType.Type != "cpu" {
		t.Errorf("period type %q, want cpu", p.PeriodType.Type)
	}
	if got := time.Duration(p.DurationNanos); got < 50*time.Millisecond || got > length {
		t.Errorf("duration %v, want between 50ms and %v", got, length)
	}
}

var sink []byte

//go:noinline
func allocateBefore() {
	for range 64 {
		sink = make([]byte, 1<<20)
	}
}

//go:noinline
func allocateWithin() {
	for range 64 {
		sink = make([]byte, 1<<20)
	}
}

func TestHeapProfileHoldsAllocationsOfTheWindowOnly(t *testing.T) {
	allocateBefore()
	files, _ := take(t, allocateWithin, profile.Heap)
	p := parse(t, files[profile.Heap])
	if got := total(p, "alloc_space", "allocateWithin"); got < 32<<20 || got > 128<<20 {
		t.Errorf("%d bytes allocated within the window, want about %d", got, 64<<20)
	}
	if got := total(p, "alloc_space", "allocateBefore"); got != 0 {
		t.Errorf("%d bytes of before the window, want none", got)
	}
}

//go:noinline
func contend() {
	var mu sync.Mutex
	var done sync.WaitGroup
	mu.Lock()
	for range 4 {
		done.Go(func() { mu.Lock(); mu.Unlock() })
	}
	time.Sleep(20 * time.Millisecond)
	mu.Unlock()
	done.Wait()
}

func TestMutexAndBlockProfilesHoldTheWindowOnly(t *testing.T) {
	take(t, contend, profile.Mutex, profile.Block)
	files, _ := take(t, func() {}, profile.Mutex, profile.Block)
	for _, kind := range []profile.Kind{profile.Mutex, profile.Block} {
		if got := total(parse(t, files[kind]), "delay", "contend.func1"); got != 0 {
			t.Errorf("%s profile: %d ns of an earlier window, want none", kind, got)
		}
	}
	files, _ = take(t, contend, profile.Mutex, profile.Block)
	for _, kind := range []profile.Kind{profile.Mutex, profile.Block} {
		if got := total(parse(t, files[kind]), "delay", "contend.func1"); got <= 0 {
			t.Errorf("%s profile does not show the contention", kind)
		}
	}
}

func TestTraceIsWritten(t *testing.T) {
	files, _ := take(t, func() {}, profile.Trace)
	if !bytes.HasPrefix(files[profile.Trace], []byte("go 1.")) {
		t.Errorf("trace starts %.16q, want the header of an execution trace", files[profile.Trace])
	}
}

func TestFailedStartLeavesNothing(t *testing.T) {
	if err := pprof.StartCPUProfile(&bytes.Buffer{}); err != nil {
		t.Skipf("the test itself runs under the CPU profiler: %v", err)
	}
	dir := t.TempDir()
	_, err := profile.Start(dir, label, []profile.Kind{profile.CPU, profile.Mutex, profile.Trace})
	pprof.StopCPUProfile()
	if err == nil {
		t.Fatal("second CPU profile started, want an error")
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("files left: %v", left)
	}
	// Nothing of the failed session runs on: the same kinds start again.
	take(t, func() {}, profile.CPU, profile.Mutex, profile.Trace)
}

func TestWindowHookWritesWhenTheWindowCloses(t *testing.T) {
	dir := t.TempDir()
	closed, err := profile.Window(dir, label, []profile.Kind{profile.Heap})()
	if err != nil {
		t.Fatal(err)
	}
	if err := closed(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "b3-append-tuned.heap.pprof")); err != nil || info.Size() == 0 {
		t.Errorf("profile %v, %v: want a file that is not empty", info, err)
	}
}

func TestParseKinds(t *testing.T) {
	for list, want := range map[string][]profile.Kind{
		"":              nil,
		"cpu":           {profile.CPU},
		"wall, cpu,cpu": {profile.Wall, profile.CPU},
		"all":           profile.Kinds,
	} {
		if got, err := profile.ParseKinds(list); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v; want %v", list, got, err, want)
		}
	}
	if _, err := profile.ParseKinds("cpu,gpu"); err == nil || !strings.Contains(err.Error(), `"gpu"`) {
		t.Errorf("error %v, want one that names gpu", err)
	}
}

func TestFileNameHoldsNoPath(t *testing.T) {
	l := profile.Label{Run: "append/4", Config: "lock=none flush"}
	if got, want := l.FileName(profile.Trace), "append_4-lock_none_flush.trace"; got != want {
		t.Errorf("file name %q, want %q", got, want)
	}
	if got, want := (profile.Label{}).FileName(profile.CPU), "run.cpu.pprof"; got != want {
		t.Errorf("file name without label %q, want %q", got, want)
	}
}
