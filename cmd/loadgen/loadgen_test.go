package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/rogpeppe/go-internal/testscript"

	"commitlab/bench/result"
)

// asProgram makes the test binary behave as loadgen, for tests that need a
// process, and for the cells of studies that tests run.
const asProgram = "LOADGEN_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	testscript.Main(m, map[string]func(){"loadgen": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script"})
}

// syncBuffer is a buffer that a command may write to from several goroutines.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// call runs the program in process.
func call(t *testing.T, statusEvery time.Duration, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errOut syncBuffer
	c := console{stdin: strings.NewReader(""), stdout: &out, stderr: &errOut, statusEvery: statusEvery}
	err := c.run(t.Context(), args)
	return out.String(), errOut.String(), exitCode(err)
}

// smallRun is a run that takes a moment on any machine; more arguments follow.
func smallRun(out string, more ...string) []string {
	return append([]string{
		"run", "--duration", "300ms", "--warmup", "20ms", "--out", out,
		"--set", "commitLogFileBytes=1MiB", "--set", "maxBodyBytes=8KiB",
	}, more...)
}

// measured says whether a code is that of a run that was measured: on a busy
// machine the generator may be found too slow.
func measured(code int) bool { return code == exitOK || code == exitInvalid }

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want int
	}{
		{"help", []string{"run", "--help"}, 0},
		{"list", []string{"list"}, 0},
		{"unknown command", []string{"walk"}, 2},
		{"unknown flag", []string{"run", "--speed", "9"}, 2},
		{"unknown scenario", []string{"run", "--scenario", "swim"}, 2},
		{"unknown configuration", []string{"run", "--config", "kafka"}, 2},
		{"bad option", []string{"run", "--set", "flush=never"}, 2},
		{"bad size", []string{"run", "--size", "1kb"}, 2},
		{"no duration", []string{"run", "--duration", "0s"}, 2},
		{"bad budget", []string{"run", "--max-bytes", "lots"}, 2},
		{"unknown study", []string{"study", "swim"}, 2},
		{"no rounds", []string{"torture", "store", "--rounds", "0"}, 2},
		{"bad limit of a log", []string{"torture", "store", "--max-log", "much"}, 2},
		{"torture of something else", []string{"torture", "testdata"}, 2},
		{"failed run", smallRun(filepath.Join(t.TempDir(), "run"), "--rate", "100", "--size", "16KiB", "--quiet"), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, stderr, code := call(t, time.Hour, c.args...); code != c.want {
				t.Errorf("exit code is %d, want %d; stderr: %s", code, c.want, stderr)
			}
		})
	}
}

func TestStatusDecidesTheExitCode(t *testing.T) {
	for status, want := range map[result.Status]int{
		result.OK: 0, result.Failed: 1, result.Invalid: 4, result.Unavailable: 5, result.Interrupted: 130,
	} {
		if got := exitCode(statusError(status, "for a reason")); got != want {
			t.Errorf("status %s gives exit code %d, want %d", status, got, want)
		}
	}
	if got := exitCode(errors.New("anything else")); got != 1 {
		t.Errorf("another error gives exit code %d, want 1", got)
	}
}

// Goal: the JSON object holds what a script needs, and its percentiles are those
// that any HdrHistogram tool reads from the log beside it.
func TestJSONAgreesWithTheLog(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	stdout, stderr, code := call(t, time.Hour, smallRun(out, "--rate", "2000", "--format", "json")...)
	if !measured(code) {
		t.Fatalf("exit code is %d: %s", code, stderr)
	}
	type figures struct {
		P50   *int64 `json:"p50"`
		P90   *int64 `json:"p90"`
		P99   *int64 `json:"p99"`
		P999  *int64 `json:"p99.9"`
		P9999 *int64 `json:"p99.99"`
		Max   *int64 `json:"max"`
	}
	var got struct {
		Schema   string   `json:"schema"`
		Status   string   `json:"status"`
		Scenario string   `json:"scenario"`
		Config   string   `json:"config"`
		Offered  *float64 `json:"offered_per_s"`
		Achieved *float64 `json:"achieved_per_s"`
		Ops      map[string]struct {
			Count    int64   `json:"count"`
			Service  figures `json:"service_ns"`
			Response figures `json:"response_ns"`
			Slip     figures `json:"slip_ns"`
		} `json:"ops"`
		Hiccup figures `json:"hiccup_ns"`
	}
	decoder := json.NewDecoder(strings.NewReader(stdout))
	if err := decoder.Decode(&got); err != nil {
		t.Fatalf("stdout is not JSON: %v\n%s", err, stdout)
	}
	if decoder.More() {
		t.Error("stdout holds more than one object")
	}
	op := got.Ops["append"]
	if got.Schema != "commitlab.result/1" || got.Status == "" || got.Scenario != "append" || !strings.HasPrefix(got.Config, "tuned") ||
		got.Offered == nil || *got.Offered != 2000 || got.Achieved == nil || op.Count != 600 {
		t.Errorf("head of the result is %+v", got)
	}

	f, err := os.Open(filepath.Join(out, result.LatencyFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	merged := map[string]*hdrhistogram.Histogram{}
	for r := hdrhistogram.NewHistogramLogReader(f); ; {
		h, err := r.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		if merged[h.Tag()] == nil {
			merged[h.Tag()] = result.NewHistogram()
		}
		merged[h.Tag()].Merge(h)
	}
	for tag, f := range map[string]figures{
		"append.service": op.Service, "append.response": op.Response, "append.slip": op.Slip, "hiccup": got.Hiccup,
	} {
		h := merged[tag]
		if h == nil {
			t.Errorf("the log has no %s", tag)
			continue
		}
		for _, c := range []struct {
			p    float64
			have *int64
		}{{50, f.P50}, {90, f.P90}, {99, f.P99}, {99.9, f.P999}, {99.99, f.P9999}, {100, f.Max}} {
			if want := h.ValueAtPercentile(c.p); c.have == nil || *c.have != want {
				t.Errorf("%s p%v is %v, the log says %d", tag, c.p, c.have, want)
			}
		}
	}
}

// B-143: progress with carriage returns flooded logs. Without a terminal there
// is no control character, and stdout is the report alone. Lines of CSV end with CR
// and LF, as its standard has it.
func TestB143_NoControlCharactersWithoutATerminal(t *testing.T) {
	for _, format := range []string{"text", "json", "csv", "md", "bench"} {
		stdout, stderr, code := call(t, time.Hour, smallRun(filepath.Join(t.TempDir(), "run"), "--rate", "500", "--format", format)...)
		if !measured(code) {
			t.Fatalf("%s: exit code is %d: %s", format, code, stderr)
		}
		if format == "csv" {
			stdout = strings.ReplaceAll(stdout, "\r\n", "\n")
		}
		if i := strings.IndexAny(stdout+stderr, "\r\x1b"); i >= 0 {
			t.Errorf("%s: output holds %q", format, (stdout + stderr)[i])
		}
		if strings.Contains(stdout, "warm-up, into") || !strings.Contains(stderr, "warm-up, into") {
			t.Errorf("%s: progress belongs to stderr and only there", format)
		}
	}
}

// B-144: without a terminal nothing was said for minutes. Lines come at least
// as often as promised, and --quiet silences them.
func TestB144_StatusLinesWithoutATerminal(t *testing.T) {
	const every = 20 * time.Millisecond
	_, stderr, code := call(t, every, smallRun(filepath.Join(t.TempDir(), "run"), "--rate", "500")...)
	if !measured(code) {
		t.Fatalf("exit code is %d: %s", code, stderr)
	}
	status := 0
	for line := range strings.Lines(stderr) {
		if strings.Contains(line, " of 300ms, ") && strings.Contains(line, "/s, service p50") {
			status++
		}
	}
	if status == 0 || strings.Count(stderr, "\n") < 5 {
		t.Errorf("in 320 ms with a line every %s stderr has %d lines, %d of them with figures:\n%s", every, strings.Count(stderr, "\n"), status, stderr)
	}
	if _, stderr, _ := call(t, every, smallRun(filepath.Join(t.TempDir(), "run"), "--rate", "500", "--quiet")...); stderr != "" {
		t.Errorf("--quiet says:\n%s", stderr)
	}
}

// B-145: a header named the wrong unit. The same run in three units has other
// headers and the same latencies.
func TestB145_UnitAndValuesChangeTogether(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	if _, stderr, code := call(t, time.Hour, smallRun(out, "--rate", "500")...); !measured(code) {
		t.Fatalf("exit code is %d: %s", code, stderr)
	}
	var first []float64
	for _, c := range []struct {
		unit string
		ns   float64
	}{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}} {
		var b bytes.Buffer
		if err := (&runCommand{Format: "csv", Unit: c.unit}).print(&b, out); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&b).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		var values []float64
		for i, header := range rows[0] {
			if !strings.HasPrefix(header, "p") || !strings.HasSuffix(header, "_"+c.unit) {
				continue
			}
			for _, row := range rows[1:] {
				if row[i] == "" {
					continue
				}
				v, err := strconv.ParseFloat(row[i], 64)
				if err != nil {
					t.Fatal(err)
				}
				values = append(values, v*c.ns)
			}
		}
		if len(values) == 0 {
			t.Fatalf("no percentile in %s; header is %v", c.unit, rows[0])
		}
		if first == nil {
			first = values
		}
		for i, v := range values {
			if v < first[i]*0.999-1 || v > first[i]*1.001+1 {
				t.Errorf("value %d in %s is %v ns, want %v as in ns", i, c.unit, v, first[i])
			}
		}
	}
}

// command starts the test binary as loadgen.
func command(t *testing.T, args ...string) (cmd *exec.Cmd, stdout, stderr *syncBuffer) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr = &syncBuffer{}, &syncBuffer{}
	cmd = exec.Command(program, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.Dir = t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended in a test that passes
	return cmd, stdout, stderr
}

// awaitFile waits until a file that matches pattern has content.
func awaitFile(t *testing.T, pattern string) {
	t.Helper()
	for {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			if info, err := os.Stat(path); err == nil && info.Size() > 0 {
				return
			}
		}
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// B-141: SIGINT in the middle of a run lost its results.
func TestB141_SIGINTKeepsTheRun(t *testing.T) {
	cmd, stdout, stderr := command(t, "run", "--rate", "500", "--duration", "1m", "--warmup", "0s",
		"--set", "commitLogFileBytes=1MiB", "--set", "maxBodyBytes=8KiB", "--out", "run", "--format", "json")
	awaitFile(t, filepath.Join(cmd.Dir, "run", result.CountersFile))
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Fatalf("after SIGINT: %v, want exit code 130; stderr: %s", err, stderr)
	}
	var s result.Summary
	if err := json.Unmarshal([]byte(stdout.String()), &s); err != nil {
		t.Fatalf("stdout: %v\n%s", err, stdout)
	}
	if s.Status != result.Interrupted || s.Done == 0 || s.Ops["append"].Service.P99 == nil {
		t.Errorf("result is %s with %d operations, want interrupted with those that were done", s.Status, s.Done)
	}
	if stores, err := filepath.Glob(filepath.Join(cmd.Dir, "run", "store-*")); err != nil || len(stores) > 0 {
		t.Errorf("stores left behind: %v, %v", stores, err)
	}
}

// B-141 for a study: the cell under way is kept as interrupted, what was
// finished is shown, and the study can be gone on with.
func TestB141_SIGINTKeepsTheStudy(t *testing.T) {
	const file = `
name: long
blocks: 1
exploratory: true
warmup: 0s
duration: 200ms
cooldown: 0s
aa: false
configs: [{name: small, base: tuned, set: {commitLogFileBytes: 1MiB, maxBodyBytes: 8KiB}}]
scenarios:
  - {scenario: append, name: one, rate: 500}
  - {scenario: append, name: two, rate: 500}
`
	path := filepath.Join(t.TempDir(), "long.yaml")
	if err := os.WriteFile(path, []byte(strings.Replace(file, "duration: 200ms", "duration: 3s", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd, stdout, stderr := command(t, "study", path)
	// Interrupt the second of the two runs.
	for n := 0; n < 2; time.Sleep(5 * time.Millisecond) {
		manifests, err := filepath.Glob(filepath.Join(cmd.Dir, "results/*-long/runs/*/001", result.ManifestFile))
		if err != nil {
			t.Fatal(err)
		}
		n = len(manifests)
	}
	time.Sleep(time.Second) // into its window
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Fatalf("after SIGINT: %v, want exit code 130; stderr: %s", err, stderr)
	}
	if !strings.Contains(stdout.String(), "report: results/") || !strings.Contains(stderr.String(), "go on with: loadgen study results/") {
		t.Errorf("after SIGINT: want the comparison so far and how to go on; stdout:\n%s\nstderr:\n%s", stdout, stderr)
	}
	dirs, err := filepath.Glob(filepath.Join(cmd.Dir, "results/*-long"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("study directories: %v, %v", dirs, err)
	}
	dir, err := result.Open(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	statuses := map[result.Status]int{}
	for _, slot := range dir.Study.Order {
		m, err := result.ReadManifest(dir.RunPath(slot.Cell, slot.Block))
		if err != nil {
			t.Fatal(err)
		}
		if m.End == nil {
			t.Errorf("%s has no end", slot.Cell)
		}
		statuses[m.Status()]++
	}
	if statuses[result.Interrupted] != 1 || statuses[result.OK]+statuses[result.Invalid] != 1 {
		t.Errorf("runs are %v, want one measured and one interrupted", statuses)
	}
}

func TestQuotedCommandIsReadBackByAShell(t *testing.T) {
	words := []string{"loadgen", "run", "--set", "a=b c", "it's", "", "$HOME", "5%"}
	out, err := exec.Command("sh", "-c", "printf '%s\\n' "+quoteCommand(words)).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"); strings.Join(got, "|") != strings.Join(words, "|") {
		t.Errorf("a shell reads %q, want %q", got, words)
	}
}

func TestDoctorNamesReasonAndMending(t *testing.T) {
	stdout, _, code := call(t, time.Hour, "doctor", "--dir", t.TempDir(), "--format", "json")
	var findings []struct{ Severity, What, Why string }
	if err := json.Unmarshal([]byte(stdout), &findings); err != nil {
		t.Fatalf("%v\n%s", err, stdout)
	}
	problems := 0
	for _, f := range findings {
		if f.What == "" || f.Why == "" {
			t.Errorf("finding without what or why: %+v", f)
		}
		if f.Severity == "problem" {
			problems++
		}
	}
	if (code == exitFailed) != (problems > 0) {
		t.Errorf("exit code is %d with %d problems", code, problems)
	}
}

func TestProgressIsSilentAfterClose(t *testing.T) {
	var b syncBuffer
	p := newProgress(&b, false, 10, time.Millisecond)
	p.note("begun")
	p.close()
	before := b.String()
	time.Sleep(20 * time.Millisecond)
	if b.String() != before || !strings.HasPrefix(before, "begun\n") {
		t.Errorf("said %q, after close %q", before, b.String())
	}
}
