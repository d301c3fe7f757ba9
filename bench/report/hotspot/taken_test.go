package hotspot_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	pprofile "github.com/google/pprof/profile"

	"commitlab/bench/profile"
	"commitlab/bench/report/hotspot"
)

// Goal: what the lab's own profilers write is taken for what it is and for nothing
// else. Method: one real profile of each kind, tabulated as each kind.
func TestProfilesOfTheLabAreTheirKind(t *testing.T) {
	dir := t.TempDir()
	kinds := []profile.Kind{profile.CPU, profile.Wall, profile.Heap, profile.Mutex, profile.Block}
	session, err := profile.Start(dir, profile.Label{}, kinds)
	if err != nil {
		t.Fatal(err)
	}
	contend()
	if _, err := session.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, taken := range kinds {
		f, err := os.Open(filepath.Join(dir, profile.Label{}.FileName(taken)))
		if err != nil {
			t.Fatal(err)
		}
		p, err := pprofile.Parse(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		side := hotspot.Side{Profile: p, Operations: 10}
		for _, kind := range kinds {
			table, err := hotspot.Single(hotspot.Kind(kind), side)
			if (err == nil) != (kind == taken) {
				t.Errorf("%s profile as %s: %v", taken, kind, err)
			}
			// A busy machine may not run this process in any tick of the CPU profile.
			if err != nil || kind == profile.CPU {
				continue
			}
			m := table.Measures[0]
			if m.Total.A <= 0 || m.Total.SamplesA <= 0 {
				t.Errorf("%s: total %+v, want some", kind, m.Total)
			}
			found := false
			for _, f := range m.Functions {
				found = found || strings.Contains(f.Name, "hotspot_test.contend")
			}
			if !found {
				t.Errorf("%s: no function of the work among %d", kind, len(m.Functions))
			}
		}
	}
}

var sink []byte

// contend allocates, waits for a lock, and lasts for some samples of the wall clock.
func contend() {
	var mu sync.Mutex
	var done sync.WaitGroup
	mu.Lock()
	done.Go(func() { mu.Lock(); mu.Unlock() })
	for range 16 {
		sink = make([]byte, 1<<20)
	}
	time.Sleep(300 * time.Millisecond)
	mu.Unlock()
	done.Wait()
}
