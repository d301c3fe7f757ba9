package commitlog

import (
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"commitlab/engine/message"
	"commitlab/engine/mmap/mmaptest"
	"commitlab/engine/segment"
	"commitlab/engine/stats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testFileBytes = 16 << 10

// newLog opens a log of small files on a heap. Its services do not run: the
// test steps them.
func newLog(t *testing.T, change func(o *Options)) (*Log, *mmaptest.Heap) {
	t.Helper()
	heap := mmaptest.NewHeap()
	o := Options{
		Files: segment.Options{
			FileBytes: testFileBytes, Allocate: segment.Fallocate, Populate: segment.PopulateNone, WarmUp: segment.WarmUpNone,
			MemoryLock: segment.LockNone, Advise: segment.AdviseNormal, Mapper: heap, Disk: heap, Optional: stats.NewOptional(nil),
		},
		BusyAfter: time.Second, SyncPath: segment.SyncMsync, BufferCount: 2, BufferBytes: testFileBytes,
		FlushInterval: 500 * time.Millisecond, FlushLeastPages: 4, FlushThorough: 10 * time.Second,
		CommitInterval: 200 * time.Millisecond, CommitLeastPages: 4, CommitThorough: 200 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	if change != nil {
		change(&o)
	}
	l, err := Open(filepath.Join(t.TempDir(), "commitlog"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Snapshot().CheckWatermarks(); err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l, heap
}

func newMessage(bodyBytes int) *message.Message {
	return &message.Message{
		Topic: "t", Body: []byte(strings.Repeat("b", bodyBytes)),
		BornHost: netip.MustParseAddrPort("10.0.0.1:1"), StoreHost: netip.MustParseAddrPort("10.0.0.2:2"),
	}
}

func tryAppend(t *testing.T, l *Log, bodyBytes int) (Position, error) {
	t.Helper()
	m := newMessage(bodyBytes)
	plan, err := message.Prepare(m, message.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return l.Append(m, &plan)
}

func mustAppend(t *testing.T, l *Log, bodyBytes int) Position {
	t.Helper()
	p, err := tryAppend(t, l, bodyBytes)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// lockIsFree reports whether nobody holds the append lock.
func lockIsFree(l *Log) bool {
	free := l.lock.tryLock()
	if free {
		l.lock.unlock()
	}
	return free
}

var errInjected = errors.New("injected")

var start = time.Now()
