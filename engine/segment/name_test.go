package segment

import (
	"errors"
	"path/filepath"
	"testing"

	"commitlab/engine/mmap/mmaptest"
)

// nameSyncs counts the calls that make lengths and names durable.
func nameSyncs(h *mmaptest.Heap) [2]int {
	return [2]int{count(h, mmaptest.OpSyncFile), count(h, mmaptest.OpSyncDir)}
}

// Seen: a dispatcher that made the next file of a queue waited 136 ms for the two
// syncs of it, behind the flush of the log.
func TestSyncLaterLeavesTheSyncOfANewFileToItsFirstSync(t *testing.T) {
	o, heap := newOptions()
	o.SyncLater = true
	q := newQueue(t, o, 0, 0)
	before := nameSyncs(heap)
	f, err := q.Create(0)
	if err != nil {
		t.Fatal(err)
	}
	if got := nameSyncs(heap); got != before {
		t.Fatalf("creation synced: %v calls, before %v", got, before)
	}
	appendBytes(t, f, 100, 1)
	for i := range 2 { // the second has no name to sync
		appendBytes(t, f, 100, 1)
		if _, err := f.Sync(SyncMsync); err != nil {
			t.Fatal(err)
		}
		if got, want := nameSyncs(heap), [2]int{before[0] + 1, before[1] + 1}; got != want {
			t.Errorf("sync %d: %v calls, want %v", i, got, want)
		}
	}
}

// Behind a file whose name a crash takes away there must be none.
func TestSyncLaterMakesANameDurableBeforeTheNextFileIsMade(t *testing.T) {
	o, heap := newOptions()
	o.SyncLater = true
	q := newQueue(t, o, 0, 1)
	before := nameSyncs(heap)
	heap.Fail(mmaptest.OpSyncDir, errInjected, 1)
	if _, err := q.Create(testFileBytes); !errors.Is(err, errInjected) {
		t.Fatalf("got %v, want the error of the sync", err)
	}
	if exists(filepath.Join(q.Dir(), FileName(testFileBytes))) {
		t.Fatal("the next file was made behind one without a durable name")
	}
	for i, want := range [][2]int{{before[0] + 2, before[1] + 2}, {before[0] + 3, before[1] + 3}} {
		if _, err := q.Create(int64(i+1) * testFileBytes); err != nil {
			t.Fatal(err)
		}
		if got := nameSyncs(heap); got != want {
			t.Errorf("file %d: %v calls, want %v", i+1, got, want)
		}
	}
}

// A killed process may have made the last file a moment before: the next one, which
// goes on in it, makes the name durable.
func TestNamesOfAKilledProcessAreMadeDurable(t *testing.T) {
	for _, unclean := range []bool{false, true} {
		o, heap := newOptions()
		o.SyncLater = true
		f := newFileAt(t, o, 0)
		f.Shutdown()
		o.Unclean = unclean
		f, err := Open(f.Path(), 0, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(f.Shutdown)
		f.setPositions(0)
		appendBytes(t, f, 100, 1)
		before := nameSyncs(heap)
		if _, err := f.Sync(SyncMsync); err != nil {
			t.Fatal(err)
		}
		if got := nameSyncs(heap) != before; got != unclean {
			t.Errorf("killed %v: name made durable %v", unclean, got)
		}
	}
}

// A sync that could not make the name durable proves nothing.
func TestSyncFailsWhenTheNameCannotBeMadeDurable(t *testing.T) {
	o, heap := newOptions()
	o.SyncLater = true
	f := newFileAt(t, o, 0)
	appendBytes(t, f, 100, 1)
	heap.Fail(mmaptest.OpSyncDir, errInjected, 1)
	if n, err := f.Sync(SyncMsync); !errors.Is(err, errInjected) || n != 0 || f.Flushed() != 0 {
		t.Errorf("got %d bytes, flushed %d, %v; want none and the error", n, f.Flushed(), err)
	}
	if n, err := f.Sync(SyncMsync); err != nil || n != 100 {
		t.Errorf("again: %d bytes, %v", n, err)
	}
	f.Shutdown()
	if err := f.SyncName(); err != nil {
		t.Errorf("closed file: %v", err)
	}
}
