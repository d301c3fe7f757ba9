// Package peertest is a peer without a store, for tests of what stands around
// one. The test binary itself is the program: its TestMain calls Main, and a test
// calls Use with what the fake shall do.
//
//	func TestMain(m *testing.M) { peertest.Main(); os.Exit(m.Run()) }
//
// The fake measures nothing: it answers at once with the operations that the plan
// asks for, each of them a microsecond long and on time.
package peertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"commitlab/bench/peer"
)

// Behaviour is what the fake does when it is told to bench.
type Behaviour string

// The behaviours. All but the first four are lies that a reader must find.
const (
	Measures Behaviour = "measures"
	Waits    Behaviour = "waits"   // until it is told to end early
	Missing  Behaviour = "missing" // says, also when it is only asked, that there is no Java
	Crashes  Behaviour = "crashes"

	Fails         Behaviour = "fails"           // an operation does, half way
	Miscounts     Behaviour = "miscounts"       // one operation more than its histograms
	WrongTag      Behaviour = "wrong tag"       // an operation that is not in the plan
	WrongRange    Behaviour = "wrong range"     // histograms of another range
	MissingLines  Behaviour = "missing lines"   // a log that ends early
	SpareLines    Behaviour = "spare lines"     // a log with more than the ticks say
	OtherSchema   Behaviour = "other schema"    // files of another version
	NothingIsLeft Behaviour = "nothing is left" // it ends well and writes nothing
)

// variable carries the behaviour to the fake's process.
const variable = "COMMITLAB_FAKE_PEER"

// Use makes the test binary the peer's program for the rest of the test. It
// cannot be used in parallel tests.
func Use(t *testing.T, b Behaviour) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(peer.ProgramVariable, program)
	t.Setenv(variable, string(b))
}

// Main is the fake's process if this is one, and does nothing otherwise. The
// program is called as scripts/rocketmq/run.sh is.
func Main() {
	b := Behaviour(os.Getenv(variable))
	if b == "" || len(os.Args) < 3 || os.Args[1] != "v4" && os.Args[1] != "v5" {
		return
	}
	if b == Missing {
		fmt.Fprintln(os.Stderr, "fake: no java on the PATH")
		os.Exit(3)
	}
	var err error
	switch os.Args[2] {
	case "check":
		fmt.Println("built")
	case "info":
		fmt.Println(`{"store": "fake"}`)
	default:
		err = b.bench(os.Args[3])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fake:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// plan is what the fake needs of plan.json.
type plan struct {
	Ops           []string
	RatePerSecond float64
	WarmupNs      int64
	DurationNs    int64
	TickNs        int64
	OutlierOverNs int64
}

// closedRate is how many operations per second the fake does in a closed loop.
const closedRate = 10_000

func (b Behaviour) bench(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "plan.json"))
	if err != nil {
		return err
	}
	var p plan
	if err := json.Unmarshal(text, &p); err != nil {
		return err
	}
	switch b {
	case Crashes:
		return fmt.Errorf("a fatal error has been detected")
	case Waits:
		_, _ = io.Copy(io.Discard, os.Stdin) // whatever ended it, it has ended
	case NothingIsLeft:
		return nil
	}
	r := recording{plan: p, behaviour: b, zero: time.Now()}
	r.ticks()
	return r.write(dir)
}

// recording is what the fake pretends to have measured.
type recording struct {
	plan
	behaviour Behaviour
	zero      time.Time // of its clock

	done                     int64
	tickLines, log, outliers bytes.Buffer
}

// ticks makes all intervals of the window, each with its share of operations;
// one that waits was told to end half way.
func (r *recording) ticks() {
	w := hdrhistogram.NewHistogramLogWriter(&r.log)
	end := r.WarmupNs + r.length()
	for n, from := 0, r.WarmupNs; from < end; n++ {
		to := min(from+r.TickNs, end)
		r.tick(w, from, to)
		if r.OutlierOverNs > 0 {
			fmt.Fprintf(&r.outliers, `{"tick":%d,"worker":0,"n":%d,"dueNs":%d,"startNs":%d,"endNs":%d,"offset":4096}`+"\n",
				n, n, from, from, from+r.OutlierOverNs)
		}
		from = to
	}
	if r.behaviour == SpareLines {
		r.line(w, "hiccup", r.WarmupNs, end, 1, 1)
	}
}

func (r *recording) length() int64 {
	if r.behaviour == Waits || r.behaviour == Fails {
		return r.DurationNs / 2
	}
	return r.DurationNs
}

func (r *recording) tick(w *hdrhistogram.HistogramLogWriter, from, to int64) {
	rate := r.RatePerSecond
	open := rate > 0
	if !open {
		rate = closedRate
	}
	n := int64(rate*float64(to)/1e9) - int64(rate*float64(from)/1e9)
	r.done += n
	tags := []string{"hiccup"}
	for _, op := range r.Ops {
		tags = append(tags, op+".service")
	}
	if open {
		tags = append(tags, r.Ops[0]+".response", r.Ops[0]+".slip", r.Ops[0]+".lag")
	}
	if r.behaviour == WrongTag {
		tags = append(tags, "another.service")
	}
	extremes := map[string]any{}
	for i, tag := range tags {
		extremes[tag] = map[string]int64{"max_ns": 1000 + int64(i)}
		if r.behaviour != MissingLines || i+1 < len(tags) {
			r.line(w, tag, from, to, 1000+int64(i), n)
		}
	}
	line, _ := json.Marshal(map[string]any{ // of plain values
		"fromNs": from, "toNs": to, "tags": tags, "extremes": extremes, "counters": map[string]int64{"done": r.done},
	})
	fmt.Fprintf(&r.tickLines, "%s\n", line)
}

func (r *recording) line(w *hdrhistogram.HistogramLogWriter, tag string, from, to, value, n int64) {
	highest := int64(100_000_000_000)
	if r.behaviour == WrongRange {
		highest = 1_000_000
	}
	h := hdrhistogram.New(1, highest, 3)
	_ = h.RecordValues(value, n) // within the range
	h.SetTag(tag)
	h.SetStartTimeMs(r.zero.UnixMilli() + from/1e6)
	h.SetEndTimeMs(r.zero.UnixMilli() + to/1e6)
	_ = w.OutputIntervalHistogram(h) // into memory
}

func (r *recording) write(dir string) error {
	end := r.WarmupNs + r.length()
	outcome := map[string]any{
		"schema": peer.Schema, "dateMs": r.zero.UnixMilli(),
		"openedNs": r.WarmupNs, "endNs": end, "drainedNs": end, "done": r.done, "ended": r.done, "busyNs": r.done * 1000,
		"target": map[string]string{"store": "fake", "runtime": "none", "flags": os.Getenv("JAVA_OPTIONS")},
	}
	switch r.behaviour {
	case Waits:
		outcome["cancelled"] = true
	case Fails:
		outcome["failure"] = "put: the disk is full"
	case Miscounts:
		outcome["done"] = r.done + 1
	case OtherSchema:
		outcome["schema"] = "commitlab.peer/0"
	}
	text, err := json.Marshal(outcome)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"latency.hlog": r.log.Bytes(), "ticks.jsonl": r.tickLines.Bytes(), "outliers.jsonl": r.outliers.Bytes(), "outcome.json": text,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o666); err != nil {
			return err
		}
	}
	return nil
}
