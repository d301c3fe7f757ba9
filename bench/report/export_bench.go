package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode"

	"commitlab/bench/result"

	"golang.org/x/perf/benchfmt"
)

// exportBench writes each run that counts as one line of the Go benchmark
// format, so that benchstat sees as many samples as there were runs:
//
//	BenchmarkAppend/config=tuned/pace=200000/workers=1-2 1000000 902 ns/op 3070 p99.9-ns/op …
//
// ns/op is the mean service time; percentiles of the response time are named
// p99.9-response-ns/op. Runs that do not count are left out: the format has no
// way to mark them.
func (r *Report) exportBench(w io.Writer, o ExportOptions) error {
	out := benchfmt.NewWriter(w)
	for _, m := range []benchfmt.UnitMetadata{
		{UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: "ops/s", Key: "better"}, OrigUnit: "ops/s", Value: "higher"},
	} {
		if err := out.Write(&m); err != nil {
			return err
		}
	}
	for _, g := range r.Groups {
		for _, op := range g.operations() {
			for _, c := range g.Cells {
				for _, run := range c.Counted() {
					res, ok := run.bench(g, c, op, o)
					if !ok {
						continue
					}
					if err := out.Write(res); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// operations returns the operations of the group, the primary one first.
func (g *Group) operations() []string {
	var ops []string
	for _, tag := range g.Tags() {
		if op, _ := splitTag(tag); len(ops) == 0 || ops[len(ops)-1] != op {
			ops = append(ops, op)
		}
	}
	return ops
}

func (r *Run) bench(g *Group, c *Cell, op string, o ExportOptions) (*benchfmt.Result, bool) {
	service := r.Latency[result.Tag(op, result.Service)]
	if service == nil || service.Count == 0 {
		return nil, false
	}
	name := fmt.Sprintf("%s/config=%s/pace=%s/workers=%d", benchName(g.Scenario), keyValue(c.Label), keyValue(g.Pace), g.Workers)
	if op != g.Primary {
		name += "/op=" + keyValue(op)
	}
	h := r.Manifest.Host
	res := &benchfmt.Result{Name: benchfmt.Name(fmt.Sprintf("%s-%d", name, max(1, h.GOMAXPROCS))), Iters: int(service.Count)}
	for _, f := range []fact{{"goos", h.OS}, {"goarch", h.Arch}, {"cpu", h.CPUModel}, {"commit", h.Revision}} {
		if f.Value != "" {
			res.Config = append(res.Config, benchfmt.Config{Key: f.Name, Value: []byte(f.Value), File: true})
		}
	}
	if o.wants(c, result.Tag(op, result.Service)) {
		res.Values = append(res.Values, benchfmt.Value{Value: math.Round(10*service.MeanNs) / 10, Unit: "ns/op"})
		for i, s := range Statistics {
			res.Values = append(res.Values, benchfmt.Value{Value: service.Values[i], Unit: s.Name + "-ns/op"})
		}
	}
	if l := r.Latency[result.Tag(op, result.Response)]; l != nil && l.Count > 0 && o.wants(c, result.Tag(op, result.Response)) {
		for i, s := range Statistics {
			res.Values = append(res.Values, benchfmt.Value{Value: l.Values[i], Unit: s.Name + "-response-ns/op"})
		}
	}
	if _, achieved := r.rates(); achieved > 0 && op == g.Primary && o.wants(c, o.Tag) {
		res.Values = append(res.Values, benchfmt.Value{Value: achieved, Unit: "ops/s"})
	}
	return res, len(res.Values) > 0
}

// benchName turns append_sync into AppendSync.
func benchName(scenario string) string {
	var b strings.Builder
	upper := true
	for _, c := range scenario {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			upper = true
			continue
		}
		if upper {
			c = unicode.ToUpper(c)
		}
		upper = false
		b.WriteRune(c)
	}
	return b.String()
}

// keyValue makes s a value of a benchmark name: no spaces, no slashes.
func keyValue(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) || c == '/' {
			return '_'
		}
		return c
	}, s)
}
