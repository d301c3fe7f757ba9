package study

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"commitlab/bench/workload"
)

const sample = `
name: locks
seed: 7
blocks: 6
warmup: 200ms
duration: 2s
cooldown: 0s
aa: false
primary: [append.service.p99]
procs: 3
ratios:
  - name: large to small
    of: {cell: large.spin, metric: append.period}
    to: {cell: append.spin, metric: append.service.p50}
    atLeast: 0.5
    atMost: 2
    note: what it tells
configs:
  - name: tuned
  - name: spin
    base: tuned
    set:
      appendLock: spin
      commitLogFileBytes: 64MiB
      flushIntervalMs: 250
scenarios:
  - scenario: append
    rate: ramp:1k-10k/1s
    writers: 2
    size: 128x3,1KiB
    maxBytes: 1GiB
  - scenario: append
    name: large
    size: 65536
    maxBytes: 1073741824
`

func TestParseReadsEveryField(t *testing.T) {
	s, err := Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "locks" || s.Seed != 7 || s.Blocks != 6 || *s.AA ||
		time.Duration(*s.Warmup) != 200*time.Millisecond || time.Duration(s.Duration) != 2*time.Second || *s.Cooldown != 0 {
		t.Errorf("head of the study is %+v", s)
	}
	want := RatioSpec{Name: "large to small", Of: CellMetricSpec{"large.spin", "append.period"}, To: CellMetricSpec{"append.spin", "append.service.p50"}, AtLeast: 0.5, AtMost: 2, Note: "what it tells"}
	if s.Procs != 3 || len(s.Ratios) != 1 || s.Ratios[0] != want {
		t.Errorf("%d processors, ratios %+v; want 3 and %+v", s.Procs, s.Ratios, want)
	}
	spin := s.Configs[1]
	if spin.Base != "tuned" || spin.Set["appendLock"] != "spin" || spin.Set["commitLogFileBytes"] != "64MiB" || spin.Set["flushIntervalMs"] != "250" {
		t.Errorf("second configuration is %+v", spin)
	}
	first, second := s.Scenarios[0], s.Scenarios[1]
	if first.Size.String() != "128x3,1024" || first.MaxBytes != 1<<30 || first.Writers != 2 || first.Rate != "ramp:1k-10k/1s" {
		t.Errorf("first scenario is %+v", first)
	}
	if second.Name != "large" || second.Size.String() != "65536" || second.MaxBytes != 1<<30 {
		t.Errorf("second scenario is %+v", second)
	}
}

func TestSpecSurvivesJSON(t *testing.T) {
	want, err := Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Spec
	if err := strict(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b workload.Sizes) bool { return a.String() == b.String() })); diff != "" {
		t.Errorf("after a round trip through JSON (-want +got):\n%s", diff)
	}
}

func TestParseIsStrict(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "is empty"},
		{"unknown field", strings.Replace(sample, "blocks:", "block:", 1), "[4:1]"},
		{"unknown inner field", strings.Replace(sample, "base:", "basis:", 1), "basis"},
		{"bad duration", strings.Replace(sample, "duration: 2s", "duration: fast", 1), `"fast" is not a duration`},
		{"negative duration", strings.Replace(sample, "duration: 2s", "duration: -2s", 1), `"-2s" is not a duration`},
		{"bad size", strings.Replace(sample, "128x3,1KiB", "128x0", 1), `weight "0"`},
		{"bad bytes", strings.Replace(sample, "maxBytes: 1GiB", "maxBytes: 1gb", 1), `"1gb" is not a size`},
		{"word for number", strings.Replace(sample, "writers: 2", "writers: two", 1), "writers"},
		{"two documents", sample + "\n---\nname: other\n", "more than one document"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse([]byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Parse says %v, want an error with %q", err, c.want)
			}
		})
	}
}
