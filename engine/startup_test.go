package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"commitlab/engine/consumequeue"
	"commitlab/engine/fsutil"
	"commitlab/engine/storedir"
)

// How long a start takes: what recovery reads and what it costs per queue.

// B-41: in one flush mode the time of the log in the checkpoint never moved, so that
// each start read the log from its first file. Whatever the mode, a start after a
// kill reads only what was not known to be durable.
func TestB41_StartAfterAKillReadsFromTheCheckpointOn(t *testing.T) {
	for _, flush := range []string{FlushAsync, FlushSync} {
		for _, path := range syncPaths {
			t.Run(flush+" "+string(path), func(t *testing.T) {
				o := small(Options{
					Dispatch: On, Flush: flush, SyncPath: path, CommitLogFileBytes: fileBytes,
					FlushIntervalConsumeQueueMs: 5, FlushThoroughIntervalMs: 20,
				})
				s := openUnchecked(t, scratch(t), o)
				for s.log.Appended() < 30*fileBytes {
					put(t, s, unwaited("t", 0, text("x", 700)))
				}
				end := s.log.Appended()
				eventually(t, "a checkpoint that has all of it", func() bool {
					p := readCheckpoint(t, string(s.dir)).Positions
					return min(p.LogDurable, p.Indexed) >= end-fileBytes && p.QueuesDurable >= end-2*fileBytes
				})
				put(t, s, unwaited("t", 0, text("last", 700)))
				again := openUnchecked(t, kill(t, s), o)
				r := again.Snapshot().Recovery
				if r.Clean || r.Files < 30 || r.FilesScanned > 3 {
					t.Errorf("%d of %d files were read (%s)", r.FilesScanned, r.Files, r.Reason)
				}
				checkDerived(t, again)
			})
		}
	}
}

// manyQueues writes 50 log files with messages of so many queues, at least one of
// each, below dir. It returns the directory as Close leaves it and as a kill does.
func manyQueues(t testing.TB, dir string, queues int, o Options) (closed, killed string) {
	t.Helper()
	closed, killed = filepath.Join(dir, "closed"), filepath.Join(dir, "killed")
	s := openUnchecked(t, closed, o)
	for i := 0; s.log.Appended() < 50*o.CommitLogFileBytes || i < queues; i++ {
		n := i % queues
		put(t, s, newMessage(fmt.Sprint("topic", n/100), int32(n%100), text(body(i), 200)))
	}
	dispatched(t, s)
	saveCheckpoint(t, s)
	if err := os.CopyFS(killed, os.DirFS(closed)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return closed, killed
}

// processorTime is what the process has used so far, user and system. Unlike real
// time it does not grow with what else the machine does.
func processorTime(t testing.TB) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// B-44: a start took minutes with many queues, and hours after a kill. Five hundred
// times the queues cost far less than five hundred times as much (BenchmarkOpen tells
// how much in real time), and a closed store reads the last files of its log, however
// many there are. Compared is processor time.
func TestB44_StartCostsLittlePerQueue(t *testing.T) {
	o := small(Options{Dispatch: On, CommitLogFileBytes: 64 << 10, ConsumeQueueFileBytes: 100 * consumequeue.UnitBytes})
	const few, many, most = 10, 5000, 250
	took := make(map[int][2]time.Duration) // the shortest of three, closed and killed
	for _, queues := range []int{few, many} {
		closed, killed := manyQueues(t, scratch(t), queues, o)
		var shortest [2]time.Duration
		for i, dir := range []string{closed, killed} {
			for range 3 {
				marker := storedir.Layout(dir).AbortMarker()
				if i == 1 {
					if err := marker.Set(); err != nil {
						t.Fatal(err)
					}
				}
				start := processorTime(t)
				s, err := Open(dir, o)
				d := processorTime(t) - start
				if err != nil {
					t.Fatal(err)
				}
				if shortest[i] == 0 || d < shortest[i] {
					shortest[i] = d
				}
				r := s.Snapshot().Recovery
				if r.Queues != queues || r.Files < 50 || i == 0 && r.FilesScanned > normalFiles {
					t.Errorf("%d queues, %d of %d files read (%s)", r.Queues, r.FilesScanned, r.Files, r.Reason)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
		took[queues] = shortest
	}
	for i, way := range []string{"closed", "killed"} {
		ratio := float64(took[many][i]) / float64(took[few][i])
		t.Logf("%s: %d queues take %.1f times as long as %d", way, many, ratio, few)
		if ratio > most {
			t.Errorf("%s: %d queues take %v, %d take %v: %.0f times as long", way, many, took[many][i], few, took[few][i], ratio)
		}
	}
	t.Logf("%d queues: %v, %d queues: %v (closed, killed)", few, took[few], many, took[many])
}

// Goal: a start reads no queue that nobody has touched since the last clean end, also
// after a kill, and every other. Method: the catalog of one clean end is put back after
// the next, so that it is older than some of the queues, and the marker is set.
func TestStartReadsNoQueueAtRest(t *testing.T) {
	dir := t.TempDir()
	if !fsutil.StampsTell(dir) {
		t.Skip("the file system of the temporary directory does not tell of writes to mapped pages; what is tested here is off there")
	}
	const queues, touched = 30, 3
	o := small(Options{Dispatch: On, ConsumeQueueFileBytes: 100 * consumequeue.UnitBytes})
	var catalog []byte
	for round := range 3 {
		s := openUnchecked(t, dir, o)
		if r := s.Snapshot().Recovery; round > 0 && (r.Queues != queues || r.QueuesAtRest != queues) {
			t.Errorf("round %d: of %d queues %d were at rest", round, r.Queues, r.QueuesAtRest)
		}
		for i := range 5 * queues {
			if round == 0 || round == 2 && i < touched {
				put(t, s, newMessage(fmt.Sprint("topic", i%3), int32(i/3%(queues/3)), text(body(i), 200)))
			}
		}
		dispatched(t, s)
		time.Sleep(fsutil.StampSteps + 5*time.Millisecond)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		verified(t, s)
		if round == 1 {
			var err error
			if catalog, err = os.ReadFile(s.dir.QueueCatalog()); err != nil {
				t.Fatal(err)
			}
		}
	}
	layout := storedir.Layout(dir)
	if err := errors.Join(os.WriteFile(layout.QueueCatalog(), catalog, 0o644), layout.AbortMarker().Set()); err != nil {
		t.Fatal(err)
	}
	s := openUnchecked(t, dir, o)
	if r := s.Snapshot().Recovery; r.Clean || r.QueuesAtRest != queues-touched {
		t.Errorf("of %d queues %d were at rest, want %d", r.Queues, r.QueuesAtRest, queues-touched)
	}
	checkDerived(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	verified(t, s)
}

// Goal: a catalog that cannot be saved leaves no older one behind, and the store is
// closed in order all the same.
func TestCatalogThatCannotBeSavedLeavesNone(t *testing.T) {
	dir := t.TempDir()
	if !fsutil.StampsTell(dir) {
		t.Skip("the file system of the temporary directory does not tell of writes to mapped pages; what is tested here is off there")
	}
	o := small(Options{Dispatch: On})
	for range 2 {
		s := openUnchecked(t, dir, o)
		put(t, s, newMessage("t", 0, "body"))
		dispatched(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		verified(t, s)
		catalog := s.dir.QueueCatalog()
		if _, err := os.Stat(catalog); err == nil { // the first time: the next cannot be written
			if err := os.MkdirAll(filepath.Join(catalog+".tmp", "full"), 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if _, err := os.Stat(catalog + ".tmp"); err != nil {
			t.Errorf("there was no catalog to begin with: %v", err)
		}
	}
	if _, err := os.Stat(storedir.Layout(dir).QueueCatalog()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old catalog is there: %v", err)
	}
}
