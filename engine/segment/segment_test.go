package segment

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"commitlab/engine/mmap/mmaptest"
	"commitlab/engine/stats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testFileBytes = 16 << 10

// newOptions are options of small files on a heap.
func newOptions() (*Options, *mmaptest.Heap) {
	heap := mmaptest.NewHeap()
	return &Options{
		FileBytes: testFileBytes, Allocate: Fallocate, Populate: PopulateNone, WarmUp: WarmUpNone, MemoryLock: LockNone, Advise: AdviseNormal,
		Mapper: heap, Disk: heap, Optional: stats.NewOptional(nil),
	}, heap
}

// newFileAt creates the file at base in a fresh directory.
func newFileAt(t *testing.T, o *Options, base int64) *File {
	t.Helper()
	f, err := Create(filepath.Join(t.TempDir(), FileName(base)), base, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Shutdown)
	return f
}

// appendBytes reserves, fills and publishes n bytes.
func appendBytes(t *testing.T, f *File, n int, fill byte) {
	t.Helper()
	b, err := f.Reserve(int64(n))
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		b[i] = fill
	}
	f.Publish(int64(n))
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func count(heap *mmaptest.Heap, op mmaptest.Op) (n int) {
	for _, e := range heap.Trace() {
		if e.Op == op {
			n++
		}
	}
	return n
}

// ops is the trace reduced to the kinds given.
func ops(heap *mmaptest.Heap, kinds ...mmaptest.Op) (list []mmaptest.Op) {
	for _, e := range heap.Trace() {
		if slices.Contains(kinds, e.Op) {
			list = append(list, e.Op)
		}
	}
	return list
}

var errInjected = errors.New("injected")

var start = time.Unix(1_700_000_000, 0)
