package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"commitlab/bench/measure"
	"commitlab/bench/pace"
	"commitlab/bench/workload"
	"commitlab/engine"
	"commitlab/engine/message"
)

// small returns a resolved spec that any machine can run in a moment.
func small(t testing.TB, s Scenario, change func(*Spec)) Spec {
	t.Helper()
	spec := Spec{
		Dir:      filepath.Join(t.TempDir(), "store"),
		Writers:  2,
		MaxBytes: 1 << 20,
		Workload: workload.Spec{Seed: 3, Queues: 2},
		Options: engine.Options{
			CommitLogFileBytes: 256 << 10, MaxBodyBytes: 8 << 10,
			ConsumeQueueFileBytes: 2000, IndexSlots: 1000, IndexItems: 4000,
			Logger: slog.New(slog.DiscardHandler),
		},
	}
	if change != nil {
		change(&spec)
	}
	spec, err := s.Resolve(spec)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func run(t testing.TB, s Scenario, spec Spec) (measure.Outcome, error) {
	t.Helper()
	instance, err := s.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	plan := measure.Plan{Primary: s.Ops[0], Ops: s.Ops[1:], Workers: spec.Writers, Duration: 20 * time.Second}
	if s.Reads {
		plan.Workers, plan.Duration = 1, 300*time.Millisecond
	}
	if s.Rolling { // slow enough for files to be taken down meanwhile
		var err error
		if plan.Pacer, err = pace.NewConstant(2000); err != nil {
			t.Fatal(err)
		}
	}
	return measure.Run(t.Context(), instance, plan, nil)
}

// Goal: every scenario does its work, ends in order when its budget is used,
// verifies what it wrote and leaves a closed store.
func TestEveryScenarioRunsUntilItsBudgetIsUsed(t *testing.T) {
	for _, s := range All {
		t.Run(s.Name, func(t *testing.T) {
			spec := small(t, s, func(p *Spec) {
				if s.Rolling {
					p.Options.CommitLogFileBytes, p.Options.FlushIntervalMs, p.Options.DeleteFileIntervalMs = 64<<10, 1, 1
				}
			})
			o, err := run(t, s, spec)
			if s.Rolling && o.Status == measure.Invalid { // a machine that stood still
				o.Status, o.Reason = measure.OK, "byte budget used"
			}
			if err != nil || o.Status != measure.OK || !s.Reads && !strings.Contains(o.Reason, "byte budget used") {
				t.Fatalf("run ended %q, reason %q, error %v; want ok and the budget used", o.Status, o.Reason, err)
			}
			record, err := RecordBytes(spec.Workload)
			if err != nil {
				t.Fatal(err)
			}
			// Blanks at file ends and what fits no more cost less than one record
			// per file; all workers of a baseline but the one that finds the volume
			// full may leave most of an extent, here a file, unfinished.
			most := float64(spec.MaxBytes)/record + float64(spec.Writers)
			least := 0.9*most - 10
			if !s.Engine {
				least -= float64(spec.Options.CommitLogFileBytes) / record * float64(spec.Writers-1)
			}
			if done := float64(o.Done); !s.Reads && (done > most || done < least) {
				t.Errorf("%v records of %v bytes were written, want about %v: the budget", done, record, most)
			}
			for i, op := range o.Ops {
				if op.Name != s.Ops[i] || op.Service.Count() == 0 && !sometimes[op.Name] {
					t.Errorf("operation %q was timed %d times, want %q at least once", op.Name, op.Service.Count(), s.Ops[i])
				}
			}
			if _, err := os.Stat(filepath.Join(spec.Dir, "abort")); err == nil {
				t.Error("the store was left with an abort marker")
			}
		})
	}
}

// sometimes are steps of a destruction that other values of the option destroy
// have, or readers who hold on.
var sometimes = map[string]bool{
	"destroy.replace": true, "destroy.truncate": true, "destroy.punch": true, "destroy.recycle": true,
}

// Goal: roll times exactly the puts that open a file.
func TestRollIsObservedOncePerFile(t *testing.T) {
	s, err := Find("roll")
	if err != nil {
		t.Fatal(err)
	}
	spec := small(t, s, func(p *Spec) { p.Options.CommitLogFileBytes = 64 << 10 })
	o, err := run(t, s, spec)
	if err != nil {
		t.Fatal(err)
	}
	files := spec.MaxBytes / spec.Options.CommitLogFileBytes
	if got := o.Ops[1].Service.Count(); got < files-1 || got > files {
		t.Errorf("%d rolls were observed, want %d: one for each file but the first", got, files-1)
	}
}

// Goal: Verify cannot be satisfied by a store that lost or changed a message.
// Method: change one byte of each appended body behind the store's back.
func TestVerifyFindsAChangedByte(t *testing.T) {
	for _, s := range All {
		t.Run(s.Name, func(t *testing.T) {
			spec := small(t, s, nil)
			instance, err := s.New(spec)
			if err != nil {
				t.Fatal(err)
			}
			if err := instance.Setup(t.Context()); err != nil {
				t.Fatal(err)
			}
			w := measure.NewWorker(0, 1, s.Ops[0], s.Ops[1:]...)
			for range 20 {
				if err := w.Do(instance); err != nil {
					t.Fatal(err)
				}
			}
			verifyFindsChanges(t, instance, spec.Dir)
		})
	}
}

// Goal: where the log is bounded, what was deleted is not missed, and what is left is
// compared.
func TestVerifyOfABoundedLogComparesWhatIsLeft(t *testing.T) {
	for _, name := range []string{"append", "dispatch"} {
		t.Run(name, func(t *testing.T) {
			s, err := Find(name)
			if err != nil {
				t.Fatal(err)
			}
			spec := small(t, s, nil)
			o := &spec.Options
			o.MaxLogBytes, o.DeleteFileIntervalMs, o.MaxBodyBytes, o.CommitLogFileBytes = 128<<10, 1, 16<<10, 32<<10
			spec.MaxBytes = 64 << 20
			instance, err := s.New(spec)
			if err != nil {
				t.Fatal(err)
			}
			if err := instance.Setup(t.Context()); err != nil {
				t.Fatal(err)
			}
			w := measure.NewWorker(0, 1, s.Ops[0], s.Ops[1:]...)
			for i := 0; instance.(interface{ Counters() any }).Counters().(engine.Snapshot).CommitLog.MinOffset == 0; i++ {
				if i == 100_000 {
					t.Fatal("nothing was deleted")
				}
				if err := w.Do(instance); err != nil {
					t.Fatal(err)
				}
			}
			verifyFindsChanges(t, instance, spec.Dir)
		})
	}
}

// verifyFindsChanges demands that an instance verifies its store, but not once bodies in
// it are changed, and closes it.
func verifyFindsChanges(t *testing.T, instance measure.Instance, dir string) {
	t.Helper()
	if err := instance.Verify(t.Context()); err != nil {
		t.Fatalf("verify before the change: %v", err)
	}
	flipBodies(t, dir)
	if err := instance.Verify(t.Context()); err == nil {
		t.Error("verify accepts changed bodies")
	}
	if err := instance.Close(); err != nil {
		t.Fatal(err)
	}
}

// flipBodies changes one byte in the body of every record below dir. A cleaner may take
// files meanwhile.
func flipBodies(t *testing.T, dir string) {
	t.Helper()
	flipped := 0
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil || e.IsDir() || len(e.Name()) != 20 {
			return err
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer f.Close()
		b, err := io.ReadAll(f)
		if err != nil {
			return err
		}
		for at := 0; ; {
			size, kind, err := message.Check(b[at:], message.CheckOptions{})
			if err != nil || kind != message.KindRecord {
				return nil
			}
			middle := int64(at + size/2)
			if _, err := f.WriteAt([]byte{b[middle] ^ 1}, middle); err != nil {
				return err
			}
			flipped++
			at += size
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if flipped == 0 {
		t.Fatalf("no record was found below %s", dir)
	}
}

func TestOperationsAllocateNothing(t *testing.T) {
	for _, name := range []string{"append", "baseline_memcpy", "baseline_mmap", "baseline_pwrite", "dispatch", "lookup", "lookup_hot", "get"} {
		t.Run(name, func(t *testing.T) {
			s, err := Find(name)
			if err != nil {
				t.Fatal(err)
			}
			instance, err := s.New(small(t, s, func(p *Spec) { p.MaxBytes = 64 << 20; p.Options.CommitLogFileBytes = 64 << 20 }))
			if err != nil {
				t.Fatal(err)
			}
			if err := instance.Setup(t.Context()); err != nil {
				t.Fatal(err)
			}
			w := measure.NewWorker(0, 1, s.Ops[0], s.Ops[1:]...)
			allocs := testing.AllocsPerRun(5000, func() {
				if err := w.Do(instance); err != nil {
					t.Error(err)
				}
			})
			if err := errors.Join(instance.Verify(t.Context()), instance.Close()); err != nil {
				t.Error(err)
			}
			if allocs != 0 {
				t.Errorf("%v allocations per operation, want 0", allocs)
			}
		})
	}
}

func TestResolveFillsInAndJoinsProblems(t *testing.T) {
	sync, err := Find("append_sync")
	if err != nil {
		t.Fatal(err)
	}
	got, err := sync.Resolve(Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Writers != 64 || got.MaxBytes != 2<<30 || got.Options.Flush != engine.FlushSync || got.Workload.Queues != 1 {
		t.Errorf("resolved zero spec is %+v", got)
	}
	again, err := sync.Resolve(got)
	if err != nil || !reflect.DeepEqual(again.Options, got.Options) || again.Writers != got.Writers {
		t.Errorf("resolving twice gives %+v, %v", again, err)
	}

	bad := Spec{Writers: -1, MaxBytes: -5, Workload: workload.Spec{Tags: -1}}
	bad.Options.Flush = engine.FlushAsync
	bad.Options.Populate = "some"
	_, err = sync.Resolve(bad)
	for _, want := range []string{"writers is -1", "maxBytes is -5", "tags is -1", "option flush: got async, want sync", "populate: got some"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Resolve says %v; want it to contain %q", err, want)
		}
	}
}

func TestFindNamesWhatIsNear(t *testing.T) {
	if _, err := Find("apend"); err == nil || !strings.Contains(err.Error(), `did you mean "append"?`) {
		t.Errorf("Find says %v", err)
	}
	if _, err := FindConfig("rocket"); err == nil || !strings.Contains(err.Error(), `did you mean "rocketmq"?`) {
		t.Errorf("FindConfig says %v", err)
	}
}

// Goal: every named configuration is one the engine accepts, in every scenario
// that measures the engine, and is told apart from the others.
func TestEveryConfigurationResolvesInEveryScenario(t *testing.T) {
	for _, s := range All {
		seen := map[string]string{}
		for _, c := range Configs {
			spec, err := s.Resolve(Spec{Options: c.Options})
			if err != nil {
				t.Errorf("%s with %s: %v", s.Name, c.Name, err)
				continue
			}
			options, err := json.Marshal(spec.Options)
			if err != nil {
				t.Fatal(err)
			}
			if other, ok := seen[string(options)]; ok {
				t.Errorf("%s: configurations %s and %s are the same", s.Name, c.Name, other)
			}
			seen[string(options)] = c.Name
			if s.Durability(spec.Options) == "" {
				t.Errorf("%s with %s does not say what a crash loses", s.Name, c.Name)
			}
		}
	}
}

// B-141: an interrupted run must close the store as it would at its end: no
// abort marker, so that the next open needs no recovery.
func TestB141_InterruptedRunClosesTheStore(t *testing.T) {
	s, err := Find("append")
	if err != nil {
		t.Fatal(err)
	}
	spec := small(t, s, func(p *Spec) { p.MaxBytes = 1 << 30; p.Writers = 1 })
	instance, err := s.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	constant, err := pace.NewConstant(1000)
	if err != nil {
		t.Fatal(err)
	}
	marker := filepath.Join(spec.Dir, "abort")
	ctx, cancel := context.WithCancel(t.Context())
	watched := make(chan error, 1)
	go func() {
		_, err := os.Stat(marker)
		for ctx.Err() == nil && errors.Is(err, os.ErrNotExist) {
			time.Sleep(time.Millisecond)
			_, err = os.Stat(marker)
		}
		watched <- err
		time.Sleep(50 * time.Millisecond) // for some operations
		cancel()
	}()
	o, err := measure.Run(ctx, instance, measure.Plan{Primary: s.Primary, Pacer: constant, Duration: time.Minute}, nil)
	if err != nil || o.Status != measure.Interrupted {
		t.Errorf("run ended %q, %v; want interrupted", o.Status, err)
	}
	if err := <-watched; err != nil {
		t.Errorf("abort marker of the open store: %v", err)
	}
	if _, err := os.Stat(marker); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("abort marker after the interrupt: %v, want none", err)
	}
}
