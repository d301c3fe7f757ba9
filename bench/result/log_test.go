package result

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func intervals(t testing.TB, path string) []Interval {
	t.Helper()
	var all []Interval
	for i, err := range ReadLog(path) {
		must(t, err)
		all = append(all, i)
	}
	return all
}

// HdrHistogram/hdrhistogram-go#52: start and end were written in the wrong unit;
// with a base time they are still doubled or cut to seconds.
func TestB121_IntervalTimesKeepTheirMilliseconds(t *testing.T) {
	w := create(t, Manifest{Start: time.UnixMilli(1700000000123)})
	for i := range 250 {
		// All over the second: floating-point cuts would show.
		from := time.UnixMilli(1700000001123 + int64(i)*1003)
		must(t, w.Tick(Tick{Start: from, End: from.Add(1003 * time.Millisecond), Ops: []OpTick{{Name: "append", Service: of(int64(i) + 1)}}}))
	}
	path := filepath.Join(w.Dir(), LatencyFile)
	all := intervals(t, path)
	if len(all) != 250 {
		t.Fatalf("%d intervals, want 250", len(all))
	}
	for i, got := range all {
		from := 1700000001123 + int64(i)*1003
		if got.Start.UnixMilli() != from || got.End.UnixMilli() != from+1003 || got.Hist.TotalCount() != 1 {
			t.Fatalf("interval %d is %d-%d with %d values, want %d-%d with 1",
				i, got.Start.UnixMilli(), got.End.UnixMilli(), got.Hist.TotalCount(), from, from+1003)
		}
	}

	// The library's reader may lose the last millisecond to rounding, no more.
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	h, err := hdrhistogram.NewHistogramLogReader(f).NextIntervalHistogram()
	must(t, err)
	if off := h.StartTimeMs() - 1700000001123; off < -1 || off > 0 {
		t.Errorf("the library reads start %d, want 1700000001123 or one less", h.StartTimeMs())
	}

	// The lines are those of the format: what the Java reader matches.
	text, err := os.ReadFile(path)
	must(t, err)
	for _, line := range []string{
		`(?m)^#\[Histogram log format version 1\.3\]$`,
		`(?m)^#\[StartTime: 1700000000\.123 \(seconds since epoch\), 2023-11-1[45]T\d\d:\d\d:20\.123`,
		`(?m)^"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"$`,
		`(?m)^Tag=append\.service,1700000001\.123000,1\.003000,0\.000001,HIST[A-Za-z0-9+/=]+$`,
	} {
		if !regexp.MustCompile(line).Match(text) {
			t.Errorf("no line %s in\n%.600s", line, text)
		}
	}
	if bytes.Contains(text, []byte("BaseTime")) {
		t.Error("the log has a base time, and absolute times")
	}
}

// HdrHistogram_c#44: the start was 1970, a monotonic clock taken for a date.
func TestB123_StartIsADateWithItsZone(t *testing.T) {
	for _, name := range []string{"UTC", "Asia/Shanghai"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Skipf("no time zone data: %v", err)
		}
		now := time.Now().In(zone)
		w := create(t, Manifest{Start: now})
		text, err := os.ReadFile(filepath.Join(w.Dir(), LatencyFile))
		must(t, err)
		m := regexp.MustCompile(`#\[StartTime: (\d+\.\d{3}) \(seconds since epoch\), ([^\]]+)\]`).FindSubmatch(text)
		if m == nil {
			t.Fatalf("no start time in %s", text)
		}
		epoch, err := strconv.ParseFloat(string(m[1]), 64)
		must(t, err)
		date, err := time.Parse(time.RFC3339, string(m[2]))
		must(t, err)
		if d := time.Duration(epoch*1e9) - time.Duration(now.UnixNano()); d.Abs() > time.Second {
			t.Errorf("%s: epoch %s is off by %v", name, m[1], d)
		}
		if d := date.Sub(now); d.Abs() > time.Second || date.Format("-07:00") != now.Format("-07:00") {
			t.Errorf("%s: date %s, want that of %s", name, m[2], now)
		}
		if got := open(t, w).Manifest.Start; !got.Equal(now) || got.Format("-07:00") != now.Format("-07:00") {
			t.Errorf("%s: manifest start %s, want %s", name, got, now)
		}
	}
}

// HdrHistogram PR 136: intervals out of time order were dropped silently.
func TestB124_IntervalsOutOfOrderAreCountedAndSaid(t *testing.T) {
	w := create(t, Manifest{})
	for i := range 4 {
		must(t, w.Tick(second(i, OpTick{Name: "append", Service: times(int64(10+i), 1000)})))
	}
	path := filepath.Join(w.Dir(), LatencyFile)
	b, err := os.ReadFile(path)
	must(t, err)
	lines := strings.SplitAfter(string(b), "\n")
	lines[5], lines[6] = lines[6], lines[5]
	must(t, os.WriteFile(path, []byte(strings.Join(lines, "")), 0o666))
	m := merge(t, w)
	if m.Tags["append.service"].Count() != 46 || m.OutOfOrder != 1 {
		t.Errorf("%d values, %d out of order; want 46, 1", m.Tags["append.service"].Count(), m.OutOfOrder)
	}
	if s := summary(t, w); len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "out of time order") {
		t.Errorf("warnings %q, want one on the order", s.Warnings)
	}
}

// go2xunit PR 51: a reader stopped at a line over 64 KiB and said nothing.
func TestB148_LongLinesAreReadWhole(t *testing.T) {
	h := hdrhistogram.New(1, 100_000_000_000, 5)
	x := uint64(1)
	for range 100_000 {
		x = x*6364136223846793005 + 1442695040888963407
		must(t, h.RecordValue(int64(x>>30)))
	}
	h.SetTag("x")
	var log bytes.Buffer
	writer := hdrhistogram.NewHistogramLogWriter(&log)
	for range 3 {
		must(t, writer.OutputIntervalHistogram(h))
	}
	if line := log.Len() / 3; line < 80<<10 {
		t.Fatalf("a line has %d bytes: too short for the reader's buffer to matter", line)
	}
	path := filepath.Join(t.TempDir(), "long.hlog")
	must(t, os.WriteFile(path, log.Bytes(), 0o666))
	all := intervals(t, path)
	if len(all) != 3 {
		t.Fatalf("%d intervals, want 3", len(all))
	}
	for _, i := range all {
		if i.Hist.TotalCount() != 100_000 || i.Hist.ValueAtPercentile(99) != h.ValueAtPercentile(99) {
			t.Errorf("%d values, p99 %d; want 100000, %d", i.Hist.TotalCount(), i.Hist.ValueAtPercentile(99), h.ValueAtPercentile(99))
		}
	}
}

// vegeta#132: the report step held the whole result in memory. A day of
// one-second intervals takes as much as a minute of them. Decoded, the 800
// intervals here would be 170 MiB.
func TestB111_ReadingStreams(t *testing.T) {
	w := create(t, Manifest{})
	must(t, w.Tick(second(0, OpTick{Name: "append", Service: times(10, 1000), Response: times(10, 2000)})))
	path := filepath.Join(w.Dir(), LatencyFile)
	b, err := os.ReadFile(path)
	must(t, err)
	lines := strings.SplitAfter(string(b), "\n")
	var log strings.Builder
	log.WriteString(strings.Join(lines[:4], ""))
	for range 400 {
		log.WriteString(strings.Join(lines[4:], ""))
	}
	must(t, os.WriteFile(path, []byte(log.String()), 0o666))

	runtime.GC()
	var before, peak runtime.MemStats
	runtime.ReadMemStats(&before)
	r := open(t, w)
	n := 0
	for _, err := range r.Intervals() {
		must(t, err)
		if n++; n%20 == 0 {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			peak.HeapAlloc = max(peak.HeapAlloc, now.HeapAlloc)
		}
	}
	if n != 800 {
		t.Fatalf("%d intervals, want 800", n)
	}
	if grown := int64(peak.HeapAlloc) - int64(before.HeapAlloc); grown > 40<<20 {
		t.Errorf("the heap grew by %d MiB while reading, want less than 40", grown>>20)
	}
	s := summary(t, w).Ops["append"]
	if s.Count != 4000 || *s.Service.P999 != 1000 || *s.Response.P50 != 2000 {
		t.Errorf("count %d, service p99.9 %d, response p50 %d; want 4000, 1000, 2000", s.Count, *s.Service.P999, *s.Response.P50)
	}
}

// gombit PR 210: a stepped wall clock made durations negative. Interval lengths
// are monotonic; only the dates show the step.
func TestB149_SteppedWallClockChangesNoFigure(t *testing.T) {
	for _, step := range []time.Duration{-7 * time.Hour, 0, 7 * time.Hour} {
		w := create(t, Manifest{})
		for i := range 10 {
			tick := second(i, OpTick{Name: "append", Service: times(100, 1000)})
			if i >= 5 {
				tick.Start, tick.End = tick.Start.Add(step), tick.End.Add(step)
			}
			must(t, w.Tick(tick))
		}
		m := merge(t, w)
		rate, ok := m.Rate("append.service")
		if !ok || rate != 100 || m.Measured["append.service"] != 10*time.Second {
			t.Errorf("step %v: rate %g over %v, want 100 over 10s", step, rate, m.Measured["append.service"])
		}
		if flagged := m.OutOfOrder > 0; flagged != (step < 0) {
			t.Errorf("step %v: %d intervals out of order", step, m.OutOfOrder)
		}
	}
}

// Logs of other tools have times relative to a base or to the start.
func TestRelativeTimesOfOtherTools(t *testing.T) {
	h := of(5)
	payload, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	must(t, err)
	for what, c := range map[string]struct {
		header string
		start  string
		want   int64
	}{
		"base":             {"#[StartTime: 1700000000.500 (seconds since epoch), x]\n#[BaseTime: 1700000000.250 (seconds since epoch)]\n", "1.000", 1700000001250},
		"relative":         {"#[StartTime: 1700000000.500 (seconds since epoch), x]\n", "1.000", 1700000001500},
		"absolute":         {"#[StartTime: 1700000000.500 (seconds since epoch), x]\n", "1700000003.001", 1700000003001},
		"no header at all": {"", "1.000", 1000},
	} {
		path := filepath.Join(t.TempDir(), "x.hlog")
		must(t, os.WriteFile(path, fmt.Appendf(nil, "%s%s,2.000,0.000,%s", c.header, c.start, payload), 0o666))
		all := intervals(t, path)
		if len(all) != 1 || all[0].Tag != "" || all[0].Start.UnixMilli() != c.want || all[0].Length() != 2*time.Second {
			t.Errorf("%s: %+v, want start %d", what, all, c.want)
		}
	}
}

// Whatever the bytes: an error or intervals, no panic and no endless loop.
func FuzzReadLog(f *testing.F) {
	payload, err := of(1, 1000, 1e9).Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	must(f, err)
	f.Add(fmt.Appendf(nil, "#[StartTime: 1.5 (seconds\nTag=a,1.0,2.0,3.0,%s\n1,2,3,%s", payload, payload))
	f.Add([]byte("Tag=\nTag=,,,,\n,,,\n\r\n#[BaseTime: NaN \nNaN,Inf,0,HISTFAAAA"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(dir, "fuzz.hlog")
		must(t, os.WriteFile(path, b, 0o666))
		for i, err := range ReadLog(path) {
			if err == nil && i.Hist == nil {
				t.Fatal("an interval without a histogram")
			}
		}
	})
}
