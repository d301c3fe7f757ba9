package result

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
)

var start = time.UnixMilli(1700000000123).UTC()

// of returns a histogram of the values.
func of(values ...int64) *hdrhistogram.Histogram {
	h := NewHistogram()
	for _, v := range values {
		if err := h.RecordValue(v); err != nil {
			panic(err)
		}
	}
	return h
}

// times returns n times the value.
func times(n, value int64) *hdrhistogram.Histogram {
	h := NewHistogram()
	if err := h.RecordValues(value, n); err != nil {
		panic(err)
	}
	return h
}

func create(t testing.TB, m Manifest) *Writer {
	t.Helper()
	if m.Primary == "" {
		m.Primary = "append"
	}
	if m.Start.IsZero() {
		m.Start = start
	}
	w, err := CreateRun(filepath.Join(t.TempDir(), "run"), m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// second returns tick number i of a run that began at start.
func second(i int, ops ...OpTick) Tick {
	from := start.Add(time.Duration(i) * time.Second)
	return Tick{Start: from, End: from.Add(time.Second), Ops: ops}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, w *Writer) *Run {
	t.Helper()
	r, err := OpenRun(w.Dir())
	must(t, err)
	return r
}

func merge(t testing.TB, w *Writer) *Merged {
	t.Helper()
	m, err := open(t, w).Merge()
	must(t, err)
	return m
}

func summary(t testing.TB, w *Writer) Summary {
	t.Helper()
	s, err := open(t, w).Summary()
	must(t, err)
	return s
}

func TestRunIsReadBackAsWritten(t *testing.T) {
	w := create(t, Manifest{Study: "s", Cell: "c", Block: 2, Scenario: "append", Config: "tuned", Pace: "200000", Seed: 7})
	due := int64(5)
	outlier := Outlier{Op: "append", Worker: 1, Seq: 12, DueNs: &due, StartNs: 10, EndNs: 999, Notes: map[string]int64{"lock_ns": 3}}
	must(t, w.Outlier(outlier))
	must(t, w.Tick(Tick{Start: start, End: start.Add(time.Second),
		Ops:      []OpTick{{Name: "append", Service: of(1000, 2000), Response: of(1500, 2500), Slip: of(500, 500), Lag: of(10, 20), ServiceExtremes: Extremes{MaxNs: 2001}}},
		Hiccup:   of(50),
		Counters: map[string]int{"appended": 2},
	}))
	rate := 2.0
	must(t, w.End(End{Status: OK, WindowNs: 1e9, AchievedPerSecond: &rate, Done: 2}))

	r := open(t, w)
	if r.Manifest.Schema != Schema || r.Manifest.Status() != OK || r.Manifest.Seed != 7 || !r.Manifest.Start.Equal(start) {
		t.Errorf("manifest is %+v", r.Manifest)
	}
	if got := r.Manifest.End.Extremes["append.service"].MaxNs; got != 2001 {
		t.Errorf("exact maximum in the manifest is %d, want 2001", got)
	}
	m := merge(t, w)
	for tag, count := range map[string]int64{"append.service": 2, "append.response": 2, "append.slip": 2, "append.lag": 2, "hiccup": 1} {
		if d := m.Tags[tag]; d == nil || d.Count() != count {
			t.Errorf("%s: %+v, want %d values", tag, d, count)
		}
	}
	for got, err := range r.Outliers() {
		must(t, err)
		if d := cmp.Diff(outlier, got); d != "" {
			t.Error("outlier changed (-written +read):\n" + d)
		}
	}
	lines := 0
	for got, err := range r.Counters() {
		must(t, err)
		lines++
		if string(got.Counters) != `{"appended":2}` || !got.Start.Equal(start) || got.Extremes["append.service"].MaxNs != 2001 {
			t.Errorf("counters line is %+v", got)
		}
	}
	if lines != 1 {
		t.Errorf("%d lines of counters, want 1", lines)
	}
}

// A killed process leaves no end. What it measured must be readable, up to the
// last whole tick.
func TestRunWithoutAnEndIsInterruptedAndReadable(t *testing.T) {
	w := create(t, Manifest{})
	for i := range 3 {
		must(t, w.Tick(second(i, OpTick{Name: "append", Service: times(10, 1000), ServiceExtremes: Extremes{MaxNs: 1000 + int64(i)}})))
	}
	// Not closed: this reads what a kill would leave.
	s := summary(t, w)
	if s.Status != Interrupted || s.Reason == "" {
		t.Errorf("status %q, reason %q; want interrupted, with a reason", s.Status, s.Reason)
	}
	if op := s.Ops["append"]; op.Count != 30 || *op.Service.MaxExact != 1002 {
		t.Errorf("count %d, exact maximum %d; want 30, 1002", op.Count, *op.Service.MaxExact)
	}
	if s.AchievedPerSecond == nil || *s.AchievedPerSecond != 10 || s.OfferedPerSecond != nil {
		t.Errorf("achieved %v, offered %v; want 10 from the intervals, null", s.AchievedPerSecond, s.OfferedPerSecond)
	}
}

func TestTornLastLineIsLeftOutAndSaid(t *testing.T) {
	for _, name := range []string{LatencyFile, CountersFile} {
		w := create(t, Manifest{})
		for i := range 3 {
			must(t, w.Tick(second(i, OpTick{Name: "append", Service: times(10, 1000)})))
		}
		path := filepath.Join(w.Dir(), name)
		b, err := os.ReadFile(path)
		must(t, err)
		must(t, os.WriteFile(path, b[:len(b)-20], 0o666))
		s := summary(t, w)
		want := map[string]int64{LatencyFile: 20, CountersFile: 30}[name]
		if got := s.Ops["append"].Count; got != want || len(s.Warnings) != 1 {
			t.Errorf("%s torn: %d values, warnings %q; want %d and one warning", name, got, s.Warnings, want)
		}
	}
}

// Damage that is not a torn end must not be passed over.
func TestDamagedLineIsAnError(t *testing.T) {
	w := create(t, Manifest{})
	for i := range 3 {
		must(t, w.Tick(second(i, OpTick{Name: "append", Service: times(10, 1000)})))
	}
	path := filepath.Join(w.Dir(), LatencyFile)
	b, err := os.ReadFile(path)
	must(t, err)
	lines := strings.SplitAfter(string(b), "\n")
	for what, damaged := range map[string]string{
		"a cut line in the middle": strings.Join(lines[:4], "") + lines[4][:30] + "\n" + strings.Join(lines[5:], ""),
		"a flipped payload byte":   strings.Replace(string(b), "HISTF", "HISTG", 1),
		"no payload":               string(b) + "Tag=append.service,1700000004.123,1.000\n",
		"no start":                 string(b) + "Tag=append.service,x,1.000,0.1,HISTFAAAA\n",
		"no length":                string(b) + "Tag=append.service,1.0,,0.1,HISTFAAAA\n",
		"a time out of range":      string(b) + strings.Replace(lines[4], ",1700000000.123", ",1e300", 1),
	} {
		must(t, os.WriteFile(path, []byte(damaged), 0o666))
		if _, err := open(t, w).Merge(); err == nil {
			t.Errorf("%s: no error", what)
		} else if !strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: error %q does not say which line", what, err)
		}
	}
}

func TestWriterRefusesWhatWouldSpoilTheLog(t *testing.T) {
	w := create(t, Manifest{})
	narrow := hdrhistogram.New(1, 1000, 3)
	must(t, narrow.RecordValue(5))
	for what, op := range map[string]OpTick{
		"another geometry": {Name: "append", Service: narrow},
		"a comma":          {Name: "append,2", Service: of(1)},
		"a blank":          {Name: "append 2", Service: of(1)},
		"a line break":     {Name: "append\n2", Service: of(1)},
	} {
		if err := w.Tick(second(0, op)); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

func TestEndedRunTakesNothingMore(t *testing.T) {
	w := create(t, Manifest{})
	must(t, w.End(End{Status: OK}))
	before, err := os.ReadFile(filepath.Join(w.Dir(), ManifestFile))
	must(t, err)
	if w.Tick(second(0)) == nil || w.Outlier(Outlier{}) == nil || w.End(End{Status: Failed}) == nil {
		t.Error("an ended run took more")
	}
	must(t, w.Close())
	after, err := os.ReadFile(filepath.Join(w.Dir(), ManifestFile))
	must(t, err)
	if string(before) != string(after) {
		t.Error("the manifest of an ended run changed")
	}
	if left, _ := filepath.Glob(filepath.Join(w.Dir(), "*.tmp")); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

func TestRunIsNotWrittenOver(t *testing.T) {
	w := create(t, Manifest{})
	if _, err := CreateRun(w.Dir(), Manifest{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("second writer: %v, want fs.ErrExist", err)
	}
}

func TestWriterMayBeShared(t *testing.T) {
	w := create(t, Manifest{})
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 50 {
				if err := w.Outlier(Outlier{Op: "append", Worker: worker, Seq: uint64(i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 5 {
		must(t, w.Tick(second(i, OpTick{Name: "append", Service: of(1)})))
	}
	wg.Wait()
	must(t, w.Close())
	n := 0
	for _, err := range open(t, w).Outliers() {
		must(t, err)
		n++
	}
	if n != 200 {
		t.Errorf("%d outliers, want 200", n)
	}
}

// Acceptance: the log opens with the library's own reader and gives the same
// percentiles as the summary.
func TestLogOpensWithTheLibraryAndGivesTheSamePercentiles(t *testing.T) {
	w := create(t, Manifest{})
	for i := range 10 {
		service := NewHistogram()
		for v := range int64(500) {
			must(t, service.RecordValue(100+v*v*int64(i+1)))
		}
		must(t, w.Tick(second(i, OpTick{Name: "append", Service: service})))
	}
	must(t, w.End(End{Status: OK}))
	s := summary(t, w).Ops["append"].Service

	f, err := os.Open(filepath.Join(w.Dir(), LatencyFile))
	must(t, err)
	defer f.Close()
	reader := hdrhistogram.NewHistogramLogReader(f)
	merged := NewHistogram()
	for {
		h, err := reader.NextIntervalHistogram()
		must(t, err)
		if h == nil {
			break
		}
		if h.Tag() != "append.service" {
			t.Fatalf("tag %q", h.Tag())
		}
		merged.Merge(h)
	}
	if merged.TotalCount() != 5000 || s.Count != 5000 {
		t.Fatalf("the library read %d values, the summary %d; want 5000", merged.TotalCount(), s.Count)
	}
	for _, p := range Percentiles {
		if got, want := *s.Value(p.Name), merged.ValueAtPercentile(p.P); got != want {
			t.Errorf("%s is %d, the library says %d", p.Name, got, want)
		}
	}
	if *s.Max != merged.Max() {
		t.Errorf("max is %d, the library says %d", *s.Max, merged.Max())
	}
}

func BenchmarkTick(b *testing.B) {
	w, err := CreateRun(filepath.Join(b.TempDir(), "run"), Manifest{})
	must(b, err)
	defer w.Close()
	tick := second(0, OpTick{Name: "append", Service: NewHistogram(), Response: NewHistogram(), Slip: NewHistogram()})
	for v := range int64(20_000) {
		for _, h := range []*hdrhistogram.Histogram{tick.Ops[0].Service, tick.Ops[0].Response, tick.Ops[0].Slip} {
			must(b, h.RecordValue(80+v*v%100_003))
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		must(b, w.Tick(tick))
	}
}
