package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"commitlab/bench/measure"
	"commitlab/bench/scenario"
	"commitlab/bench/workload"
	"commitlab/engine"
	"commitlab/engine/fsutil"
)

var dirFlag = flag.String("dir", "", "directory for the stores of benchmarks; decides the disk (default: the system's temporary directory)")

var volumeFlag = flag.Int64("volume", 64<<20, "bytes that scenarios which only read store first")

// benchConfigs are the configurations that benchmarks of the engine run with.
// populated has its pages made before the clock runs, as the baseline has.
var benchConfigs = []string{"rocketmq", "tuned", "populated"}

const (
	benchBodyBytes = 1024
	timedEvery     = 16 // one operation in so many is timed by itself
)

// BenchmarkScenario runs every scenario that is not slow; those that measure the
// engine with each of benchConfigs.
func BenchmarkScenario(b *testing.B) {
	root := benchRoot(b)
	for _, s := range scenario.All {
		if s.Slow {
			continue
		}
		configs := benchConfigs
		if !s.Engine {
			configs = []string{"tuned"}
		}
		for _, config := range configs {
			for _, writers := range benchWriters(s) {
				name := fmt.Sprintf("scenario=%s/config=%s/size=%d/writers=%d", s.Name, config, benchBodyBytes, writers)
				b.Run(name, func(b *testing.B) { benchmark(b, root, s, config, writers) })
			}
		}
	}
}

// benchRoot is where the stores go. The file system is a line of the output
// that benchstat takes for a configuration key, since figures of a tmpfs do not
// compare with those of a disk.
func benchRoot(b *testing.B) string {
	root := *dirFlag
	if root == "" {
		root = os.TempDir()
	}
	name, err := fsutil.FileSystem(root)
	if err != nil {
		b.Fatalf("-dir: %v", err)
	}
	fmt.Printf("filesystem: %s\n", name)
	return root
}

// benchWriters adds one writer to the number a scenario is meant for.
func benchWriters(s scenario.Scenario) []int {
	if s.Writers == 1 {
		return []int{1}
	}
	return []int{1, s.Writers}
}

func benchmark(b *testing.B, root string, s scenario.Scenario, config string, writers int) {
	c, err := scenario.FindConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	spec := scenario.Spec{Options: c.Options, Writers: writers, Workload: workload.Spec{Seed: 1}}
	// What a store says in order would stand in the middle of a line of results.
	spec.Options.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	record, err := scenario.RecordBytes(spec.Workload)
	if err != nil {
		b.Fatal(err)
	}
	// A file's worth to spare for what does not fit at ends of files.
	spec.MaxBytes = min(s.MaxBytes, int64(float64(b.N)*record*1.02)+8<<20)
	if s.Reads {
		spec.MaxBytes = *volumeFlag
	}
	d := &driver{scenario: s, spec: spec, root: root}
	b.ReportAllocs()
	b.SetBytes(max(s.OpBytes, int64(record)))
	b.StopTimer()
	total, err := d.run(b.Context(), b.N, b.StartTimer, b.StopTimer)
	if err != nil {
		b.Fatal(err)
	}
	for _, op := range total {
		unit := op.Name + "-"
		if op.Name == s.Ops[0] {
			unit = ""
		}
		for _, p := range []float64{50, 99, 99.9} {
			if ns, ok := op.Service.Percentile(p); ok {
				b.ReportMetric(float64(ns), fmt.Sprintf("%sp%v-ns/op", unit, p))
			}
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msgs/s")
}

// driver counts operations of a scenario instead of timing a window of them. A
// store whose byte budget is used is replaced by a fresh one.
type driver struct {
	scenario scenario.Scenario
	spec     scenario.Spec
	root     string
	stores   int // how many were used
}

// run does n operations, shared out to the writers. start and stop bracket the
// operations and leave everything else out.
func (d *driver) run(ctx context.Context, n int, start, stop func()) ([]measure.OpOutcome, error) {
	spec, err := d.scenario.Resolve(d.spec)
	if err != nil {
		return nil, err
	}
	crew := make([]*measure.Worker, spec.Writers)
	for i := range crew {
		crew[i] = measure.NewWorker(i, spec.Workload.Seed, d.scenario.Ops[0], d.scenario.Ops[1:]...)
	}
	for n > 0 {
		done, err := d.store(ctx, spec, crew, n, start, stop)
		if err != nil {
			return nil, err
		}
		if done == 0 {
			return nil, fmt.Errorf("%s: a store of %d bytes took no operation", d.scenario.Name, spec.MaxBytes)
		}
		n -= done
	}
	return observed(crew)
}

// store does up to n operations on a fresh store, less if its budget ends.
func (d *driver) store(ctx context.Context, spec scenario.Spec, crew []*measure.Worker, n int, start, stop func()) (done int, err error) {
	d.stores++
	dir, err := os.MkdirTemp(d.root, "bench-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	spec.Dir = filepath.Join(dir, "store")
	instance, err := d.scenario.New(spec)
	if err != nil {
		return 0, err
	}
	if err := instance.Setup(ctx); err != nil {
		return 0, err
	}
	counts := make([]int, len(crew))
	errs := make([]error, len(crew))
	var all sync.WaitGroup
	start()
	for i, w := range crew {
		share := n / len(crew)
		if i < n%len(crew) {
			share++
		}
		all.Go(func() { counts[i], errs[i] = repeat(instance, w, share) })
	}
	all.Wait()
	stop()
	for _, c := range counts {
		done += c
	}
	return done, errors.Join(errors.Join(errs...), instance.Verify(ctx), instance.Close())
}

// repeat does n operations, less if the target ends them.
func repeat(instance measure.Instance, w *measure.Worker, n int) (done int, err error) {
	for ; done < n; done++ {
		if done%timedEvery == 0 {
			err = w.Timed(instance)
		} else {
			err = w.Do(instance)
		}
		if errors.Is(err, measure.ErrEnd) {
			return done, nil
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// observed merges what the workers recorded.
func observed(crew []*measure.Worker) ([]measure.OpOutcome, error) {
	total := crew[0].Observed()
	for _, w := range crew[1:] {
		for i, op := range w.Observed() {
			switch {
			case op.Service == nil:
			case total[i].Service == nil:
				total[i].Service = op.Service
			default:
				t := total[i].Service
				if dropped := t.Hist.Merge(op.Service.Hist); dropped > 0 {
					return nil, fmt.Errorf("%s: %d values lost in merging", op.Name, dropped)
				}
				t.Max = max(t.Max, op.Service.Max)
				t.Over += op.Service.Over
			}
		}
	}
	return total, nil
}

// Goal: the benchmarks work, also when a store is used up in the middle, and do
// exactly as many operations as they report.
func TestDriverDoesEveryOperation(t *testing.T) {
	for _, s := range scenario.All {
		t.Run(s.Name, func(t *testing.T) {
			n, writers, stores := 3000, 3, 3
			if s.Reads {
				n, writers, stores = 6*timedEvery, 1, 1
			}
			d := &driver{scenario: s, root: t.TempDir(), spec: scenario.Spec{
				Writers: writers, MaxBytes: 1 << 20,
				Options: engine.Options{
					CommitLogFileBytes: 512 << 10, MaxBodyBytes: 8 << 10,
					ConsumeQueueFileBytes: 20 << 10, IndexSlots: 1000, IndexItems: 4000,
					Logger: slog.New(slog.DiscardHandler),
				},
			}}
			running, brackets := false, 0
			total, err := d.run(t.Context(), n,
				func() { running = true; brackets++ }, func() { running = false })
			if err != nil {
				t.Fatal(err)
			}
			if running || brackets != d.stores || d.stores < stores {
				t.Errorf("timer ran %d times over %d stores and is on: %v; want once for each of %d stores or more", brackets, d.stores, running, stores)
			}
			if timed := total[0].Service.Count(); timed < int64(n/timedEvery) || timed > int64(n/timedEvery+3*d.stores) {
				t.Errorf("%d operations were timed by themselves, want %d or a few more", timed, n/timedEvery)
			}
			if left, err := os.ReadDir(d.root); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
