package peer_test

import (
	"errors"
	"flag"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"commitlab/bench/measure"
	"commitlab/bench/pace"
	"commitlab/bench/peer"
	"commitlab/bench/scenario"
	"commitlab/bench/workload"
	"commitlab/engine"
)

var java = flag.Bool("java", false, "measure the real store on a Java virtual machine, which is built with Maven first")

// Goal: what the real store was given is what bench/workload makes, byte for byte,
// and what the peer recorded agrees with what is in the store. Method: a paced run
// of mixed messages on a Java virtual machine; then open the store that it left,
// as a crash would have, and compare every message.
func TestJavaPutsTheWorkload(t *testing.T) {
	if !*java {
		t.Skip("takes a Java virtual machine, and Maven once; run with -java")
	}
	for _, generation := range []string{"v4", "v5"} {
		t.Run(generation, func(t *testing.T) { javaPutsTheWorkload(t, generation) })
	}
}

func javaPutsTheWorkload(t *testing.T, generation string) {
	pacer, err := pace.NewConstant(2000)
	if err != nil {
		t.Fatal(err)
	}
	options, err := peer.Configs[0].With("generation="+generation, "jvm=-Xmx512m", "mappedFileSizeCommitLog=16MiB")
	if err != nil {
		t.Fatal(err)
	}
	if options, err = options.Resolve("append", pacer); err != nil {
		t.Fatal(err)
	}
	sizes, err := workload.ParseSizes("20x2,30-3000x5,10000")
	if err != nil {
		t.Fatal(err)
	}
	data, err := workload.New(workload.Spec{
		Seed: 1<<63 + 5, Body: sizes, Topics: 3, Queues: 5, Tags: 4, Keys: 1000, KeysPerMessage: 2, UniqueKeys: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	job := peer.Job{
		Options: options, Scenario: "append", Workload: data.Spec(), MaxBytes: 1 << 30, Dir: filepath.Join(t.TempDir(), "run"),
		Plan: measure.Plan{Primary: "append", Workers: 3, Pacer: pacer, Warmup: 500 * time.Millisecond, Duration: 3 * time.Second},
	}
	if _, err := options.Ask(t.Context()); errors.Is(err, peer.ErrUnavailable) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	sink := &collector{}
	o, facts, err := peer.Run(t.Context(), job, sink)
	if err != nil || o.Status != measure.OK && o.Status != measure.Invalid { // a busy machine is told so
		t.Fatalf("status %s: %s, error %v", o.Status, o.Reason, err)
	}
	t.Logf("%v: %d of %d done, %d late, service p50 %v", facts, o.Done, o.Due, o.Late, o.Ops[0].Service.Hist.ValueAtPercentile(50))
	if o.Due != 6000 || o.Done+o.Late+o.NeverSent != o.Due || o.Hiccup.Count() == 0 || len(sink.ticks) < 10 {
		t.Errorf("due %d, done %d, late %d, never sent %d, %d hiccups in %d ticks", o.Due, o.Done, o.Late, o.NeverSent, o.Hiccup.Count(), len(sink.ticks))
	}
	if found := checkStore(t, data, filepath.Join(job.Dir, "store")); found < o.Done+o.Late {
		t.Errorf("%d messages in the store, %d were put in the window alone", found, o.Done+o.Late)
	}
}

// checkStore compares every message of a store with the workload and returns how
// many there are.
func checkStore(t *testing.T, data *workload.Workload, dir string) (found uint64) {
	t.Helper()
	s, err := engine.Open(dir, engine.Options{CommitLogFileBytes: 16 << 20, Dispatch: engine.Off})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	next := map[int]uint64{} // sequence by worker
	generators := map[int]*workload.Generator{}
	for at, end := int64(0), s.Snapshot().CommitLog.AppendedOffset; at < end; {
		view, err := s.At(at)
		if err != nil {
			at = (at/(16<<20) + 1) * (16 << 20) // behind the last record of a file is its blank
			if at < end {
				continue
			}
			break
		}
		worker, sequence, ok := data.Identify(view.Body)
		if !ok { // too short a body to tell
			worker, sequence = shortBody(data, generators, next, view.Topic, view.QueueID, view.Body)
		}
		if generators[worker] == nil {
			generators[worker] = data.Generator(worker)
		}
		want := generators[worker].At(sequence)
		if err := generators[worker].Check(sequence, view.Topic, view.QueueID, view.Body); err != nil {
			t.Fatalf("offset %d: %v", at, err)
		}
		if got := string(view.Record.Properties); got != string(want.Properties) && got+"\x02" != string(want.Properties) {
			t.Fatalf("offset %d: properties %q, want %q", at, got, want.Properties)
		}
		if sequence != next[worker] {
			t.Fatalf("offset %d: message %d of worker %d, want %d", at, sequence, worker, next[worker])
		}
		next[worker]++
		found++
		at += int64(len(view.Bytes()))
		view.Release()
	}
	return found
}

// shortBody finds whose next message a body is that has no room for its sequence.
func shortBody(data *workload.Workload, generators map[int]*workload.Generator, next map[int]uint64, topic []byte, queue int32, body []byte) (worker int, sequence uint64) {
	for worker := range 3 {
		if generators[worker] == nil {
			generators[worker] = data.Generator(worker)
		}
		if generators[worker].Check(next[worker], topic, queue, body) == nil {
			return worker, next[worker]
		}
	}
	return 0, next[0]
}

// Goal: the real store does every scenario, under the names by which this module's
// engine does it, and what it was asked to store or find is there. Method: a moment
// of each with little data; the peer verifies what it did.
func TestJavaDoesEveryScenario(t *testing.T) {
	if !*java {
		t.Skip("takes a Java virtual machine, and Maven once; run with -java")
	}
	for _, generation := range []string{"v4", "v5"} {
		for _, name := range []string{"append_sync", "dispatch", "dispatch_rebuild", "lookup", "get", "destroy"} {
			t.Run(generation+"/"+name, func(t *testing.T) { javaDoes(t, generation, name) })
		}
	}
}

func javaDoes(t *testing.T, generation, name string) {
	found, err := scenario.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	options, err := peer.Configs[0].With("generation="+generation, "jvm=-Xmx512m", "mappedFileSizeCommitLog=4MiB", "maxIndexNum=20000", "maxHashSlotNum=5000")
	if err != nil {
		t.Fatal(err)
	}
	if options, err = options.Resolve(name, nil); err != nil {
		t.Fatal(err)
	}
	data, err := workload.New(workload.Spec{Seed: 3, Topics: 2, Queues: 2})
	if err != nil {
		t.Fatal(err)
	}
	o, _, err := peer.Run(t.Context(), peer.Job{
		Options: options, Scenario: name, Workload: data.Spec(), MaxBytes: 8 << 20, Dir: filepath.Join(t.TempDir(), "run"),
		Plan: measure.Plan{Primary: found.Ops[0], Ops: found.Ops[1:], Workers: min(found.Writers, 4), Duration: 300 * time.Millisecond},
	}, &collector{})
	if errors.Is(err, peer.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil || o.Done+o.Late == 0 {
		t.Fatalf("status %s: %s, %d done, error %v", o.Status, o.Reason, o.Done+o.Late, err)
	}
	for _, op := range o.Ops {
		// The peer does not see into a deletion, and looks at its rebuilding once a second.
		cannot := strings.HasPrefix(op.Name, "destroy.") || op.Name == "rebuild.mib"
		if (op.Service.Count() == 0) != cannot {
			t.Errorf("%s was timed %d times", op.Name, op.Service.Count())
		}
	}
}
