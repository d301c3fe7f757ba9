package study

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"commitlab/bench/pace"
	"commitlab/bench/result"
)

// Goal: a study that shows something by itself can show it: it has the blocks, keeps
// to the time that it states, and asks for ratios of cells that it has.
func TestStudiesThatShowSomethingKeepToTheirTime(t *testing.T) {
	for name, ratios := range map[string]int{"dispatch": 7, "cold-paths": 4, "recovery": 4} {
		t.Run(name, func(t *testing.T) {
			spec, ok := FindNamed(name)
			if !ok {
				t.Fatal("there is no such study")
			}
			study, err := spec.Plan(Room{Disk: 20 << 30, Memory: 8 << 30})
			if err != nil {
				t.Fatal(err)
			}
			wantEnoughBlocks(t, study)
			if study.Blocks < 6 || len(study.Ratios) != ratios {
				t.Errorf("%d blocks and %d ratios, want 6 or more and %d", study.Blocks, len(study.Ratios), ratios)
			}
			// Beside its window a run needs a process, and fills, verifies and removes
			// its bytes; seen on two slow processors.
			const start, bytesPerSecond = 1500 * time.Millisecond, 256 << 20
			var whole time.Duration
			for _, slot := range study.Order {
				r, err := slotRun(&study, slot)
				if err != nil {
					t.Fatal(err)
				}
				files := time.Duration(float64(r.Spec.MaxBytes) / bytesPerSecond * float64(time.Second))
				whole += r.Warmup + r.Duration + time.Duration(*spec.Cooldown) + start + files
			}
			if limit := time.Duration(spec.Limit); whole > limit || limit >= 4*time.Minute {
				t.Errorf("it takes about %s and stops at %s; want no block left out within 4 min", whole, limit)
			}
		})
	}
}

// Goal: what the studies ask for is measured by the scenarios that they name, so
// that no ratio comes out as nothing. Method: run each cell that a ratio is of,
// made small, and look for its metrics.
func TestRatiosOfBuiltInStudiesAreMeasured(t *testing.T) {
	slow, err := pace.NewConstant(5000)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dispatch", "cold-paths", "recovery", "recycling"} {
		spec, ok := FindNamed(name)
		if !ok {
			t.Fatalf("there is no study %s", name)
		}
		study, err := spec.Plan(plenty)
		if err != nil {
			t.Fatal(err)
		}
		wanted := map[string][]string{} // metrics by cell
		for _, r := range study.Ratios {
			for _, c := range []result.CellMetric{r.Of, r.To} {
				if !slices.Contains(wanted[c.Cell], c.Metric) {
					wanted[c.Cell] = append(wanted[c.Cell], c.Metric)
				}
			}
		}
		for cell, metrics := range wanted {
			t.Run(name+"/"+cell, func(t *testing.T) {
				r, err := slotRun(&study, result.Slot{Block: 1, Position: 1, Cell: cell})
				if err != nil {
					t.Fatal(err)
				}
				o := &r.Spec.Options
				o.CommitLogFileBytes, o.MaxBodyBytes, o.ConsumeQueueFileBytes, o.IndexSlots, o.IndexItems = 1<<20, 32<<10, 20_000, 1000, 20_000
				r.Spec.MaxBytes, r.Warmup, r.Duration = 4<<20, 0, 200*time.Millisecond
				if !pace.IsClosed(r.Pacer) {
					r.Pacer = slow
				}
				r.Spec.Dir = filepath.Join(t.TempDir(), "store")
				run, s := execute(t, t.Context(), r)
				if s.Status != result.OK && s.Status != result.Invalid {
					t.Fatalf("run is %s: %s", s.Status, s.Reason)
				}
				if spec.Procs > 0 && run.Manifest.Host.GOMAXPROCS != spec.Procs {
					t.Errorf("the run had %d processors, want %d", run.Manifest.Host.GOMAXPROCS, spec.Procs)
				}
				for _, text := range metrics {
					m, err := result.ParseMetric(text)
					if err != nil {
						t.Fatal(err)
					}
					if v, ok := s.Figure(m); !ok || v <= 0 {
						t.Errorf("%s is %v, %v; want a figure", text, v, ok)
					}
				}
			})
		}
	}
}
