package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	audits "commitlab/engine/audit"
	"commitlab/engine/consumequeue"
	"commitlab/engine/message"
	"commitlab/engine/segment"
	"commitlab/engine/storedir"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small fills in what keeps a test store small and quick: files that roll after
// a few records, short background intervals, no log output.
func small(o Options) Options {
	if o.Dispatch == "" {
		o.Dispatch = Off // most tests are about the log; those about reads say On
	}
	if o.ConsumeQueueFileBytes == 0 {
		o.ConsumeQueueFileBytes = 100 * consumequeue.UnitBytes
	}
	if o.IndexSlots == 0 {
		o.IndexSlots, o.IndexItems = 100, 400
	}
	if o.CommitLogFileBytes == 0 {
		o.CommitLogFileBytes = 16 << 10
	}
	if o.TransientBufferBytes == 0 {
		o.TransientBufferBytes = o.CommitLogFileBytes
	}
	if o.FlushIntervalMs == 0 {
		o.FlushIntervalMs = 20
	}
	if o.CommitIntervalMs == 0 {
		o.CommitIntervalMs = 5
	}
	if o.DiskMaxUsedPercent == 0 { // whatever the disk of the test machine holds
		o.DiskMaxUsedPercent, o.DiskCleanForciblyPercent, o.DiskWarningPercent = 100, 100, 100
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return o
}

// scratch is a fresh directory in memory where the system offers that, else on
// disk. For tests whose power cuts are simulated, real syncs would only take time.
func scratch(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(memoryDir, "engine")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// memoryDir is where Linux keeps files in memory.
const memoryDir = "/dev/shm"

// openStore opens a store that audits itself when the test ends; see audit. The
// test may close it before.
func openStore(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { audit(t, s) })
	return s
}

// openUnchecked opens a store for tests that leave it in a state no audit would
// accept. It is closed, whatever comes of it, when the test ends.
func openUnchecked(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// audit demands of a store, closed or not, that
//   - its watermarks are in order and every record from Min to Committed checks
//     out at its place, with contiguous offsets in each queue,
//   - Close makes everything durable and takes the abort marker away,
//   - nothing but log files of the right names and number is left in the directory,
//   - opened again it has the same end, the same records and goes on with the
//     same queue offsets.
func audit(t testing.TB, s *Store) {
	t.Helper()
	if t.Failed() {
		s.Close()
		return
	}
	before, end := []stored(nil), s.log.Appended()
	open, err := s.dir.AbortMarker().Present()
	if err != nil {
		t.Errorf("audit: %v", err)
	}
	if open {
		if err := s.Flush(); err != nil {
			t.Errorf("audit: flush: %v", err)
		}
		before = scan(t, s)
	}
	if err := s.Close(); err != nil {
		t.Errorf("audit: close: %v", err)
		return
	}
	if snap := s.Snapshot().CommitLog; snap.FlushedOffset != snap.AppendedOffset {
		t.Errorf("audit: closed with flushed %d, appended %d", snap.FlushedOffset, snap.AppendedOffset)
	}
	checkFiles(t, s, end)

	again, err := Open(string(s.dir), s.opt)
	if err != nil {
		t.Errorf("audit: open again: %v", err)
		return
	}
	defer again.Close()
	if got := again.log.Appended(); got != end {
		t.Errorf("audit: end of the log: got %d, want %d", got, end)
	}
	after := scan(t, again)
	if open && !slices.Equal(before, after) {
		t.Errorf("audit: records changed: had %d, have %d", len(before), len(after))
	}
	next := make(map[queue]int64)
	for _, r := range after {
		next[r.queue] = r.queueOffset + 1
	}
	for q, want := range next {
		pos, err := again.Put(newMessage(q.topic, q.id, "audit"))
		if err != nil {
			t.Errorf("audit: put: %v", err)
		} else if pos.QueueOffset != want {
			t.Errorf("audit: next offset of queue %v: got %d, want %d", q, pos.QueueOffset, want)
		}
	}
}

// checkFiles demands that a closed store has left no stray file.
func checkFiles(t testing.TB, s *Store, end int64) {
	t.Helper()
	if got, want := names(t, string(s.dir)), []string{"checkpoint", "commitlog", "lock"}; !slices.Equal(got, want) {
		t.Errorf("audit: store directory holds %v, want %v", got, want)
	}
	var want []string
	size := s.opt.CommitLogFileBytes
	for base := s.log.Min(); base < end; base += size {
		want = append(want, segment.FileName(base))
	}
	got := slices.DeleteFunc(names(t, s.dir.CommitLog()), func(name string) bool {
		return len(name) != 20 // foreign entries are the test's own
	})
	if n := len(got); n == len(want)+1 && got[n-1] == segment.FileName(end) {
		got = got[:n-1] // a tail that nothing was put into yet
	}
	if !slices.Equal(got, want) {
		t.Errorf("audit: log files %v, want %v", got, want)
	}
}

// names lists a directory in order.
func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

type queue struct {
	topic string
	id    int32
}

// stored is what a scan sees of a record.
type stored struct {
	queue
	offset, queueOffset int64
	size                int32
	body, properties    string
}

// scan reads every record from Min to Committed and checks it: as bytes with
// message.Check, through At, and against its neighbours in its queue.
func scan(t testing.TB, s *Store) []stored {
	t.Helper()
	if err := s.Snapshot().CommitLog.CheckWatermarks(); err != nil {
		t.Error(err)
	}
	var all []stored
	next := make(map[queue]int64)
	limit := s.log.Committed()
	for offset := s.log.Min(); offset < limit; {
		rest, fileEnd, err := s.log.Readable(offset, limit)
		if err != nil {
			t.Fatalf("scan: %v", err)
		}
		b := rest.Bytes()
		options := message.CheckOptions{Position: true, PhysicalOffset: offset, BlankSize: fileEnd - offset}
		size, kind, err := message.Check(b, options)
		rest.Release()
		switch kind {
		case message.KindInvalid:
			t.Fatalf("scan: at %d of [%d, %d): %v", offset, s.log.Min(), limit, err)
		case message.KindBlank:
			offset = fileEnd
			continue
		}
		r := read(t, s, offset)
		if int(r.size) != size {
			t.Fatalf("scan: at %d: size %d, At says %d", offset, size, r.size)
		}
		if want, seen := next[r.queue]; seen && r.queueOffset != want {
			t.Fatalf("scan: at %d: queue offset of %v: got %d, want %d", offset, r.queue, r.queueOffset, want)
		}
		next[r.queue] = r.queueOffset + 1
		all = append(all, r)
		offset += int64(size)
	}
	return all
}

// read copies the record at offset.
func read(t testing.TB, s *Store, offset int64) stored {
	t.Helper()
	v, err := s.At(offset)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	defer v.Release()
	return stored{
		queue: queue{string(v.Topic), v.QueueID}, offset: v.PhysicalOffset, queueOffset: v.QueueOffset,
		size: int32(v.Size), body: string(v.Body), properties: string(v.Properties),
	}
}

var (
	testBornHost  = netip.MustParseAddrPort("10.0.0.1:1234")
	testStoreHost = netip.MustParseAddrPort("10.0.0.2:10911")
)

func newMessage(topic string, queueID int32, body string) *message.Message {
	return &message.Message{
		Topic: topic, QueueID: queueID, Body: []byte(body),
		BornTimestamp: 1_700_000_000_000, BornHost: testBornHost, StoreHost: testStoreHost,
	}
}

// unwaited is a message whose Put does not wait for durability.
func unwaited(topic string, queueID int32, body string) *message.Message {
	m := newMessage(topic, queueID, body)
	m.Properties = message.Properties("WAIT\x01false\x02")
	return m
}

// text is a body of n bytes that tells where it came from.
func text(label string, n int) string {
	return (label + ":" + strings.Repeat("abcdefghijklmnopqrstuvwxyz", n/26+1))[:max(n, len(label)+1)]
}

// put stores a message and fails the test if that does not work.
func put(t testing.TB, s *Store, m *message.Message) PutResult {
	t.Helper()
	pos, err := s.Put(m)
	if err != nil {
		t.Fatalf("put: %v", err)
	}
	return pos
}

// asStored is what a scan must see of a message that was put.
func asStored(m *message.Message, p PutResult) stored {
	return stored{
		queue: queue{m.Topic, m.QueueID}, offset: p.PhysicalOffset, queueOffset: p.QueueOffset,
		size: p.Size, body: string(m.Body), properties: string(m.Properties),
	}
}

// kill takes a copy of the directory of an open store, as another process would
// find it had this one been killed, and marks it as not closed in order. A copy
// during which the cleaner took a file shows no moment of the store (that of the log may
// be half erased already) and is made again.
func kill(t testing.TB, s *Store) (dir string) {
	t.Helper()
	for range 100 {
		before := names(t, s.dir.CommitLog())
		dir = filepath.Join(scratch(t), "killed")
		err := os.CopyFS(dir, os.DirFS(string(s.dir)))
		after := names(t, s.dir.CommitLog())
		gone := slices.ContainsFunc(before, func(n string) bool { return !slices.Contains(after, n) })
		if gone || errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	t.Fatal("the store lost a file during each copy")
	return ""
}

// written opens a store, puts the messages, closes it and returns where they
// are. With killed the copy that kill makes is returned instead.
func written(t testing.TB, o Options, killed bool, messages ...*message.Message) (dir string, records []stored) {
	t.Helper()
	dir = scratch(t)
	s := openUnchecked(t, dir, o)
	for _, m := range messages {
		records = append(records, asStored(m, put(t, s, m)))
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if killed {
		saveCheckpoint(t, s)
		dir = kill(t, s)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, records
}

// saveCheckpoint returns when the checkpoint on disk covers all records of s.
func saveCheckpoint(t testing.TB, s *Store) {
	t.Helper()
	now := time.Now().UnixMilli()
	for saved := int64(0); saved <= now; time.Sleep(time.Millisecond) {
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		saved = readCheckpoint(t, string(s.dir)).CommitLogMs
	}
}

// forgetDurable takes from a directory what its store had noted about what was
// durable, so that its log may end anywhere, as after a crash before the next sync.
func forgetDurable(t testing.TB, dir string) {
	t.Helper()
	f, _, err := storedir.Layout(dir).OpenCheckpoint()
	if err := errors.Join(err, f.Save(storedir.Checkpoint{}), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func readCheckpoint(t testing.TB, dir string) storedir.Checkpoint {
	t.Helper()
	f, c, err := storedir.Layout(dir).OpenCheckpoint()
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// patch changes one log file of a store that is not open.
func patch(t testing.TB, dir string, fileBytes, offset int64, change func(b []byte)) {
	t.Helper()
	path := filepath.Join(storedir.Layout(dir).CommitLog(), segment.FileName(offset/fileBytes*fileBytes))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	change(b[offset%fileBytes:])
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// lines is as warnings, with what is only worth knowing.
type lines struct{ warnings }

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// warnings is a logger whose text can be read.
type warnings struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *warnings) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func (w *warnings) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(p)
}

func (w *warnings) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// count is how many lines contain all of the words.
func (w *warnings) count(words ...string) (n int) {
	for line := range strings.Lines(w.String()) {
		all := true
		for _, word := range words {
			all = all && strings.Contains(line, word)
		}
		if all {
			n++
		}
	}
	return n
}

// body numbers the messages of a test.
func body(i int) string { return fmt.Sprintf("message %d", i) }

// verified demands that the independent audit finds nothing wrong with a store that
// was closed.
func verified(t testing.TB, s *Store) {
	t.Helper()
	report, err := audits.Verify(context.Background(), string(s.dir), audits.Options{IndexSlots: s.opt.IndexSlots, IndexItems: s.opt.IndexItems})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Faults {
		t.Errorf("audit: %v", f)
	}
}
