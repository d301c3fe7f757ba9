package engine

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"commitlab/engine/segment"
	"commitlab/engine/storedir"
)

// afterPowerCut opens what a power cut now would leave of s and returns it. The
// checkpoint is the worst that can be: it knows of everything durable.
func afterPowerCut(t testing.TB, m *seam, s *Store, rng *rand.Rand) *Store {
	t.Helper()
	clone := filepath.Join(scratch(t), "clone")
	durableMs, durable := s.log.DurableMs(), s.log.Flushed()
	if err := m.heap.CrashClone(string(s.dir), clone, rng); err != nil {
		t.Fatal(err)
	}
	file, c, err := storedir.Layout(clone).OpenCheckpoint()
	if err == nil {
		c.CommitLogMs = max(c.CommitLogMs, durableMs)
		c.Positions.LogDurable = max(c.Positions.LogDurable, durable)
		err = errors.Join(file.Save(c), file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	again, err := Open(clone, small(Options{CommitLogFileBytes: s.opt.CommitLogFileBytes}))
	if err != nil {
		t.Fatalf("open after a power cut: %v", err)
	}
	t.Cleanup(func() { again.Close() })
	return again
}

// mustKeep demands that got begins with the first durable records of put and
// holds nothing that was not put.
func mustKeep(t testing.TB, got, put []stored, durable int) {
	t.Helper()
	if len(got) < durable {
		t.Fatalf("%d records left, %d were durable", len(got), durable)
	}
	if len(got) > len(put) || !slices.Equal(got, put[:len(got)]) {
		for i := range got {
			if i >= len(put) || got[i] != put[i] {
				t.Fatalf("record %d of %d is not what was put: %+v", i, len(got), got[i])
			}
		}
	}
}

// Goal: with flush sync what was acknowledged survives a power cut; what was
// not is there whole or not at all, and never something else. Method: puts that
// wait mixed with puts that do not, a power cut that keeps any subset of the
// sectors, lengths and names that were not synced.
func TestPowerCutKeepsAcknowledgedMessages(t *testing.T) {
	seeds := uint64(25)
	if testing.Short() {
		seeds = 5
	}
	for _, path := range syncPaths {
		for _, crc := range []string{Off, On} {
			t.Run(fmt.Sprintf("%s appendCRC=%s", path, crc), func(t *testing.T) {
				for seed := range seeds {
					rng := rand.New(rand.NewPCG(seed, 5))
					m := newSeam()
					m.heap.LoseNames = true
					s := openUnchecked(t, scratch(t), m.options(Options{
						Flush: FlushSync, SyncPath: path, AppendCRC: crc, FlushIntervalMs: 1 << 30, Preallocate: Off,
						CommitLogFileBytes: 8192, Populate: "none",
					}))
					var all []stored
					durable := 0
					for i := range 5 + rng.IntN(40) {
						msg := unwaited("t", int32(rng.IntN(2)), text(body(i), rng.IntN(2000)))
						wait := rng.IntN(3) == 0
						if wait {
							msg.Properties = nil
						}
						if rng.IntN(2) == 0 { // long enough to fill sectors of their own
							msg.Properties = append(msg.Properties, "KEYS\x01"+strings.Repeat("k", 1200)+"\x02"...)
						}
						r := asStored(msg, put(t, s, msg))
						if crc == On {
							r.properties = ""
						}
						if all = append(all, r); wait {
							durable = len(all)
						}
					}
					again := afterPowerCut(t, m, s, rng)
					got := scan(t, again)
					if crc == On {
						for i := range got {
							got[i].properties = ""
						}
					}
					mustKeep(t, got, all, durable)
					if t.Failed() {
						t.Fatalf("seed %d", seed)
					}
					again.Close()
					s.Close()
				}
			})
		}
	}
}

// The same with many writers and everything in the background, and a power cut
// in the middle of it.
func TestPowerCutUnderLoadKeepsAcknowledgedMessages(t *testing.T) {
	for _, path := range syncPaths {
		for _, flush := range []string{FlushSync, FlushAsync} {
			t.Run(flush+" "+string(path), func(t *testing.T) {
				m := newSeam()
				m.heap.LoseNames = true
				s := openUnchecked(t, scratch(t), m.options(Options{Flush: flush, SyncPath: path, FlushLeastPages: 1}))
				var mu sync.Mutex
				acknowledged := make(map[int64]stored)
				stop := make(chan struct{})
				var writing sync.WaitGroup
				for w := range 4 {
					writing.Go(func() {
						for i := 0; ; i++ {
							select {
							case <-stop:
								return
							default:
							}
							msg := newMessage("t", int32(w), text(body(i), 200*(i%8)))
							p, err := s.Put(msg)
							if err != nil {
								t.Errorf("put: %v", err)
								return
							}
							mu.Lock()
							acknowledged[p.PhysicalOffset] = asStored(msg, p)
							mu.Unlock()
						}
					})
				}
				for s.log.Flushed() < 20*s.opt.CommitLogFileBytes {
					time.Sleep(time.Millisecond)
				}
				mu.Lock()
				want := make(map[int64]stored)
				flushed := s.log.Flushed()
				for offset, r := range acknowledged {
					if flush == FlushSync || offset+int64(r.size) <= flushed {
						want[offset] = r
					}
				}
				mu.Unlock()
				again := afterPowerCut(t, m, s, nil)
				close(stop)
				writing.Wait()
				for _, r := range scan(t, again) {
					if w, ok := want[r.offset]; ok && w != r {
						t.Errorf("got %+v, acknowledged %+v", r, w)
					}
					delete(want, r.offset)
				}
				if len(want) > 0 {
					t.Errorf("%d durable messages are gone", len(want))
				}
			})
		}
	}
}

// With flush async, the power cut takes only what is behind the last sync, and
// the store opens whatever is left of that.
func TestPowerCutTakesOnlyTheUnsyncedWindow(t *testing.T) {
	for _, path := range syncPaths {
		t.Run(string(path), func(t *testing.T) {
			for seed := range uint64(25) {
				rng := rand.New(rand.NewPCG(seed, 6))
				m := newSeam()
				m.heap.LoseNames = true
				s := openUnchecked(t, scratch(t), m.options(Options{
					SyncPath: path, FlushIntervalMs: 1 << 30, CommitIntervalMs: 1 << 30, Preallocate: Off,
					CommitLogFileBytes: 4096 + 1000*int64(rng.IntN(5)), Populate: "none", TransientBuffers: 64,
				}))
				var all []stored
				durable := 0
				for i := range 10 + rng.IntN(40) {
					msg := newMessage("t", 0, text(body(i), rng.IntN(1800)))
					all = append(all, asStored(msg, put(t, s, msg)))
					if rng.IntN(12) == 0 {
						if err := s.Flush(); err != nil {
							t.Fatal(err)
						}
						durable = len(all)
					}
				}
				again := afterPowerCut(t, m, s, rng)
				mustKeep(t, scan(t, again), all, durable)
				// What follows must be as good as in a new store.
				if p := put(t, again, newMessage("t", 0, "next")); p.QueueOffset < int64(durable) {
					t.Fatalf("queue offset %d is given twice", p.QueueOffset)
				}
				again.Close()
				s.Close()
			}
		})
	}
}

// Goal: there is no moment, from creation to Close and in recovery itself, at
// which a power cut loses an acknowledged message or leaves a directory that
// does not open. Method: one script is run again and again, and the power goes
// off at the first, second, third … call that reaches the disk; what is left is
// opened, and there the power goes off in the same way.
func TestPowerCutAtEveryCall(t *testing.T) {
	for _, path := range syncPaths {
		t.Run(string(path), func(t *testing.T) {
			cut, stride := 1, 1
			if testing.Short() {
				stride = 7
			}
			for ; powerCutAt(t, path, cut); cut += stride {
			}
			if cut < 20 {
				t.Errorf("the script made %d calls only", cut)
			}
		})
	}
}

// powerCutAt runs the script with the power off from one call on, and reports
// whether the script came that far.
func powerCutAt(t *testing.T, path segment.SyncPath, cut int) bool {
	t.Helper()
	m := newSeam()
	m.heap.LoseNames = true
	off := m.powerOffAt(cut)
	o := m.options(Options{
		Flush: FlushSync, SyncPath: path, Preallocate: Off, Populate: "none", CommitLogFileBytes: 4096, FlushIntervalMs: 1 << 30, TransientBuffers: 16,
	})
	dir := scratch(t)
	var all []stored
	durable := 0
	s, err := Open(dir, o)
	if err == nil {
		for i := range 18 {
			msg := unwaited("t", 0, text(body(i), 800+i*333%1500))
			wait := i%7 == 1 // between them several files fill up unsynced
			if wait {
				msg.Properties = nil
			}
			p, putErr := s.Put(msg)
			if putErr == nil || p.Size > 0 {
				all = append(all, asStored(msg, p))
			}
			if putErr == nil && wait {
				durable = len(all)
			}
		}
		if s.Close() == nil {
			durable = len(all)
		}
	}
	// Two more power cuts, while what is left is opened and closed.
	rng := rand.New(rand.NewPCG(uint64(cut), 7))
	for range 3 {
		m.on(nil)
		clone := filepath.Join(scratch(t), "clone")
		if err := m.heap.CrashClone(dir, clone, rng); err != nil {
			t.Fatal(err)
		}
		dir = clone
		m = newSeam() // names that were there before it are durable
		o = m.options(o)
		m.powerOffAt(1 + rng.IntN(8))
		if s, err := Open(dir, o); err == nil {
			s.Close()
		}
	}
	m.on(nil)
	last, err := Open(dir, o)
	if err != nil {
		t.Fatalf("power cut at call %d: open: %v", cut, err)
	}
	defer last.Close()
	mustKeep(t, scan(t, last), all, durable)
	if t.Failed() {
		t.Fatalf("power cut at call %d", cut)
	}
	return off.Load()
}

// childDir tells the test binary that it is the child of TestKilledProcess…
const childDir = "ENGINE_TEST_CHILD_DIR"

// Goal: what a process had acknowledged when it was killed is there. Method: a
// child puts from several goroutines and prints each acknowledged message.
func TestKilledProcessLosesNothingAcknowledged(t *testing.T) {
	if dir := os.Getenv(childDir); dir != "" {
		putUntilKilled(dir, os.Getenv("ENGINE_TEST_CHILD_PATH"))
	}
	for _, path := range syncPaths {
		t.Run(string(path), func(t *testing.T) {
			dir := scratch(t)
			child := exec.Command(os.Args[0], "-test.run=^TestKilledProcessLosesNothingAcknowledged$")
			child.Env = append(os.Environ(), childDir+"="+dir, "ENGINE_TEST_CHILD_PATH="+string(path))
			out, err := child.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			acknowledged := make(map[int64]string)
			lines := bufio.NewScanner(out)
			for lines.Scan() {
				offset, body, ok := strings.Cut(lines.Text(), " ")
				n, err := strconv.ParseInt(offset, 10, 64)
				if !ok || err != nil {
					t.Fatalf("the child says %q", lines.Text())
				}
				if acknowledged[n] = body; len(acknowledged) == 300 {
					child.Process.Kill() // what is in the pipe still counts
				}
			}
			if err := child.Wait(); err == nil {
				t.Fatal("the child ended by itself")
			}
			if len(acknowledged) < 300 {
				t.Fatalf("the child acknowledged only %d messages", len(acknowledged))
			}
			s := openStore(t, dir, small(Options{}))
			for offset, body := range acknowledged {
				if got := read(t, s, offset); got.body != body {
					t.Errorf("at %d: got %q, acknowledged %q", offset, got.body, body)
				}
			}
		})
	}
}

func putUntilKilled(dir, path string) {
	o := small(Options{Flush: FlushSync})
	o.SyncPath = segment.SyncPath(path)
	s, err := Open(dir, o)
	if err != nil {
		fmt.Println("open:", err)
		os.Exit(2)
	}
	for w := range 4 {
		go func() {
			for i := 0; ; i++ {
				m := newMessage("t", int32(w), fmt.Sprintf("writer-%d-%s", w, strings.Repeat("x", i%3000)))
				p, err := s.Put(m)
				if err != nil {
					fmt.Println("put:", err)
					os.Exit(2)
				}
				os.Stdout.WriteString(fmt.Sprintf("%d %s\n", p.PhysicalOffset, m.Body))
			}
		}()
	}
	select {}
}
