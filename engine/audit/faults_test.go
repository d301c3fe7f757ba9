package audit_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"commitlab/engine/audit"
	"commitlab/engine/fsutil"
	"commitlab/engine/index"
	"commitlab/engine/storedir"
)

// planted is a store in which a test damages something.
type planted struct {
	t       *testing.T
	dir     string
	records []audit.RecordLine
}

func plantIn(t *testing.T) *planted {
	p := &planted{t: t, dir: written(t)}
	err := audit.Dump{}.Records(t.Context(), p.dir, func(s fmt.Stringer) error {
		p.records = append(p.records, s.(audit.RecordLine))
		return nil
	})
	if err != nil || len(p.records) != 300 {
		t.Fatalf("dump: %d records, %v; want 300", len(p.records), err)
	}
	return p
}

// change hands the content of a file to f and writes what that returns.
func (p *planted) change(name string, f func(b []byte) []byte) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, f(b), 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *planted) flip(name string, at int64) {
	p.change(name, func(b []byte) []byte { b[at] ^= 0x40; return b })
}

func (p *planted) put32(name string, at int64, v uint32) {
	p.change(name, func(b []byte) []byte { binary.BigEndian.PutUint32(b[at:], v); return b })
}

func (p *planted) put64(name string, at int64, v uint64) {
	p.change(name, func(b []byte) []byte { binary.BigEndian.PutUint64(b[at:], v); return b })
}

func (p *planted) zero(name string, at, n int64) {
	p.change(name, func(b []byte) []byte { clear(b[at : at+n]); return b })
}

func (p *planted) remove(name string) {
	if err := os.RemoveAll(filepath.Join(p.dir, name)); err != nil {
		p.t.Fatal(err)
	}
}

// indexFile is the name of the first index file.
func (p *planted) indexFile() string {
	names, err := filepath.Glob(filepath.Join(p.dir, "index", "*"))
	if err != nil || len(names) == 0 {
		p.t.Fatal("no index files", err)
	}
	return filepath.Join("index", filepath.Base(names[0]))
}

const (
	logFile   = "commitlog/00000000000000000000"
	queueFile = "consumequeue/topic/1/00000000000000000000"
)

var layout = index.Layout{Slots: 101, Items: 250}

func itemAt(n int) int64 {
	return index.HeaderBytes + index.SlotBytes*int64(layout.Slots) + index.ItemBytes*int64(n)
}

func TestPlantedFaultsAreNamedWithTheirPlace(t *testing.T) {
	for _, c := range []struct {
		name  string
		plant func(p *planted) (file string, position int64)
		what  string
		only  bool // nothing else is a fault
	}{
		{"flipped byte of a body", func(p *planted) (string, int64) {
			p.flip(logFile, p.records[5].Offset+90)
			return logFile, p.records[5].Offset
		}, "body crc", true},
		{"flipped byte that only the record CRC covers", func(p *planted) (string, int64) {
			p.flip(logFile, p.records[5].Offset+47)
			return logFile, p.records[5].Offset
		}, "record crc", true},
		{"record that belongs elsewhere", func(p *planted) (string, int64) {
			p.flip(logFile, p.records[5].Offset+35)
			return logFile, p.records[5].Offset
		}, "reading goes on 136 bytes behind", false},
		{"size of a record", func(p *planted) (string, int64) {
			p.put32(logFile, p.records[5].Offset, 1<<30)
			return logFile, p.records[5].Offset
		}, "bounds", false},
		{"negative size of a record", func(p *planted) (string, int64) {
			p.put32(logFile, p.records[5].Offset, 0x8000_0000)
			return logFile, p.records[5].Offset
		}, "total size: got -2147483648, want 88", false},
		{"magic of a record", func(p *planted) (string, int64) {
			p.flip(logFile, p.records[5].Offset+4)
			return logFile, p.records[5].Offset
		}, "magic 0x9aa320a7; reading goes on 136 bytes behind", false},
		{"size of a blank", func(p *planted) (string, int64) {
			blank := int64(0)
			for _, r := range p.records {
				if end := r.Offset + int64(r.Size); end < 16384 {
					blank = end
				}
			}
			p.flip(logFile, blank+3)
			return logFile, blank
		}, "blank size", true},
		{"record overwritten with zeros", func(p *planted) (string, int64) {
			p.zero(logFile, p.records[5].Offset, int64(p.records[5].Size))
			return logFile, p.records[5].Offset
		}, "nothing was written at offset", false},
		{"bytes behind the end of the log", func(p *planted) (string, int64) {
			const last = "commitlog/00000000000000032768"
			p.flip(last, 16000)
			end := p.records[299].Offset + int64(p.records[299].Size)
			return last, end - 32768
		}, "at byte 16000 of commitlog/00000000000000032768 something is", true},
		{"missing log file", func(p *planted) (string, int64) {
			p.remove("commitlog/00000000000000016384")
			return "commitlog/00000000000000032768", 0
		}, "starts at 32768, but commitlog/00000000000000000000 ends at 16384", false},
		{"unit that points elsewhere", func(p *planted) (string, int64) {
			p.put64(queueFile, 20*7, uint64(p.records[3].Offset))
			return queueFile, 20 * 7
		}, "queue offset 7 is (offset", true},
		{"tags code of a unit", func(p *planted) (string, int64) {
			p.flip(queueFile, 20*7+19)
			return queueFile, 20 * 7
		}, "tags code 64), but the record there is", true},
		{"empty unit", func(p *planted) (string, int64) {
			p.zero(queueFile, 20*7, 20)
			return queueFile, 20 * 7
		}, "queue offset 7 is empty", false},
		{"unit beyond the end of the log", func(p *planted) (string, int64) {
			queue := "consumequeue/topic/1/00000000000000002000"
			b := make([]byte, 2000)
			binary.BigEndian.PutUint64(b, 1<<20)
			binary.BigEndian.PutUint32(b[8:], 140)
			if err := os.WriteFile(filepath.Join(p.dir, queue), b, 0o644); err != nil {
				p.t.Fatal(err)
			}
			return queue, 0
		}, "points behind the end of the log", true},
		{"unit that repeats another message", func(p *planted) (string, int64) {
			queue := "consumequeue/topic/1/00000000000000002000"
			b := make([]byte, 2000)
			binary.BigEndian.PutUint64(b, uint64(p.records[3].Offset))
			binary.BigEndian.PutUint32(b[8:], uint32(p.records[3].Size))
			if err := os.WriteFile(filepath.Join(p.dir, queue), b, 0o644); err != nil {
				p.t.Fatal(err)
			}
			return queue, 0
		}, "points at a record of topic topic, queue 0, queue offset 1", true},
		{"missing queue", func(p *planted) (string, int64) {
			p.remove("consumequeue/topic/1")
			return "consumequeue/topic/1", 0
		}, "queue is missing", false},
		{"chain loop in the index", func(p *planted) (string, int64) {
			p.put32(p.indexFile(), itemAt(40)+16, 40)
			return p.indexFile(), 0
		}, "item 40: previous is 40", true},
		{"slot that leads elsewhere", func(p *planted) (string, int64) {
			p.put32(p.indexFile(), index.HeaderBytes, 77)
			return p.indexFile(), 0
		}, "slot 0: leads to item 77", true},
		{"hash of an item", func(p *planted) (string, int64) {
			p.flip(p.indexFile(), itemAt(40)+3)
			return p.indexFile(), itemAt(40)
		}, "is that of no key of the record", false},
		{"physical offset of an item, too high", func(p *planted) (string, int64) {
			p.put64(p.indexFile(), itemAt(40)+4, 1<<40)
			return p.indexFile(), itemAt(40)
		}, "item 40: physical offset 1099511627776 is out of order", false},
		{"physical offset of an item, within a record", func(p *planted) (string, int64) {
			p.put64(p.indexFile(), itemAt(42)+4, uint64(p.records[20].Offset)+1)
			return p.indexFile(), itemAt(42)
		}, "that of no record with keys: no record", false},
		{"missing index file", func(p *planted) (string, int64) {
			p.remove(p.indexFile())
			return "index", 0
		}, "2 of 2 keys of the record at offset 0 are missing", false},
		{"cut index file", func(p *planted) (string, int64) {
			name := p.indexFile()
			p.change(name, func(b []byte) []byte { return b[:1001] })
			return name, 0
		}, "1001 bytes, and neither header nor items tell", false},
		{"short checkpoint", func(p *planted) (string, int64) {
			p.change("checkpoint", func(b []byte) []byte { return b[:7] })
			return "checkpoint", 0
		}, "7 bytes, expected 4096", true},
		{"progress of delayed messages beyond their queue", func(p *planted) (string, int64) {
			if err := storedir.Layout(p.dir).SaveDelayOffsets(storedir.DelayOffsets{3: 9}, 1, 1); err != nil {
				p.t.Fatal(err)
			}
			return "config/delayOffset.json", 0
		}, "level 3 was delivered up to 9, but its queue ends at 0", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := plantIn(t)
			file, position := c.plant(p)
			r := verify(t, p.dir)
			found := false
			for _, f := range r.Faults {
				found = found || f.File == file && f.Position == position && strings.Contains(f.What, c.what)
			}
			if !found || c.only && r.FaultCount != 1 {
				t.Errorf("want %s at byte %d: …%s…, nothing else: %v; got %d faults:", file, position, c.what, c.only, r.FaultCount)
				for _, f := range r.Faults {
					t.Log(f)
				}
			}
			if r.FaultCount > 20 && c.name != "missing log file" && c.name != "missing queue" && !strings.HasSuffix(c.name, "index file") {
				t.Errorf("one fault makes %d", r.FaultCount)
			}
		})
	}
}

// Whatever bytes are damaged, the audit ends, without an error of its own, and what
// it says is about files of the store.
func TestAnyDamageEndsInAReport(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, 0))
	source := golden(t, "v4.9.4-clean")
	var files []string
	err := filepath.WalkDir(source, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			path, err = filepath.Rel(source, path)
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for range 40 {
		p := &planted{t: t, dir: t.TempDir()}
		if err := os.CopyFS(p.dir, os.DirFS(source)); err != nil {
			t.Fatal(err)
		}
		p.change(files[random.IntN(len(files))], func(b []byte) []byte {
			from := random.IntN(len(b))
			for i := range min(1+random.IntN(200), len(b)-from) {
				b[from+i] = byte(random.Uint32())
			}
			return b
		})
		r := verify(t, p.dir)
		if !r.Clean() {
			damaged++
		}
		for _, f := range r.Faults {
			if _, err := os.Stat(filepath.Join(p.dir, f.File)); err != nil || f.Position < 0 {
				t.Errorf("seed %d: fault of what is not there: %v", seed, f)
			}
		}
	}
	if damaged < 20 {
		t.Errorf("seed %d: damage was seen in %d of 40 stores", seed, damaged)
	}
}

func TestAllFaultsAreCountedAndTheFirstListed(t *testing.T) {
	p := plantIn(t)
	p.remove("consumequeue/topic/1")
	if r := verify(t, p.dir); r.FaultCount != 100 || len(r.Faults) != 20 || r.Clean() {
		t.Fatalf("got %d faults, %d listed; want 100, 20", r.FaultCount, len(r.Faults))
	}
}

func TestStoreWithoutIndexIsCleanWithANote(t *testing.T) {
	p := plantIn(t)
	p.remove("index")
	if r := verify(t, p.dir); !r.Clean() || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "there is no index") {
		t.Fatalf("got %v, notes %q", r.Faults, r.Notes)
	}
}

// Found by FuzzOpen in package engine: a sign was taken for a digit, and the file of
// another for one of the log.
func TestForeignFilesAreNotesAndNoFaults(t *testing.T) {
	p := plantIn(t)
	for _, name := range []string{"-0000000000000000001", "+0000000000000016384", "notes.txt", "00000000000000000000.bak"} {
		if err := os.WriteFile(filepath.Join(p.dir, "commitlog", name), make([]byte, 16384), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if r := verify(t, p.dir); !r.Clean() || len(r.Notes) != 4 {
		t.Fatalf("got %v, notes %q; want a note for each foreign file", r.Faults, r.Notes)
	}
}

func TestLockedStoreIsRefusedUnlessAskedFor(t *testing.T) {
	dir := written(t)
	lock, err := fsutil.AcquireLock(storedir.Layout(dir).Lock())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	var locked *fsutil.LockedError
	if _, err := audit.Verify(t.Context(), dir, audit.Options{}); !errors.As(err, &locked) {
		t.Fatalf("got %v, want a LockedError", err)
	}
	r, err := audit.Verify(t.Context(), dir, audit.Options{EvenLocked: true})
	if err != nil || !r.Clean() || r.State.LockedBy == nil || *r.State.LockedBy != os.Getpid() || len(r.Notes) != 1 {
		t.Fatalf("got %+v, %v", r, err)
	}
}

func TestNoStoreAndImpossibleOptionsAreErrors(t *testing.T) {
	if _, err := audit.Verify(t.Context(), t.TempDir(), audit.Options{}); !errors.Is(err, audit.ErrNoStore) {
		t.Errorf("empty directory: got %v", err)
	}
	for _, o := range []audit.Options{{IndexSlots: 1}, {IndexSlots: -1, IndexItems: 9}, {DelayLevels: "1x"}} {
		if _, err := audit.Verify(t.Context(), t.TempDir(), o); !errors.Is(err, audit.ErrOptions) {
			t.Errorf("%+v: got %v", o, err)
		}
	}
}

func TestDumpShowsAllFromAnOffsetUpToALimit(t *testing.T) {
	p := plantIn(t)
	from := p.records[150].Offset
	count := func(dump func(line func(fmt.Stringer) error) error) (lines []string) {
		t.Helper()
		if err := dump(func(s fmt.Stringer) error { lines = append(lines, s.String()); return nil }); err != nil {
			t.Fatal(err)
		}
		return lines
	}
	for _, c := range []struct {
		dump                 audit.Dump
		records, units, file int
	}{
		{audit.Dump{}, 300, 300, 3},
		{audit.Dump{From: from}, 150, 150, 2},
		{audit.Dump{From: from, Limit: 1}, 1, 1, 1},
		{audit.Dump{From: 1 << 40}, 0, 0, 0},
	} {
		records := count(func(line func(fmt.Stringer) error) error { return c.dump.Records(t.Context(), p.dir, line) })
		units := count(func(line func(fmt.Stringer) error) error { return c.dump.Units(t.Context(), p.dir, line) })
		files := count(func(line func(fmt.Stringer) error) error { return c.dump.Index(p.dir, line) })
		if len(records) != c.records || len(units) != c.units || len(files) != c.file {
			t.Errorf("%+v: %d records, %d units, %d index files; want %d, %d, %d", c.dump, len(records), len(units), len(files), c.records, c.units, c.file)
		}
		if len(records) > 0 && c.dump.From > 0 && !strings.Contains(records[0], fmt.Sprintf("record %d size", from)) {
			t.Errorf("%+v: starts with %s", c.dump, records[0])
		}
	}
	if lines := count(func(line func(fmt.Stringer) error) error { return audit.Dump{}.Checkpoint(p.dir, line) }); len(lines) != 1 {
		t.Errorf("checkpoint: got %q", lines)
	}
	p.flip(logFile, p.records[5].Offset+90)
	lines := count(func(line func(fmt.Stringer) error) error {
		return audit.Dump{Limit: 8}.Records(t.Context(), p.dir, line)
	})
	if len(lines) != 9 || !strings.HasPrefix(lines[5], "record") || !strings.HasPrefix(lines[6], "fault "+logFile) {
		t.Errorf("damage is not shown behind its record: %q", lines)
	}
}
