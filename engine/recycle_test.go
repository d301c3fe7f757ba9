package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"commitlab/engine/message"
	"commitlab/engine/segment"
	"commitlab/engine/storedir"
)

// recycling is options of a store that uses its files again and again.
func recycling(o Options) Options {
	o.Destroy = segment.DestroyRecycle
	o.MaxLogBytes = 3 * o.CommitLogFileBytes
	o.DeleteFileIntervalMs = 1
	return o
}

// recycled puts until the tail and the files before it are all used again. It
// returns what was put by offset.
func recycled(t testing.TB, s *Store, next func(i int) string) (all map[int64]string) {
	t.Helper()
	all = make(map[int64]string)
	for i := 0; s.spares.Used() < 6; i++ {
		if i == 20_000 {
			t.Fatalf("only %d files were used again", s.spares.Used())
		}
		m := newMessage("t", int32(i%2), next(i))
		all[put(t, s, m).PhysicalOffset] = string(m.Body)
		if i%20 == 0 {
			time.Sleep(time.Millisecond) // so that cleaning keeps up
		}
	}
	return all
}

// checkBodies demands that all records of s have the body that was put at their
// place, and that the last of them is not before want.
func checkBodies(t testing.TB, s *Store, all map[int64]string, want int64) {
	t.Helper()
	last := int64(-1)
	for _, r := range scan(t, s) {
		if body, ok := all[r.offset]; !ok || body != r.body {
			t.Fatalf("at %d stands %.40q, put was %.40q", r.offset, r.body, body)
		}
		last = r.offset
	}
	if last < want {
		t.Errorf("the last record is at %d, that at %d was durable", last, want)
	}
}

// oldBytes reports whether records of a former life stand behind the end of the log.
func oldBytes(t testing.TB, s *Store) bool {
	t.Helper()
	states := s.log.FileStates()
	tail := states[len(states)-1]
	b, err := os.ReadFile(tail.Path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(b[s.log.Appended()-tail.Base:]), "xxxx")
}

// B-37: old bytes in a file that is used again passed for records and were
// replayed. All records are of one size here, so that behind the end of the log
// stands a row of older ones, each sound, in place and of the same queue. Killed or
// closed, the log ends where it ended.
func TestB37_OldRecordsOfARecycledFileStayDead(t *testing.T) {
	for _, path := range syncPaths {
		for _, flush := range []string{FlushAsync, FlushSync} {
			t.Run(flush+" "+string(path), func(t *testing.T) {
				o := small(recycling(Options{CommitLogFileBytes: 16 << 10, SyncPath: path, Flush: flush, Dispatch: On}))
				s := openUnchecked(t, scratch(t), o)
				all := recycled(t, s, func(i int) string { return fmt.Sprintf("%08d %s", i, strings.Repeat("x", 300)) })
				for i := 0; ; i++ {
					dispatched(t, s)
					if oldBytes(t, s) {
						break
					}
					if i == 200 {
						t.Fatal("nothing old stands behind the end")
					}
					m := newMessage("t", 0, fmt.Sprintf("%08d %s", i, strings.Repeat("y", 300)))
					all[put(t, s, m).PhysicalOffset] = string(m.Body)
				}
				end := s.log.Appended()
				o.MaxLogBytes = 1 << 40 // what is scanned has to stay
				killed := openUnchecked(t, kill(t, s), o)
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				for _, name := range names(t, string(s.dir)) {
					if name == "recycle" {
						t.Error("the directory of spare files is left behind")
					}
				}
				verified(t, s)
				for name, again := range map[string]*Store{"killed": killed, "closed": openUnchecked(t, string(s.dir), o)} {
					if got := again.log.Appended(); got != end {
						t.Fatalf("%s: the log ends at %d, want %d", name, got, end)
					}
					checkBodies(t, again, all, 0)
					if err := again.Close(); err != nil {
						t.Fatal(err)
					}
					verified(t, again)
				}
			})
		}
	}
}

// Goal: a power cut that leaves any subset of the unsynced sectors never makes a
// record of old and new bytes, in a file that is used again too. Method: bodies and
// properties of all sizes over old ones of all sizes.
func TestPowerCutInARecycledFile(t *testing.T) {
	seeds := uint64(12)
	if testing.Short() {
		seeds = 3
	}
	for _, path := range syncPaths {
		for _, flush := range []string{FlushSync, FlushAsync} {
			t.Run(flush+" "+string(path), func(t *testing.T) {
				for seed := range seeds {
					rng := rand.New(rand.NewPCG(seed, 7))
					m := newSeam()
					m.heap.LoseNames = true
					s := openUnchecked(t, scratch(t), m.options(recycling(Options{
						Flush: flush, SyncPath: path, CommitLogFileBytes: 8192, FlushIntervalMs: 1, FlushLeastPages: 1, Populate: "none",
						CommitIntervalMs: 1, CommitLeastPages: 1,
					})))
					all := recycled(t, s, func(i int) string { return text(body(i), rng.IntN(1500)) })
					if err := s.Flush(); err != nil {
						t.Fatal(err)
					}
					durable := s.log.Appended()
					for i := range 1 + rng.IntN(6) { // which nobody waits for
						msg := unwaited("t", int32(rng.IntN(2)), text(body(i), rng.IntN(900)))
						msg.Properties = append(msg.Properties, "KEYS\x01"+strings.Repeat("k", rng.IntN(1500))+"\x02"...)
						all[put(t, s, msg).PhysicalOffset] = string(msg.Body)
					}
					eventually(t, "nothing is on its way out", func() bool { return s.reaper.Backlog() == 0 })
					again := afterPowerCut(t, m, s, rng)
					if got := again.log.Appended(); got < durable {
						t.Errorf("seed %d: the log ends at %d, durable was %d", seed, got, durable)
					}
					checkBodies(t, again, all, 0)
					for _, r := range scan(t, again) {
						if keys := strings.Trim(r.properties[strings.Index(r.properties, "KEYS")+1:], "k"); strings.Contains(r.properties, "KEYS") && strings.Contains(keys, "abcdef") {
							t.Errorf("seed %d: properties of the record at %d hold bytes of a body: %q", seed, r.offset, r.properties)
						}
					}
					if t.Failed() {
						t.FailNow()
					}
					again.Close()
					s.Close()
				}
			})
		}
	}
}

// An Open that failed left the directory of spare files behind, though no file had been
// used again: the next one took every record that was not known to be durable, and has
// no checksum over all of it, for one of old and new bytes, and cut the log there.
// Method: the first Open loses the disk at each of its calls in turn; a killed process
// of whose log nothing is known to be durable went before it.
func TestFailedOpenLeavesNoDoubtAboutRecords(t *testing.T) {
	var messages []*message.Message
	for i := range 60 {
		messages = append(messages, newMessage("t", 0, text(body(i), 700)))
	}
	killed, records := written(t, small(Options{}), true, messages...)
	forgetDurable(t, killed)
	for failed := 0; ; failed++ {
		dir := filepath.Join(scratch(t), "store")
		if err := os.CopyFS(dir, os.DirFS(killed)); err != nil {
			t.Fatal(err)
		}
		disk := newSeam()
		disk.powerOffAt(failed + 1)
		s, err := Open(dir, recycling(disk.options(Options{})))
		if err == nil {
			s.Close() // the power may be off by now
			if failed < 6 {
				t.Errorf("Open failed at %d calls only", failed)
			}
			break
		}
		if !errors.Is(err, errPowerOff) {
			t.Fatal(err)
		}
		again := openUnchecked(t, dir, small(Options{}))
		if got := scan(t, again); !slices.Equal(got, records) {
			t.Fatalf("after an Open that failed at call %d the log has %d records, put were %d", failed+1, len(got), len(records))
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
	o := small(Options{Dispatch: On, CommitLogFileBytes: fileBytes, RecoverFrom: RecoverFirst})
	dir, _, _ := damaged(t, o, false, 8)
	var damage *DamageError
	if _, err := Open(dir, recycling(o)); !errors.As(err, &damage) {
		t.Errorf("open of a damaged log: %v", err)
	}
	if _, err := os.Stat(storedir.Layout(dir).Recycle()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an Open that was refused leaves the directory of spare files: %v", err)
	}
}

// A reader that holds a file which is kept as a spare keeps its bytes: the file is
// used again only when nobody can see it any more.
func TestRecycledFileWaitsForItsReaders(t *testing.T) {
	const size = 16 << 10
	for _, force := range []bool{false, true} {
		o := small(recycling(Options{CommitLogFileBytes: size, CleanIntervalMs: 5}))
		if o.DestroyForceMs = 1 << 30; force {
			o.DestroyForceMs = 1
		}
		s := openStore(t, scratch(t), o)
		first := newMessage("t", 0, text("held", 2000))
		view, err := s.At(put(t, s, first).PhysicalOffset)
		if err != nil {
			t.Fatal(err)
		}
		all := recycled(t, s, func(i int) string { return text(body(i), 300) })
		if force {
			eventually(t, "the view is revoked", view.Revoked)
			for _, b := range view.Bytes() {
				if b != 0 {
					t.Fatalf("a revoked view shows %q", view.Bytes()[:100])
				}
			}
		} else if view.Revoked() || string(view.Body) != string(first.Body) {
			t.Errorf("the held body became %.50q, revoked %v", view.Body, view.Revoked())
		}
		view.Release()
		if n := len(names(t, s.dir.Recycle())); n > 16 {
			t.Errorf("%d spare files wait", n)
		}
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		all[0] = string(first.Body)
		eventually(t, "the log has its size", func() bool { return !s.cleaner.oversize() })
		checkBodies(t, s, all, 0)
	}
}

// Compatible strict switches recycling off and says why.
func TestStrictDoesNotRecycle(t *testing.T) {
	log := &warnings{}
	o := small(Options{Destroy: segment.DestroyRecycle, Compatible: Strict})
	o.Logger = log.logger()
	s := openStore(t, scratch(t), o)
	if got := s.Options(); got.Destroy != segment.DestroyBackground || got.AppendCRC != Off || s.spares != nil {
		t.Errorf("destroy %s, appendCRC %s", got.Destroy, got.AppendCRC)
	}
	if log.count("not recycled", "compatible strict", "RocketMQ") != 1 {
		t.Errorf("log: %s", log)
	}
	if _, err := (Options{Destroy: segment.DestroyRecycle, AppendCRC: Off}).Resolve(); err == nil || !strings.Contains(err.Error(), "appendCRC") {
		t.Errorf("recycling without a checksum over the record: %v", err)
	}
}
