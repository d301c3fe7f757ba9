package report

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"commitlab/bench/host"
	"commitlab/bench/result"
)

// profiled describes a run with profilers to be written.
type profiled struct {
	config, options string
	scenario        string // append if empty
	length          time.Duration
	perSecond       float64 // 0: the run has no end
	status          result.Status
	stacks          map[string]int64 // functions from the running one outwards: samples per second
	cpus            int
}

// write writes the run into dir with a CPU profile of 100 samples a second.
func (r profiled) write(t testing.TB, dir string) string {
	t.Helper()
	if r.scenario == "" {
		r.scenario = "append"
	}
	w, err := result.CreateRun(dir, result.Manifest{
		Scenario: r.scenario, Config: r.config, Primary: r.scenario, Options: json.RawMessage(r.options), Pace: "10000", Workers: 1,
		Profiles: []string{"cpu"}, Command: []string{"loadgen", "run", "--config", r.config},
		DurationNs: int64(r.length), TickNs: int64(time.Second), Host: host.Facts{OS: "linux", CPUs: r.cpus}, Start: epoch,
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.perSecond > 0 {
		end := result.End{Time: epoch.Add(r.length), Status: r.status, WindowNs: int64(r.length), AchievedPerSecond: &r.perSecond}
		if r.status == "" {
			end.Status = result.OK
		} else {
			end.Reason = "for a reason"
		}
		err = w.End(end)
	} else {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	r.writeProfile(t, filepath.Join(dir, r.scenario+"-"+r.config+".cpu.pprof"))
	return dir
}

func (r profiled) writeProfile(t testing.TB, path string) {
	t.Helper()
	const period = int64(10 * time.Millisecond)
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: period,
		DurationNanos: int64(r.length), Comments: []string{"kind=cpu"},
	}
	locations := map[string]*profile.Location{}
	for _, functions := range sortedKeys(r.stacks) {
		n := r.stacks[functions] * int64(r.length/time.Second)
		s := &profile.Sample{Value: []int64{n, n * period}}
		for _, name := range strings.Fields(functions) {
			if locations[name] == nil {
				f := &profile.Function{ID: uint64(len(locations) + 1), Name: name}
				locations[name] = &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}}
				p.Function, p.Location = append(p.Function, f), append(p.Location, locations[name])
			}
			s.Location = append(s.Location, locations[name])
		}
		p.Sample = append(p.Sample, s)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// unlikeLengths are runs of one load for 30 s and for 60 s, in which two functions
// differ.
func unlikeLengths() (a, b profiled) {
	a = profiled{config: "rocketmq", options: `{"populate":"none","flush":"async"}`, length: 30 * time.Second, perSecond: 10_000, stacks: map[string]int64{
		"runtime.memmove engine.append bench.work": 40, "crc32.update engine.append bench.work": 8, "time.now bench.wait bench.work": 30, "syscall.msync engine.flush": 2,
	}}
	b = a
	b.config, b.options, b.length = "tuned", `{"populate":"window","flush":"async"}`, 60*time.Second
	b.stacks = map[string]int64{
		"runtime.memmove engine.append bench.work": 15, "crc32.update engine.append bench.work": 8, "time.now bench.wait bench.work": 30, "syscall.msync engine.flush": 2,
		"syscall.madvise engine.populate": 1,
	}
	return a, b
}

// loadProfiles writes the runs, loads their CPU profiles and puts fixed paths in
// the place of theirs.
func loadProfiles(t testing.TB, focus string, runs ...profiled) *Profiles {
	t.Helper()
	var paths []string
	for i, r := range runs {
		paths = append(paths, r.write(t, filepath.Join(t.TempDir(), strconv.Itoa(i))))
	}
	var on *regexp.Regexp
	if focus != "" {
		on = regexp.MustCompile(focus)
	}
	p, err := LoadProfiles("cpu", on, paths...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Runs {
		p.Runs[i].File = filepath.Join("results", p.Runs[i].Manifest.Config, filepath.Base(p.Runs[i].File))
	}
	return p
}

func rendered(t testing.TB, write func(io.Writer, ProfileOptions) error, o ProfileOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// B-139: two profiles of the same load for 30 s and 60 s differed in everything,
// and shares of that signed sum went beyond 100 %. Here only what differs per
// operation does, and there are no shares.
func TestB139_ReportIsPerOperationAndHasNoPercentages(t *testing.T) {
	a, b := unlikeLengths()
	p := loadProfiles(t, "", a, b)
	got := rendered(t, p.Text, ProfileOptions{})
	for _, line := range []string{
		`runtime.memmove +40,000 +15,000 +-25,000 +1,200 +900 `,
		`crc32.update +8,000 +8,000 +0 ~ +240 +480 `,
		`syscall.madvise +0 +1,000 +\+1,000 +0 +60 `,
	} {
		if !regexp.MustCompile(`(?m)^  ` + line).MatchString(got) {
			t.Errorf("no line %s:\n%s", line, got)
		}
	}
	for name, text := range map[string]string{
		"text": got, "csv": rendered(t, p.CSV, ProfileOptions{}), "json": rendered(t, p.JSON, ProfileOptions{}),
	} {
		if strings.ContainsAny(text, "%") || strings.Contains(text, "percent") || strings.Contains(text, "share") {
			t.Errorf("%s has a percentage:\n%s", name, text)
		}
	}
}

func TestProfilesOfUnlikeRunsAreRefused(t *testing.T) {
	a, b := unlikeLengths()
	b.scenario = "get"
	_, err := LoadProfiles("cpu", nil, a.write(t, filepath.Join(t.TempDir(), "a")), b.write(t, filepath.Join(t.TempDir(), "b")))
	if err == nil || !strings.Contains(err.Error(), "A is of scenario append and B of get") {
		t.Errorf("error %v, want one that names both scenarios", err)
	}
}

func TestProfilesOfUnlikeMachinesSaySo(t *testing.T) {
	a, b := unlikeLengths()
	if got := rendered(t, loadProfiles(t, "", a, b).Text, ProfileOptions{}); strings.Contains(got, "DIFFERING") {
		t.Errorf("one machine is said to differ:\n%s", got)
	}
	a.cpus, b.cpus = 2, 64
	p := loadProfiles(t, "", a, b)
	wantText(t, rendered(t, p.Text, ProfileOptions{}), "DIFFERING CONDITIONS")
	if len(p.Hosts) != 1 || p.Hosts[0].Values[1] != "64" {
		t.Errorf("what differs is %+v, want the number of CPUs", p.Hosts)
	}
}

func TestPeerIsNotProfiled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := result.CreateRun(dir, result.Manifest{Scenario: "append", Config: "rocketmq-java", Primary: "append", Pace: "max", Workers: 1, Start: epoch})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.End(result.End{Status: result.OK, Target: map[string]string{"store": "other"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadProfiles("cpu", nil, dir); err == nil || !strings.Contains(err.Error(), "process of its own") || strings.Contains(err.Error(), "--profile") {
		t.Errorf("error %v, want one that says that there cannot be a profile", err)
	}
}

func TestRunThatNeverEndedIsShownPerSecond(t *testing.T) {
	a, b := unlikeLengths()
	b.perSecond = 0
	got := rendered(t, loadProfiles(t, "", a, b).Text, ProfileOptions{})
	wantText(t, got, "\nns/s; flat", "B: tuned: how many operations it did is not known", "B: tuned: interrupted")
	if !regexp.MustCompile(`(?m)^  syscall.msync +20,000,000 +20,000,000 +0 ~ `).MatchString(got) {
		t.Errorf("no line with 20 ms of msync per second on both sides:\n%s", got)
	}
}

func TestFocusLeavesOutOtherStacks(t *testing.T) {
	a, b := unlikeLengths()
	got := rendered(t, loadProfiles(t, "^engine", a, b).Text, ProfileOptions{})
	wantText(t, got, `Only stacks through "^engine".`)
	if strings.Contains(got, "bench.wait") || !regexp.MustCompile(`(?m)^  all functions +50,000 +26,000 `).MatchString(got) {
		t.Errorf("the total is not that of engine:\n%s", got)
	}
	if _, err := LoadProfiles("cpu", regexp.MustCompile("nowhere"), a.write(t, filepath.Join(t.TempDir(), "a"))); err == nil || !strings.Contains(err.Error(), `"nowhere"`) {
		t.Errorf("error %v, want one that names what matches nothing", err)
	}
}

func TestProfiledRepetitionIsFoundBelowItsRun(t *testing.T) {
	a, _ := unlikeLengths()
	dir := t.TempDir()
	w, err := result.CreateRun(filepath.Join(dir, "run"), result.Manifest{Scenario: "append", Config: "rocketmq", Primary: "append", Pace: "10000", Workers: 1, Start: epoch})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	a.write(t, filepath.Join(dir, "run", result.ProfiledDir))
	p, err := LoadProfiles("cpu", nil, filepath.Join(dir, "run"))
	if err != nil || p.Runs[0].Operations != 300_000 {
		t.Errorf("%v; want the profiled run with its 300,000 operations", err)
	}
}

// Goal: a report on runs that were repeated with profilers shows why they differ,
// in text and page, and one on others does not. Method: two runs, first one and
// then both with a repetition.
func TestReportShowsTopDifferencesOfProfiledRuns(t *testing.T) {
	a, b := unlikeLengths()
	root := t.TempDir()
	var paths []string
	for _, r := range []profiled{a, b} {
		path := filepath.Join(root, r.config)
		w, err := result.CreateRun(path, result.Manifest{
			Scenario: "append", Config: r.config, Options: json.RawMessage(r.options), Primary: "append", Pace: "10000", Workers: 1,
			DurationNs: int64(time.Second), TickNs: int64(time.Second), Start: epoch,
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.End(result.End{Status: result.OK, WindowNs: int64(time.Second), AchievedPerSecond: &r.perSecond}); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	shown := func() bool {
		r, err := Load(paths...)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Problems) > 0 {
			t.Fatalf("problems: %q", r.Problems)
		}
		const title = "CPU time by function, A: rocketmq, B: tuned"
		inText, inPage := strings.Contains(text(t, r, Options{}), title), strings.Contains(pageOf(t, r), title)
		if inText != inPage {
			t.Errorf("in the text: %t, in the page: %t", inText, inPage)
		}
		return inText
	}
	a.write(t, filepath.Join(paths[0], result.ProfiledDir))
	if shown() {
		t.Error("one profile is compared with none")
	}
	b.write(t, filepath.Join(paths[1], result.ProfiledDir))
	if !shown() {
		t.Error("two profiles are not compared")
	}
}

func TestWithoutProfilesTheErrorSaysHow(t *testing.T) {
	a, _ := unlikeLengths()
	run := a.write(t, filepath.Join(t.TempDir(), "run"))
	for _, c := range []struct {
		name, path, kind string
		want             []string
	}{
		{"a kind that was not taken", run, "wall", []string{"no wall profile", "only cpu", "loadgen run --config rocketmq --profile wall"}},
		{"an unknown kind", run, "gpu", []string{`"gpu"`, "want cpu, wall"}},
		{"a study", two(1, always(time.Millisecond), always(time.Millisecond)).write(t), "cpu", []string{"is a study", "--profile cpu"}},
		{"no result", t.TempDir(), "cpu", []string{"manifest.json"}},
	} {
		_, err := LoadProfiles(c.kind, nil, c.path)
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v lacks %q", c.name, err, want)
			}
		}
	}
}

func TestDamagedProfileIsNamed(t *testing.T) {
	a, _ := unlikeLengths()
	run := a.write(t, filepath.Join(t.TempDir(), "run"))
	if err := os.WriteFile(filepath.Join(run, "append-rocketmq.cpu.pprof"), []byte("torn"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadProfiles("cpu", nil, run); err == nil || !strings.Contains(err.Error(), "append-rocketmq.cpu.pprof") {
		t.Errorf("error %v, want one that names the file", err)
	}
}

// What the other forms say parses to what the table holds.
func TestProfileFormsAgree(t *testing.T) {
	a, b := unlikeLengths()
	for _, runs := range [][]profiled{{a, b}, {a}} {
		p := loadProfiles(t, "", runs...)
		m := p.Table.Measures[0]
		first := m.Top(false)[0]
		_, rows := records(t, rendered(t, p.CSV, ProfileOptions{Top: 1}))
		if len(rows) != 2 || rows[0]["function"] != "" || rows[1]["function"] != first.Name || rows[1]["unit"] != "ns/op" ||
			rows[1]["flat_a"] != number(first.Flat.A) || rows[1]["flat_samples_a"] != strconv.FormatInt(first.Flat.SamplesA, 10) {
			t.Errorf("csv rows %v, want the total and %+v", rows, first)
		}
		var got struct {
			PerOperation bool `json:"per_operation"`
			B            *struct{ Operations *uint64 }
			Settings     map[string][]string
			Measures     []struct {
				Functions []struct {
					Name string
					Flat struct {
						A          float64
						Difference *float64 `json:"b_minus_a"`
						Resolved   bool
					}
				}
			}
		}
		if err := json.Unmarshal([]byte(rendered(t, p.JSON, ProfileOptions{Top: 1})), &got); err != nil {
			t.Fatal(err)
		}
		f := got.Measures[0].Functions
		if !got.PerOperation || len(f) != 1 || f[0].Name != first.Name || f[0].Flat.A != first.Flat.A || !f[0].Flat.Resolved {
			t.Errorf("json %+v, want %+v", got, first)
		}
		compared := len(runs) == 2
		if (got.B != nil) != compared || (f[0].Flat.Difference != nil) != compared || (rows[1]["flat_b_minus_a"] != "") != compared {
			t.Errorf("B is %v, the difference %v and %q; want them only where two are compared", got.B, f[0].Flat.Difference, rows[1]["flat_b_minus_a"])
		}
		if compared && (*got.B.Operations != 600_000 || got.Settings["populate"][1] != "window" || len(got.Settings) != 1) {
			t.Errorf("%d operations of B, settings %v; want 600,000 and populate", *got.B.Operations, got.Settings)
		}
	}
}
