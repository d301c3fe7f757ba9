package index

import (
	"bytes"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"commitlab/engine/message"
	"commitlab/engine/mmap"
	"commitlab/engine/mmap/mmaptest"
	"commitlab/engine/segment"
	"commitlab/engine/stats"
)

const forever = math.MaxInt64

// small has few slots, so that chains are long, and items that lie across
// sectors.
var small = Layout{Slots: 7, Items: 60}

// A bed is what a set of a test lies on: a directory, a file system that may
// fail or lose power, a clock, and the log output.
type bed struct {
	t    testing.TB
	dir  string
	heap *mmaptest.Heap // nil: the real system
	now  time.Time
	log  *logBuffer
}

func newBed(t testing.TB) *bed {
	b := newRealBed(t)
	b.heap = mmaptest.NewHeap()
	b.heap.LoseNames = true
	return b
}

func newRealBed(t testing.TB) *bed {
	return &bed{t: t, dir: t.TempDir(), now: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC), log: &logBuffer{}}
}

func (b *bed) options(l Layout) Options {
	o := Options{
		Slots: l.Slots, Items: l.Items, Now: func() time.Time { return b.now }, Logger: slog.New(slog.NewTextHandler(b.log, nil)),
		Files: segment.Options{
			Allocate: segment.Fallocate, Populate: segment.PopulateNone, WarmUp: segment.WarmUpNone, MemoryLock: segment.LockNone,
			Mapper: mmap.OS, Disk: segment.OSDisk{}, Optional: stats.NewOptional(nil),
		},
	}
	if b.heap != nil {
		o.Files.Mapper, o.Files.Disk = b.heap, b.heap
	}
	return o
}

// open opens the set after an orderly end. At the end of the test it is audited
// and closed, unless the test did so.
func (b *bed) open(l Layout) *Set { return b.openWith(b.options(l)) }

// openUnclean opens the set after a crash, with the checkpoint's timestamp.
func (b *bed) openUnclean(l Layout, durableMs int64) *Set {
	o := b.options(l)
	o.Unclean, o.DurableMs = true, durableMs
	return b.openWith(o)
}

func (b *bed) openWith(o Options) *Set {
	b.t.Helper()
	s, err := Open(b.dir, o)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if b.t.Failed() || s.Files() == nil {
			return
		}
		audit(b.t, s)
		if err := s.Close(); err != nil {
			b.t.Error(err)
		}
	})
	return s
}

// names are the entries of the directory.
func (b *bed) names() (names []string) {
	b.t.Helper()
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// patch overwrites bytes of a file that is not open.
func (b *bed) patch(name string, at int, content []byte) {
	b.t.Helper()
	f, err := os.OpenFile(filepath.Join(b.dir, name), os.O_RDWR, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(content, int64(at)); err != nil {
		b.t.Fatal(err)
	}
}

// audit checks every file of an open set against the format.
func audit(t testing.TB, s *Set) {
	t.Helper()
	for _, f := range s.Files() {
		if f.damaged.Load() {
			continue // the test made it so
		}
		if err := f.layout.Audit(f.b); err != nil {
			t.Errorf("%s: %v", f.Path(), err)
		}
		if h := DecodeHeader(f.b); h != f.Header() && f.Len() > 0 {
			t.Errorf("%s: header %+v, in memory %+v", f.Path(), h, f.Header())
		}
	}
}

// add adds a record with keys, all of topic T.
func add(t testing.TB, s *Set, physical, storeMs int64, keys ...string) {
	t.Helper()
	if err := s.Add(record(physical, storeMs, keys...)); err != nil {
		t.Fatal(err)
	}
}

func record(physical, storeMs int64, keys ...string) *Record {
	return &Record{Topic: []byte("T"), Keys: []byte(strings.Join(keys, " ")), Physical: physical, StoreMs: storeMs}
}

// find returns the candidates of a key of topic T in a time range.
func find(t testing.TB, s *Set, key string, beginMs, endMs int64) []int64 {
	t.Helper()
	return search(t, s, message.KeyHash("T", key), beginMs, endMs)
}

func search(t testing.TB, s *Set, hash int32, beginMs, endMs int64) (all []int64) {
	t.Helper()
	c := s.Search(hash, beginMs, endMs)
	defer c.Release()
	for c.Next() {
		all = append(all, c.Physical())
	}
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// closeSet closes a set that the test goes on to open again.
func closeSet(t testing.TB, s *Set) {
	t.Helper()
	audit(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A logBuffer collects log lines of several goroutines.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// warnings is the number of warnings that contain text.
func (l *logBuffer) warnings(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.buf.String()) {
		if strings.Contains(line, "level=WARN") && strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// abandon leaves a set as a killed process does.
func abandon(s *Set) { s.setFiles(nil) }
