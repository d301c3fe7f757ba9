package report

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"commitlab/bench/host"
	"commitlab/bench/result"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// epoch is when every synthetic study starts.
var epoch = time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)

// synthetic describes a study to be written: what each cell's operations cost,
// as a function of a random number in [0,1).
type synthetic struct {
	name        string
	blocks      int
	ticks       int
	perTick     int
	count       func(block, tick int) int // instead of perTick
	closed      bool
	cells       []syntheticCell
	comparisons []result.Comparison
	host        func(cell string, block int) host.Facts
	end         func(cell string, block int, e *result.End) (ended bool)
	profiles    func(cell string) []string
	primary     []string
	gap         time.Duration // between the starts of two runs
}

type syntheticCell struct {
	name    string
	label   string
	options string
	service func(block int, u float64) time.Duration
}

// quick is a study like the default one: a slow tail, a warm one, a short one.
func quick(blocks int) synthetic {
	return synthetic{
		name: "quick", blocks: blocks, ticks: 10, perTick: 2000,
		cells: []syntheticCell{
			{name: "append-rocketmq", label: "rocketmq", options: `{"allocate":"sparse","populate":"none","flush":"async"}`,
				service: tail(1100*time.Nanosecond, 0.004, 650*time.Microsecond)},
			{name: "append-rocketmq-warm", label: "rocketmq-warm", options: `{"allocate":"sparse","populate":"none","flush":"async","warmUp":"touch"}`,
				service: tail(1050*time.Nanosecond, 0.001, 90*time.Microsecond)},
			{name: "append-tuned", label: "tuned", options: `{"allocate":"fallocate","populate":"window","flush":"async"}`,
				service: tail(900*time.Nanosecond, 0.0005, 4*time.Microsecond)},
		},
	}
}

// tail is a body around the median and a share of slow operations.
func tail(median time.Duration, share float64, slow time.Duration) func(int, float64) time.Duration {
	return func(block int, u float64) time.Duration {
		if u < share {
			return (slow/4 + time.Duration(float64(slow)*(share-u)/share)) * time.Duration(100+block) / 100
		}
		return (median*8/10 + time.Duration(float64(median)*0.4*u)) * time.Duration(100+block) / 100
	}
}

// always is a cell whose every operation takes as long as its block says.
func always(d ...time.Duration) func(int, float64) time.Duration {
	return func(block int, _ float64) time.Duration { return d[(block-1)%len(d)] }
}

// two is a study of two cells, a and b.
func two(blocks int, a, b func(int, float64) time.Duration) synthetic {
	return synthetic{
		name: "two", blocks: blocks, ticks: 5, perTick: 100,
		cells: []syntheticCell{{name: "a", label: "a", service: a}, {name: "b", label: "b", service: b}},
	}
}

func testHost(string, int) host.Facts {
	return host.Facts{
		Hostname: "lab", OS: "linux", Arch: "amd64", Kernel: "6.12.0", CPUModel: "Example CPU", CPUs: 2, CPUsOnline: 2,
		MemoryBytes: 24 << 30, PageBytes: 4096, THP: "madvise", DirtyRatio: "20", DirtyBackgroundRatio: "10", Swappiness: "60",
		MemlockBytes: 8 << 20, OpenFiles: 1024, GoVersion: "go1.26.0", GOMAXPROCS: 2, Revision: "0123abcd",
		Dir: host.Volume{FileSystem: "ext4", MountOptions: "rw,relatime", Device: "vda"},
	}
}

// write writes the study and returns its directory.
func (s synthetic) write(t testing.TB) string {
	t.Helper()
	if s.host == nil {
		s.host = testHost
	}
	if s.gap == 0 {
		s.gap = 30 * time.Second
	}
	study := result.Study{
		Name: s.name, Start: epoch, Seed: 7, Blocks: s.blocks, Comparisons: s.comparisons,
		Primary: s.primary, Command: []string{"loadgen"}, Host: s.host("", 0),
	}
	for _, c := range s.cells {
		study.Cells = append(study.Cells, result.Cell{Name: c.name, Label: c.label, Scenario: "append", Config: c.label, Pace: s.pace()})
	}
	dir, err := result.CreateStudy(t.TempDir(), study)
	if err != nil {
		t.Fatal(err)
	}
	start := epoch
	for block := 1; block <= s.blocks; block++ {
		for i, c := range s.cells {
			m := s.manifest(c, block, (i+block)%len(s.cells)+1, start)
			w, err := dir.CreateRun(m)
			if err != nil {
				t.Fatal(err)
			}
			s.writeRun(t, w, c, block, start)
			start = start.Add(s.gap)
		}
	}
	return dir.Path
}

func (s synthetic) pace() string {
	if s.closed {
		return "max"
	}
	return fmt.Sprint(s.perTick * 10)
}

func (s synthetic) manifest(c syntheticCell, block, position int, start time.Time) result.Manifest {
	var profiles []string
	if s.profiles != nil {
		profiles = s.profiles(c.name)
	}
	return result.Manifest{
		Cell: c.name, Block: block, Position: position, Scenario: "append", Config: c.label, Primary: "append",
		Spec: json.RawMessage(fmt.Sprintf(`{"writers":1,"workload":{"seed":%d,"body":"1024"}}`, block)), Options: json.RawMessage(c.options),
		Pace: s.pace(), Closed: s.closed, Workers: 1, Seed: uint64(block), Durability: "async flush, up to 500 ms",
		Profiles: profiles, Command: []string{"loadgen", "run", "--config", c.label},
		WarmupNs: int64(time.Second), DurationNs: int64(s.ticks) * int64(100*time.Millisecond), TickNs: int64(100 * time.Millisecond),
		Host: s.host(c.name, block), Start: start,
	}
}

func (s synthetic) writeRun(t testing.TB, w *result.Writer, c syntheticCell, block int, start time.Time) {
	t.Helper()
	random := rand.New(rand.NewPCG(uint64(block), 42))
	var done uint64
	for i := range s.ticks {
		service, response, slip, hiccup := result.NewHistogram(), result.NewHistogram(), result.NewHistogram(), result.NewHistogram()
		var longest, longestResponse int64
		operations := s.perTick
		if s.count != nil {
			operations = s.count(block, i)
		}
		for range operations {
			v := int64(c.service(block, random.Float64()))
			late := 200 + random.Int64N(300)
			record(t, service, v)
			record(t, response, v+late)
			record(t, slip, late)
			longest, longestResponse = max(longest, v), max(longestResponse, v+late)
			done++
		}
		for range 100 {
			record(t, hiccup, 50_000+random.Int64N(20_000))
		}
		op := result.OpTick{Name: "append", Service: service, ServiceExtremes: result.Extremes{MaxNs: longest}}
		if !s.closed {
			op.Response, op.Slip, op.ResponseExtremes = response, slip, result.Extremes{MaxNs: longestResponse}
		}
		err := w.Tick(result.Tick{
			Start: start.Add(time.Duration(i) * 100 * time.Millisecond), End: start.Add(time.Duration(i+1) * 100 * time.Millisecond),
			Ops: []result.OpTick{op}, Hiccup: hiccup,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	window := time.Duration(s.ticks) * 100 * time.Millisecond
	rate := float64(done) / window.Seconds()
	e := result.End{Time: start.Add(window), Status: result.OK, WindowNs: int64(window), AchievedPerSecond: &rate, Done: done, Steadiness: "steady"}
	if !s.closed {
		e.OfferedPerSecond, e.Due = &rate, done
	}
	if s.end != nil && !s.end(c.name, block, &e) {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := w.End(e); err != nil {
		t.Fatal(err)
	}
}

func record(t testing.TB, h *hdrhistogram.Histogram, v int64) {
	if err := h.RecordValue(v); err != nil {
		t.Fatal(err)
	}
}

// load writes the study and loads it, with a fixed path in its place.
func (s synthetic) load(t testing.TB) *Report {
	t.Helper()
	r, err := Load(s.write(t))
	if err != nil {
		t.Fatal(err)
	}
	r.Sources = []string{filepath.Join("results", "20260314T092653Z-"+s.name)}
	return r
}

// quickSix is the report of quick(6), loaded once: a report never changes.
func quickSix(t testing.TB) *Report {
	t.Helper()
	if loadedQuickSix == nil {
		loadedQuickSix = quick(6).load(t)
	}
	return loadedQuickSix
}

var loadedQuickSix *Report
