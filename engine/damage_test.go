package engine

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"commitlab/engine/commitlog"
	"commitlab/engine/consumequeue"
	"commitlab/engine/message"
	"commitlab/engine/segment"
	"commitlab/engine/storedir"
)

// allFiles is every file below dir with its content. The lock is left out: its
// holder's number stands in it.
func allFiles(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "lock" {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The golden stores with damage, by policy. RocketMQ cuts the log at the damage and
// so loses every message behind it; by default nothing is opened, and with skip all
// are there but the damaged one. A damaged tail of a store of RocketMQ is cut by each
// policy: nothing says that it was durable.
func TestGoldenStoresWithDamage(t *testing.T) {
	for _, c := range []struct{ damaged, whole string }{
		{"killed-damaged-middle", "killed"}, {"v4.9.4-killed-damaged-middle", "v4.9.4-killed"},
		{"clean-damaged-tail", ""}, {"v4.9.4-clean-damaged-tail", ""},
	} {
		t.Run(c.damaged, func(t *testing.T) {
			g := unpackGolden(t, c.damaged)
			cut := g.meta.MaxPhyOffset // where RocketMQ has cut the log
			o := g.options()
			o.Damage = DamageRefuse
			if c.whole == "" {
				g.deliver(t, g.dir) // lest delayed messages come into the log while it is looked at
				s := openUnchecked(t, g.dir, o)
				if end := s.log.Appended(); end != cut {
					t.Errorf("log ends at %d, want %d", end, cut)
				}
				checkDerived(t, s)
				return
			}
			before := allFiles(t, g.dir)
			var damage *DamageError
			if _, err := Open(g.dir, o); !errors.As(err, &damage) || damage.Offset != cut || damage.Behind <= cut {
				t.Fatalf("refuse: got %v, want a DamageError at %d", err, cut)
			}
			if after := allFiles(t, g.dir); !maps.Equal(before, after) {
				t.Error("refuse: something was changed")
			}
			whole := unpackGolden(t, c.whole)
			whole.deliver(t, g.dir)
			o.Damage = DamageSkip
			s := openUnchecked(t, g.dir, o)
			lost := commitlog.Range{From: damage.Offset, To: damage.Behind}
			if r := s.Snapshot().Recovery; r.NewlySkipped != 1 || !slices.Equal(r.Skipped, commitlog.Ranges{lost}) {
				t.Errorf("skip: recovery says %+v, want the range %v", r, lost)
			}
			if end := s.log.Appended(); end != whole.meta.MaxPhyOffset {
				t.Errorf("skip: log ends at %d, want %d", end, whole.meta.MaxPhyOffset)
			}
			missing := 0
			for _, r := range whole.records {
				v, err := s.At(r.PhysOffset)
				switch {
				case lost.Contains(r.PhysOffset):
					missing++
					if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "damaged range") {
						t.Errorf("skip: record at %d: %v, want a refusal that names the range", r.PhysOffset, err)
					}
				case err != nil:
					t.Errorf("skip: record at %d: %v", r.PhysOffset, err)
				default:
					v.Release()
				}
			}
			if missing != 1 {
				t.Errorf("skip: %d records lie in the range, want 1", missing)
			}
		})
	}
}

// damaged is a store with a damaged record in the middle, and what it had.
func damaged(t *testing.T, o Options, killed bool, lost ...int) (dir string, all []stored, ranges commitlog.Ranges) {
	t.Helper()
	s := openUnchecked(t, scratch(t), o)
	for i := range 40 {
		m := keyedMessage("t", "", fmt.Sprint("key", i), text(body(i), 500))
		m.QueueID = int32(i % 2)
		all = append(all, asStored(m, put(t, s, m)))
	}
	dispatched(t, s)
	dir = string(s.dir)
	if killed {
		dir = kill(t, s)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, i := range lost {
		patch(t, dir, o.CommitLogFileBytes, all[i].offset+200, func(b []byte) { b[0] ^= 0x40 })
		end := all[i].offset + int64(all[i].size)
		if i+1 < len(all) {
			end = all[i+1].offset
		}
		ranges = ranges.Add(commitlog.Range{From: all[i].offset, To: end})
	}
	return dir, all, ranges
}

// Goal: with skip a store goes on behind damage: every sound record is found by
// offset, queue and key, readers pass the hole, new messages have new places, and
// the next Open knows the range, whatever its policy. Method: a record within a
// file, the last and the first of files, two in a row, and the last of all; with
// queues and index kept, and built anew.
func TestB86_SkippedDamageIsPassedByAllReaders(t *testing.T) {
	o := small(Options{Dispatch: On, CommitLogFileBytes: fileBytes, RecoverFrom: RecoverFirst, IndexSlots: 10, IndexItems: 30})
	for name, lost := range map[string][]int{
		"within a file": {8}, "last of a file": {5}, "first of a file": {6}, "two in a row": {8, 9}, "the last of all": {39}, "the first of all": {0},
	} {
		for _, killed := range []bool{false, true} {
			for _, rebuild := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s killed=%v rebuild=%v", name, killed, rebuild), func(t *testing.T) {
					dir, all, ranges := damaged(t, o, killed, lost...)
					mustRefuse(t, dir, o, fmt.Sprintf("offset %d", all[lost[0]].offset))
					if rebuild {
						if err := errors.Join(os.RemoveAll(storedir.Layout(dir).ConsumeQueue()), os.RemoveAll(storedir.Layout(dir).Index())); err != nil {
							t.Fatal(err)
						}
					}
					w := &warnings{}
					skip := o
					skip.Damage, skip.Logger = DamageSkip, w.logger()
					s := openUnchecked(t, dir, skip)
					if r := s.Snapshot().Recovery; !slices.Equal(r.Skipped, ranges) || r.NewlySkipped == 0 || r.NewlySkipped > len(lost) {
						t.Errorf("recovery says %+v, want %v skipped", r, ranges)
					}
					if n := w.count("damaged", fmt.Sprint("offset=", all[lost[0]].offset)); n != 1 {
						t.Errorf("%d warnings name the damage, want 1:\n%s", n, w)
					}
					for round := range 2 {
						checkSkipped(t, s, all, lost)
						for i := range 4 {
							m := keyedMessage("t", "", fmt.Sprint("key", len(all)), text(body(i), 500))
							m.QueueID = int32(i % 2)
							all = append(all, asStored(m, put(t, s, m)))
						}
						dispatched(t, s)
						checkSkipped(t, s, all, lost)
						if err := s.Close(); err != nil {
							t.Fatal(err)
						}
						auditClosed(t, s)
						s = openUnchecked(t, dir, o) // the policy is refuse
						if r := s.Snapshot().Recovery; !slices.Equal(r.Skipped, ranges) || r.NewlySkipped != 0 {
							t.Errorf("round %d: recovery says %+v, want %v known", round, r, ranges)
						}
					}
					checkSkipped(t, s, all, lost)
				})
			}
		}
	}
}

// checkSkipped demands that all records but the lost ones are found in each way.
func checkSkipped(t testing.TB, s *Store, all []stored, lost []int) {
	t.Helper()
	byQueue := make(map[queue][]int64)
	seen := make(map[queue]map[int64]bool)
	for i, r := range all {
		if seen[r.queue] == nil {
			seen[r.queue] = make(map[int64]bool)
		}
		key := string(message.Properties(r.properties)[:])
		key = strings.TrimSuffix(key[strings.LastIndex(key, "key"):], "\x02")
		want := []int64{r.offset}
		if slices.Contains(lost, i) {
			if _, err := s.At(r.offset); !errors.Is(err, ErrNotFound) {
				t.Errorf("lost record %d: %v", i, err)
			}
			want = nil
		} else {
			if got := read(t, s, r.offset); got != r {
				t.Errorf("record %d: got %+v, want %+v", i, got, r)
			}
			byQueue[r.queue] = append(byQueue[r.queue], r.offset)
			if seen[r.queue][r.queueOffset] {
				t.Errorf("queue offset %d of %v was given twice", r.queueOffset, r.queue)
			}
			seen[r.queue][r.queueOffset] = true
		}
		if got := queryAll(t, s, "t", key); !slices.Equal(got, want) {
			t.Errorf("key %s: found at %v, want %v", key, got, want)
		}
	}
	for q, want := range byQueue {
		var got []int64
		first, next := s.QueueBounds(q.topic, q.id)
		for offset, calls := first, 0; offset < next; calls++ {
			r, err := s.Get(q.topic, q.id, offset, 100, nil)
			if err != nil || r.NextBegin <= offset || calls > 100 {
				t.Fatalf("get from %v at %d: %v, next %d, %v", q, offset, r.Status, r.NextBegin, err)
			}
			for i := range r.Messages {
				got = append(got, r.Messages[i].PhysicalOffset)
			}
			offset = r.NextBegin
			r.Release()
		}
		if !slices.Equal(got, want) {
			t.Errorf("queue %v has records at %v, want %v", q, got, want)
		}
	}
}

// Damage in files that a start trusts is met when it is read: the records behind
// are there all the same.
func TestDamageInATrustedFileIsMetByReaders(t *testing.T) {
	o := small(Options{Dispatch: On, CommitLogFileBytes: fileBytes})
	dir, all, _ := damaged(t, o, false, 2)
	s := openUnchecked(t, dir, o)
	if r := s.Snapshot().Recovery; r.FilesScanned != normalFiles || r.StartOffset <= all[2].offset {
		t.Errorf("%d files were read from %d on, want the last %d", r.FilesScanned, r.StartOffset, normalFiles)
	}
	for i, r := range all {
		if i != 2 && read(t, s, r.offset) != r {
			t.Errorf("record %d is another", i)
		}
	}
}

// A killed store noted with each sync how far it was durable: damage before that is
// refused though no checkpoint was saved since, and what lies behind is cut.
func TestDurableRecordsAreNeverCutSilently(t *testing.T) {
	o := small(Options{Flush: FlushSync, CommitLogFileBytes: fileBytes, FlushIntervalMs: 1 << 30, FlushThoroughIntervalMs: 1 << 30})
	s := openUnchecked(t, scratch(t), o)
	var all []stored
	for i := range 6 {
		m := newMessage("t", 0, text(body(i), 300))
		if i >= 4 {
			m = unwaited("t", 0, text(body(i), 300))
		}
		all = append(all, asStored(m, put(t, s, m)))
	}
	for _, c := range []struct {
		record  int
		refused bool
	}{{3, true}, {0, true}, {4, false}} {
		dir := kill(t, s)
		patch(t, dir, fileBytes, all[c.record].offset+200, func(b []byte) { b[0] ^= 1 })
		if c.refused {
			mustRefuse(t, dir, o, fmt.Sprintf("offset %d", all[c.record].offset))
			continue
		}
		again := openUnchecked(t, dir, o)
		if end := again.log.Appended(); end != all[c.record].offset {
			t.Errorf("record %d: log ends at %d, want it cut at %d", c.record, end, all[c.record].offset)
		}
	}
}

// The wall clock was set back before a crash: the records from then on have times
// that are long durable, though they are not, and a torn one among them was taken for
// damage, so that the store did not open.
func TestClockSetBackBeforeACrashIsNoDamage(t *testing.T) {
	o := small(Options{CommitLogFileBytes: fileBytes, FlushIntervalMs: 1 << 30, FlushThoroughIntervalMs: 1 << 30})
	for _, known := range []bool{true, false} {
		s := openUnchecked(t, scratch(t), o)
		var all []stored
		for i := range 3 {
			m := newMessage("t", 0, text(body(i), 300))
			all = append(all, asStored(m, put(t, s, m)))
		}
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			m := newMessage("t", 0, text(body(3+i), 300))
			all = append(all, asStored(m, put(t, s, m)))
		}
		dir := kill(t, s)
		// All store times that come after the flush are an hour earlier.
		hour := int64(time.Hour / time.Millisecond)
		for _, r := range all[3:] {
			patch(t, dir, fileBytes, r.offset, func(b []byte) {
				const storeTimeAt = 56
				ms := int64(0)
				for i := range 8 {
					ms = ms<<8 | int64(b[storeTimeAt+i])
				}
				for i := range 8 {
					b[storeTimeAt+i] = byte((ms - hour) >> (56 - 8*i))
				}
			})
		}
		patch(t, dir, fileBytes, all[4].offset+200, func(b []byte) { b[0] ^= 1 })
		if !known { // as RocketMQ leaves it: only the times
			f, c, err := storedir.Layout(dir).OpenCheckpoint()
			c.CommitLogMs, c.Positions = time.Now().UnixMilli(), storedir.Positions{}
			if err := errors.Join(err, f.Save(c), f.Close()); err != nil {
				t.Fatal(err)
			}
		}
		again := openUnchecked(t, dir, o)
		if got := scan(t, again); len(got) != 4 || again.log.Appended() != all[4].offset {
			t.Errorf("positions known %v: %d records up to %d, want 4 up to %d", known, len(got), again.log.Appended(), all[4].offset)
		}
	}
}

// RocketMQ leaves standing what it cuts off. Once new records were written over a
// part of it and the store was closed in order, whole old records follow the end of
// the log, at their own places; that is no damage. Nor is the filler of a file that
// 4.3.2 closed, which is old bytes too.
func TestOldRecordsBehindTheEndOfARocketMQStoreAreNoDamage(t *testing.T) {
	o := small(Options{Dispatch: On, CommitLogFileBytes: fileBytes})
	dir, all := written(t, o, false, fiveFiles()[:14]...)
	// The tail as it was, with two records of 1000 bytes in the last file.
	last := segment.FileName(all[12].offset / fileBytes * fileBytes)
	path := filepath.Join(storedir.Layout(dir).CommitLog(), last)
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// It is cut at the first of them, and a shorter record takes its place.
	patch(t, dir, fileBytes, all[12].offset, func(b []byte) { clear(b) })
	forgetDurable(t, dir)
	s := openUnchecked(t, dir, o)
	time.Sleep(2 * time.Millisecond) // RocketMQ took longer, too
	m := newMessage("t", 0, text("new", 300))
	records := append(all[:12:12], asStored(m, put(t, s, m)))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	end := records[12].offset + int64(records[12].size)
	copy(b[end%fileBytes:], old[end%fileBytes:])
	first := filepath.Join(storedir.Layout(dir).CommitLog(), segment.FileName(0))
	filled, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	blank := all[2].offset + int64(all[2].size) + message.BlankBytes
	copy(filled[blank:], old[message.BlankBytes:])
	if err := errors.Join(os.WriteFile(path, b, 0o644), os.WriteFile(first, filled, 0o644)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b[end%fileBytes:], []byte(all[13].body)) {
		t.Fatal("no whole old record stands behind the end")
	}
	forgetDurable(t, dir) // RocketMQ notes no positions
	goesOnDispatching(t, dir, o, records)
}

// goesOnDispatching is goesOn for a store with queues.
func goesOnDispatching(t *testing.T, dir string, o Options, want []stored) {
	t.Helper()
	s := openUnchecked(t, dir, o)
	if got := scan(t, s); !slices.Equal(got, want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	checkDerived(t, s)
	put(t, s, newMessage("t", 0, "next"))
	dispatched(t, s)
	checkDerived(t, s)
}

// A lost queue directory, a queue without its last units and an index without its
// last files are noticed whichever files of the log are trusted, and completed.
func TestWhatIsMissingIsBuiltFromTrustedFiles(t *testing.T) {
	o := small(Options{Dispatch: On, CommitLogFileBytes: fileBytes, ConsumeQueueFileBytes: 4 * consumequeue.UnitBytes, IndexSlots: 10, IndexItems: 12})
	for name, lose := range map[string]func(t *testing.T, dir storedir.Layout){
		"nothing": func(*testing.T, storedir.Layout) {},
		"a queue": func(t *testing.T, dir storedir.Layout) { remove(t, filepath.Join(dir.ConsumeQueue(), "t", "1")) },
		"a topic": func(t *testing.T, dir storedir.Layout) { remove(t, filepath.Join(dir.ConsumeQueue(), "t")) },
		"queues":  func(t *testing.T, dir storedir.Layout) { remove(t, dir.ConsumeQueue()) },
		"index":   func(t *testing.T, dir storedir.Layout) { remove(t, dir.Index()) },
		"the last index file": func(t *testing.T, dir storedir.Layout) {
			all := names(t, dir.Index())
			remove(t, filepath.Join(dir.Index(), all[len(all)-1]))
		},
		"the last file of a queue": func(t *testing.T, dir storedir.Layout) {
			q := filepath.Join(dir.ConsumeQueue(), "t", "0")
			all := names(t, q)
			remove(t, filepath.Join(q, all[len(all)-1]))
		},
	} {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s killed=%v", name, killed), func(t *testing.T) {
				dir, all, _ := damaged(t, o, killed)
				lose(t, storedir.Layout(dir))
				s := openUnchecked(t, dir, o)
				checkDerived(t, s)
				r := s.Snapshot().Recovery
				if name == "nothing" && !killed && (r.FilesScanned != normalFiles || r.RecordsDispatched != 0) {
					t.Errorf("%d of %d files were read, %d records dispatched; want the last %d, and none", r.FilesScanned, r.Files, r.RecordsDispatched, normalFiles)
				}
				for i := range 2 {
					p := put(t, s, newMessage("t", int32(i), "next"))
					if want := all[len(all)-2+i].queueOffset + 1; p.QueueOffset != want {
						t.Errorf("queue %d: next offset %d, want %d", i, p.QueueOffset, want)
					}
				}
				dispatched(t, s)
				checkDerived(t, s)
			})
		}
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}
