package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"commitlab/engine/message"
	"commitlab/engine/segment"
	"commitlab/engine/storedir"
)

// fileBytes is the size of a log file in the tests of recovery.
const fileBytes = 4096

// fiveFiles are messages of which three fill a file of fileBytes.
func fiveFiles() (messages []*message.Message) {
	for i := range 15 {
		messages = append(messages, newMessage("t", int32(i%2), text(body(i), 1000)))
	}
	return messages
}

// tree is every file below dir with its content, except lock and checkpoint,
// which Open may create.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	log := storedir.Layout(dir).CommitLog()
	for _, name := range names(t, log) {
		b, err := os.ReadFile(filepath.Join(log, name))
		if err != nil && !errors.Is(err, errors.ErrUnsupported) && !strings.Contains(err.Error(), "is a directory") {
			t.Fatal(err)
		}
		all[name] = string(b)
	}
	return all
}

// mustRefuse demands that the store is not opened, that the error holds all the
// words, and that the log is as it was.
func mustRefuse(t testing.TB, dir string, o Options, words ...string) error {
	t.Helper()
	before := tree(t, dir)
	s, err := Open(dir, o)
	if err == nil {
		s.Close()
		t.Fatal("opened")
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error does not say %q: %v", word, err)
		}
	}
	after := tree(t, dir)
	for name := range before {
		if before[name] != after[name] {
			t.Errorf("%s was changed", name)
		}
	}
	if len(before) != len(after) {
		t.Errorf("log directory had %d entries, has %d", len(before), len(after))
	}
	return err
}

// B-27: a kill between creation and sizing left an empty last file, and the
// store refused to start. In the middle an empty file is damage.
func TestB27_EmptyLastFileIsRemovedEmptyMiddleRefused(t *testing.T) {
	o := small(Options{CommitLogFileBytes: fileBytes})
	empty := func(dir string, index int64) string {
		path := filepath.Join(storedir.Layout(dir).CommitLog(), segment.FileName(index*fileBytes))
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Run("last", func(t *testing.T) {
		dir, want := written(t, o, true, fiveFiles()[:9]...)
		path := empty(dir, 3)
		log := &warnings{}
		o := o
		o.Logger = log.logger()
		o.Preallocate = Off
		s := openStore(t, dir, o)
		if got := scan(t, s); !slices.Equal(got, want) {
			t.Errorf("%d records, want %d", len(got), len(want))
		}
		if n := log.count(path); n != 1 {
			t.Errorf("%d warnings name the file, want 1:\n%s", n, log)
		}
	})
	t.Run("middle", func(t *testing.T) {
		dir, _ := written(t, o, true, fiveFiles()...)
		mustRefuse(t, dir, o, empty(dir, 2), "0 bytes", "expected 4096")
	})
	t.Run("middle and last", func(t *testing.T) {
		dir, _ := written(t, o, false, fiveFiles()...)
		path := empty(dir, 2)
		empty(dir, 5)
		mustRefuse(t, dir, o, path)
	})
}

// B-28: an unrelated file in the log directory blocked the start with a cryptic
// message.
func TestB28_ForeignFilesAreIgnoredWithOneWarningEach(t *testing.T) {
	o := small(Options{CommitLogFileBytes: fileBytes})
	dir, want := written(t, o, false, fiveFiles()...)
	log := storedir.Layout(dir).CommitLog()
	foreign := []string{"notes.txt", ".DS_Store", segment.FileName(0) + ".bak", "+0000000000000000000", "-0000000000000000000"}
	for _, name := range foreign {
		if err := os.WriteFile(filepath.Join(log, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"lost+found", segment.FileName(1 << 40)} {
		if err := os.Mkdir(filepath.Join(log, name), 0o755); err != nil {
			t.Fatal(err)
		}
		foreign = append(foreign, name)
	}
	w := &warnings{}
	o.Logger = w.logger()
	s := openUnchecked(t, dir, o)
	if got := scan(t, s); !slices.Equal(got, want) {
		t.Errorf("%d records, want %d", len(got), len(want))
	}
	for _, name := range foreign {
		if n := w.count("commitlog/" + name); n != 1 {
			t.Errorf("%d warnings about %s, want 1", n, name)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range foreign {
		if _, err := os.Stat(filepath.Join(log, name)); err != nil {
			t.Errorf("%s is gone: %v", name, err)
		}
	}
}

func TestB28_WrongSizedFileIsNamedWithBothSizes(t *testing.T) {
	o := small(Options{CommitLogFileBytes: fileBytes})
	for _, index := range []int64{0, 2, 4} {
		dir, _ := written(t, o, false, fiveFiles()...)
		path := filepath.Join(storedir.Layout(dir).CommitLog(), segment.FileName(index*fileBytes))
		if err := os.Truncate(path, 1234); err != nil {
			t.Fatal(err)
		}
		mustRefuse(t, dir, o, path, "1234", "4096")
	}
	dir, _ := written(t, o, false, fiveFiles()...)
	mustRefuse(t, dir, small(Options{CommitLogFileBytes: 2 * fileBytes}), segment.FileName(0), "4096", "8192")
}

func TestMissingFileInTheMiddleIsRefused(t *testing.T) {
	o := small(Options{CommitLogFileBytes: fileBytes})
	dir, _ := written(t, o, false, fiveFiles()...)
	if err := os.Remove(filepath.Join(storedir.Layout(dir).CommitLog(), segment.FileName(2*fileBytes))); err != nil {
		t.Fatal(err)
	}
	mustRefuse(t, dir, o, segment.FileName(2*fileBytes), segment.FileName(3*fileBytes))
}

// goesOn demands that exactly want is in the store, and that ten more messages
// are put behind it, without a gap in offsets and queue offsets.
func goesOn(t *testing.T, dir string, o Options, want []stored) {
	t.Helper()
	s := openStore(t, dir, o)
	if got := scan(t, s); !slices.Equal(got, want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	var end int64
	next := make(map[queue]int64)
	for _, r := range want {
		end = r.offset + int64(r.size)
		next[r.queue] = r.queueOffset + 1
	}
	for i := range 10 {
		q := queue{"t", int32(i % 2)}
		p := put(t, s, newMessage(q.topic, q.id, body(i)))
		if i == 0 && p.PhysicalOffset != end {
			t.Errorf("first new record at %d, want %d", p.PhysicalOffset, end)
		}
		if p.QueueOffset != next[q] {
			t.Errorf("queue offset: got %d, want %d", p.QueueOffset, next[q])
		}
		next[q]++
	}
}

// B-33: a bad record at the tail was passed over instead of cut, and a message
// put behind it was lost. A record that was not yet durable is cut; one that was is
// damage, and the log is cut only where the option says so.
func TestB33_BadTailRecordIsCut(t *testing.T) {
	o := small(Options{CommitLogFileBytes: fileBytes})
	for _, killed := range []bool{true, false} {
		for _, durable := range []bool{true, false} {
			t.Run(fmt.Sprintf("killed=%v durable=%v", killed, durable), func(t *testing.T) {
				dir, records := written(t, o, killed, fiveFiles()[:14]...)
				last := records[len(records)-1]
				patch(t, dir, fileBytes, last.offset+200, func(b []byte) { b[0] ^= 0x10 })
				o := o
				if !durable {
					forgetDurable(t, dir)
				} else {
					mustRefuse(t, dir, o, fmt.Sprintf("offset %d", last.offset), fmt.Sprintf("durable up to log offset %d", last.offset+int64(last.size)))
					o.Damage = DamageTruncate
				}
				goesOn(t, dir, o, records[:len(records)-1])
			})
		}
	}
}

// B-37: a whole, valid record that had come into the free tail from elsewhere
// was replayed. A record knows its own place.
func TestB37_RecordFromElsewhereIsNotRevived(t *testing.T) {
	o := small(Options{CommitLogFileBytes: fileBytes})
	dir, records := written(t, o, true, fiveFiles()[:14]...)
	var stale []byte
	patch(t, dir, fileBytes, records[3].offset, func(b []byte) { stale = slices.Clone(b[:records[3].size]) })
	last := records[len(records)-1]
	end := last.offset + int64(last.size)
	patch(t, dir, fileBytes, end, func(b []byte) { copy(b, stale) })
	goesOn(t, dir, o, records)
}

// H7: the bytes behind a cut stayed, and a later crash could end just before an
// old record and revive it.
func TestH07_StaleTailIsErased(t *testing.T) {
	o := small(Options{CommitLogFileBytes: fileBytes})
	dir, records := written(t, o, true, fiveFiles()[:14]...)
	cut := records[12] // of the last file the first record; 13 follows it
	patch(t, dir, fileBytes, cut.offset+300, func(b []byte) { b[0] ^= 1 })
	// As if the checkpoint had not come that far: the end is torn, not damaged.
	forgetDurable(t, dir)
	s := openUnchecked(t, dir, o)
	if p := put(t, s, newMessage("t", 0, text("as long as the one before", 1000))); p.PhysicalOffset != cut.offset || p.Size != cut.size {
		t.Fatalf("new record at %d (%d bytes), want the place of the cut one", p.PhysicalOffset, p.Size)
	}
	again := openStore(t, kill(t, s), o)
	if n := len(scan(t, again)); n != 13 {
		t.Errorf("%d records, want 13: the old one behind must not come back", n)
	}
}

// B-84: half of a last record was zeros, and the store did not start. Whichever
// sector is missing, the log is cut at that record.
func TestB84_TornLastRecordIsCut(t *testing.T) {
	o := small(Options{CommitLogFileBytes: fileBytes})
	for name, last := range map[string]*message.Message{
		"body":       newMessage("t", 0, text("torn", 600)),
		"properties": {Topic: "t", Body: []byte("torn"), Properties: message.Properties("k\x01" + strings.Repeat("v", 600) + "\x02")},
	} {
		for _, keep := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s keeps sector %d", name, keep), func(t *testing.T) {
				s := openUnchecked(t, scratch(t), o)
				var records []stored
				for i := range 3 { // the last record begins 100 bytes before a sector's end
					m := newMessage("t", 0, text(body(i), 600))
					if i == 2 {
						end := records[1].offset + int64(records[1].size)
						m = newMessage("t", 0, text("f", int(2*512+412+512-end)-overhead(t, "t")))
					}
					records = append(records, asStored(m, put(t, s, m)))
				}
				p := put(t, s, last)
				if p.PhysicalOffset%512 != 412 || p.Size < 600 {
					t.Fatalf("the last record is %d bytes at %d", p.Size, p.PhysicalOffset)
				}
				if err := s.Flush(); err != nil {
					t.Fatal(err)
				}
				dir := kill(t, s)
				patch(t, dir, fileBytes, p.PhysicalOffset, func(b []byte) {
					if keep == 0 {
						clear(b[100:])
					} else {
						clear(b[:100])
					}
				})
				forgetDurable(t, dir)
				again := openStore(t, dir, o)
				if got := scan(t, again); !slices.Equal(got, records) {
					t.Fatalf("%d records, want the %d before the torn one", len(got), len(records))
				}
			})
		}
	}
}

// overhead is what a record of that topic needs beside its body.
func overhead(t *testing.T, topic string) int {
	t.Helper()
	plan, err := message.Prepare(newMessage(topic, 0, ""), message.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return plan.Size
}

// B-86, B-99: one flipped bit in an old file silently took all later files with
// it, or the start failed with a bare "invalid argument". The start is refused,
// and the message says where.
func TestB86_B99_H08_DamageInTheMiddleIsRefusedAndNamed(t *testing.T) {
	o := small(Options{CommitLogFileBytes: fileBytes})
	for _, killed := range []bool{false, true} {
		for _, index := range []int{0, 4, 6, 12} {
			t.Run(fmt.Sprintf("killed=%v record=%d", killed, index), func(t *testing.T) {
				dir, records := written(t, o, killed, fiveFiles()...)
				bad := records[index]
				patch(t, dir, fileBytes, bad.offset+300, func(b []byte) { b[0] ^= 0x04 })
				file := segment.FileName(bad.offset / fileBytes * fileBytes)
				err := mustRefuse(t, dir, o, file, fmt.Sprintf("byte %d", bad.offset%fileBytes), fmt.Sprintf("offset %d", bad.offset))
				var damage *DamageError
				if !errors.As(err, &damage) {
					t.Fatalf("got %v, want a DamageError", err)
				}
				if damage.Offset != bad.offset || damage.Behind != records[index+1].offset || damage.Position != bad.offset%fileBytes {
					t.Errorf("got %+v, want damage at %d and a sound record at %d", damage, bad.offset, records[index+1].offset)
				}
				// Mended, all is there.
				patch(t, dir, fileBytes, bad.offset+300, func(b []byte) { b[0] ^= 0x04 })
				goesOn(t, dir, o, records)
			})
		}
	}
}

func TestB86_DamagedLengthOrBlankIsRefusedToo(t *testing.T) {
	o := small(Options{CommitLogFileBytes: fileBytes})
	dir, records := written(t, o, false, fiveFiles()...)
	for name, at := range map[string]int64{
		"size":  records[4].offset,
		"magic": records[4].offset + 4,
		"blank": records[5].offset + int64(records[5].size) + 4,
	} {
		t.Run(name, func(t *testing.T) {
			var was uint32
			patch(t, dir, fileBytes, at, func(b []byte) {
				was = binary.BigEndian.Uint32(b)
				binary.BigEndian.PutUint32(b, was^0x01000001)
			})
			var damage *DamageError
			if err := mustRefuse(t, dir, o, segment.FileName(fileBytes)); !errors.As(err, &damage) {
				t.Errorf("got %v, want a DamageError", err)
			}
			patch(t, dir, fileBytes, at, func(b []byte) { binary.BigEndian.PutUint32(b, was) })
		})
	}
}

// B-97: two processes on one directory spoilt it. The lock comes first (H1):
// the second one has changed nothing when it gives up.
func TestB97_H01_SecondOpenIsRefusedAndHarmless(t *testing.T) {
	if dir := os.Getenv(childDir); dir != "" {
		openInChild(t, dir)
		return
	}
	o := small(Options{CommitLogFileBytes: fileBytes, Preallocate: Off}) // the first one must leave its directory alone
	dir := scratch(t)
	s := openStore(t, dir, o)
	for _, m := range fiveFiles() {
		put(t, s, m)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, link, dir + "/."} {
		var locked *LockedError
		if err := mustRefuse(t, path, o, filepath.Base(path)); !errors.As(err, &locked) {
			t.Errorf("%s: got %v, want a LockedError", path, err)
		}
	}
	child := exec.Command(os.Args[0], "-test.run=^TestB97_H01_SecondOpenIsRefusedAndHarmless$", "-test.v")
	child.Env = append(os.Environ(), childDir+"="+dir)
	output, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(output), fmt.Sprintf("refused by holder %d", os.Getpid())) {
		t.Errorf("second process: %v\n%s", err, output)
	}
	put(t, s, newMessage("t", 0, "unharmed"))
}

// openInChild is the other process of TestB97_H01.
func openInChild(t *testing.T, dir string) {
	s, err := Open(dir, small(Options{CommitLogFileBytes: fileBytes}))
	if err == nil {
		s.Close()
		t.Fatal("opened a directory that another process has open")
	}
	var locked *LockedError
	if !errors.As(err, &locked) || !strings.Contains(err.Error(), dir) {
		t.Fatalf("got %v, want a LockedError that names %s", err, dir)
	}
	t.Logf("refused by holder %d", locked.HolderPID)
}

// B-98: a lock file left by a crash blocked the start. The lock is the system's;
// the file only carries it.
func TestB98_LeftOverLockFileDoesNotBlock(t *testing.T) {
	o := small(Options{CommitLogFileBytes: fileBytes})
	dir, records := written(t, o, true, fiveFiles()...)
	if err := os.WriteFile(storedir.Layout(dir).Lock(), []byte("4711"), 0o644); err != nil {
		t.Fatal(err)
	}
	goesOn(t, dir, o, records)
}

// B-29: preallocation made one file twice. Two creators of one file: one wins,
// the other is told, and the winner's file is whole.
func TestB29_FileIsCreatedOnce(t *testing.T) {
	dir := scratch(t)
	s := openUnchecked(t, dir, small(Options{Preallocate: Off}))
	path := filepath.Join(s.dir.CommitLog(), segment.FileName(0))
	o := s.opt.commitLog(s.optional, s.reaper).Files
	results := make(chan error, 2)
	files := make(chan *segment.File, 2)
	for range 2 {
		go func() {
			f, err := segment.Create(path, 0, &o)
			if f != nil {
				files <- f
			}
			results <- err
		}()
	}
	a, b := <-results, <-results
	if (a == nil) == (b == nil) {
		t.Fatalf("two creators of one file: %v and %v, want one to win", a, b)
	}
	if err := errors.Join(a, b); !errors.Is(err, os.ErrExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("the other was told %v", err)
	}
	f := <-files
	if info, err := os.Stat(path); err != nil || info.Size() != f.Size() {
		t.Errorf("the winner's file: %v, %v", info, err)
	}
	f.Shutdown()
}
