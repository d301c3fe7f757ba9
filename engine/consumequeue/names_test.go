package consumequeue

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"commitlab/engine/mmap/mmaptest"
	"commitlab/engine/segment"
)

func nameSyncs(h *mmaptest.Heap) (n int) {
	for _, e := range h.Trace() {
		if e.Op == mmaptest.OpSyncFile {
			n++
		}
	}
	return n
}

// Seen: under load a dispatcher waited 0.4 to 0.8 s for the sync of a full file before
// it could make the next.
func TestNamesAreDurableBeforeTheNextFileIsMade(t *testing.T) {
	o, heap := onHeap(4)
	o.Files.SyncLater = true
	woken := 0
	o.Names = &Names{Wake: func() { woken++ }}
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 4)
	if n, err := o.Names.Step(time.Now()); n != 0 || err != nil || woken != 0 {
		t.Errorf("first file: %d names, %v, woken %d times; want none", n, err, woken)
	}
	for first := int64(4); first < 20; first += 4 {
		put(t, q, first, first+1)
		before := nameSyncs(heap)
		if n, err := o.Names.Step(time.Now()); n != 1 || err != nil || nameSyncs(heap) != before+1 {
			t.Fatalf("at %d: %d names, %v, %d syncs; want one of each", first, n, err, nameSyncs(heap)-before)
		}
		before++
		put(t, q, first+1, first+4)
		if got := nameSyncs(heap); got != before {
			t.Errorf("at %d: a put made a name durable", first)
		}
	}
	if woken != 4 {
		t.Errorf("woken %d times, want 4", woken)
	}
}

// The kernel tells once that it lost what was written to a file, and a sync for the name
// may be the one that it tells. Then nothing of the queue counts as durable any more.
func TestAFailedSyncOfANameIsAFailedSync(t *testing.T) {
	for name, sync := range map[string]func(*Queue) error{
		"by the service": func(q *Queue) error { _, err := q.opt.Names.Step(time.Now()); return err },
		"by a put":       func(q *Queue) error { return q.Put(8, unit(8)) },
	} {
		o, heap := onHeap(4)
		o.Files.SyncLater, o.Names = true, &Names{Wake: func() {}}
		q := openQueue(t, t.TempDir(), o)
		put(t, q, 0, 8)
		broken := errors.New("input/output error")
		heap.Fail(mmaptest.OpSyncFile, broken, 1)
		if err := sync(q); !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
		put(t, q, 8, 12) // dispatch goes on
		if _, err := q.Sync(0); !errors.Is(err, broken) || !errors.Is(err, ErrSyncFailed) {
			t.Errorf("%s: sync: %v; want the failure", name, err)
		}
		if _, err := q.Sync(0); !errors.Is(err, ErrSyncFailed) {
			t.Errorf("%s: another sync: %v", name, err)
		}
	}
}

// heldDisk holds one sync of a file, which then fails, or of a directory, once armed.
type heldDisk struct {
	segment.Disk
	armFile, armDir atomic.Pointer[error]
	held, release   chan struct{}
}

func newHeldDisk(d segment.Disk) *heldDisk {
	return &heldDisk{Disk: d, held: make(chan struct{}), release: make(chan struct{})}
}

func (d *heldDisk) hold(armed *atomic.Pointer[error]) error {
	err := armed.Swap(nil)
	if err == nil {
		return nil
	}
	close(d.held)
	<-d.release
	return *err
}

func (d *heldDisk) SyncFile(f *os.File) error {
	if err := d.hold(&d.armFile); err != nil {
		return err
	}
	return d.Disk.SyncFile(f)
}

func (d *heldDisk) SyncDir(dir string) error {
	if err := d.hold(&d.armDir); err != nil {
		return err
	}
	return d.Disk.SyncDir(dir)
}

// A sync of the units beside that of the name must not say that they are durable.
func TestSyncBesideAFailingSyncOfTheName(t *testing.T) {
	o, heap := onHeap(4)
	d := newHeldDisk(heap)
	o.Files.SyncLater, o.Files.Disk, o.Names = true, d, &Names{Wake: func() {}}
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 6)
	broken := errors.New("input/output error")
	d.armFile.Store(&broken)
	named, synced := make(chan error, 1), make(chan error, 1)
	go func() { _, err := o.Names.Step(time.Now()); named <- err }()
	<-d.held
	go func() { _, err := q.Sync(0); synced <- err }()
	close(d.release)
	if err := <-named; !errors.Is(err, broken) {
		t.Errorf("the name: %v", err)
	}
	if err := <-synced; !errors.Is(err, ErrSyncFailed) {
		t.Errorf("the units: %v, want ErrSyncFailed", err)
	}
}

// Want of descriptors loses nothing: the next sync makes up for it.
func TestANameWithoutADescriptorIsTriedAgain(t *testing.T) {
	o, heap := onHeap(4)
	o.Files.SyncLater, o.Names = true, &Names{Wake: func() {}}
	q := openQueue(t, t.TempDir(), o)
	put(t, q, 0, 6)
	heap.Fail(mmaptest.OpSyncDir, syscall.EMFILE, 1)
	if _, err := o.Names.Step(time.Now()); !errors.Is(err, syscall.EMFILE) {
		t.Errorf("the name: %v", err)
	}
	put(t, q, 6, 20)
	if _, err := q.Sync(0); err != nil {
		t.Errorf("the units: %v", err)
	}
}

// Seen: the deletion of a topic, with its directories, was taken for a failed sync.
func TestANameThatIsDeletedMeanwhileIsNoFailure(t *testing.T) {
	o := onDisk(4)
	d := newHeldDisk(o.Files.Disk)
	o.Files.SyncLater, o.Files.Disk, o.Names = true, d, &Names{Wake: func() {}}
	q := openQueue(t, filepath.Join(t.TempDir(), "t", "0"), o)
	put(t, q, 0, 6)
	var none error
	d.armDir.Store(&none)
	named := make(chan error, 1)
	go func() { _, err := o.Names.Step(time.Now()); named <- err }()
	<-d.held
	if err := q.Destroy(time.Now()); err != nil {
		t.Fatal(err)
	}
	close(d.release)
	if err := <-named; err != nil {
		t.Errorf("the name: %v", err)
	}
	if _, err := q.Sync(0); err != nil {
		t.Errorf("the units: %v", err)
	}
}

// Goal: Ready says so only where a put does not wait for the disk.
func TestReady(t *testing.T) {
	o := onDisk(4)
	o.Files.SyncLater, o.Names = true, &Names{Wake: func() {}}
	dir := t.TempDir()
	q := openQueue(t, dir, o)
	if q.Ready(0) {
		t.Error("a queue without a file is ready")
	}
	put(t, q, 0, 6)
	for offset, want := range map[int64]bool{5: false, 6: true, 7: false, 8: false} {
		if got := q.Ready(offset); got != want {
			t.Errorf("6 units in files of 4, offset %d: %v", offset, got)
		}
	}
	put(t, q, 6, 8)
	if q.Ready(8) {
		t.Error("a full file is ready whose name is not durable")
	}
	if n, err := o.Names.Step(time.Now()); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if !q.Ready(8) || q.Ready(9) {
		t.Error("a full file whose name is durable is not ready, or for more than the next unit")
	}
	put(t, q, 8, 9)
	q.Close()
	q = openQueue(t, dir, o)
	if q.Ready(9) {
		t.Error("a file that is not open is ready")
	}
	put(t, q, 9, 10)
	if !q.Ready(10) {
		t.Error("not ready behind a put")
	}
	q.Close()
	f, err := os.OpenFile(filepath.Join(dir, segment.FileName(8*UnitBytes)), os.O_RDWR, 0)
	if err == nil {
		_, err = f.WriteAt([]byte("stale"), 3*UnitBytes)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	o.Clean = false
	q = openQueue(t, dir, o)
	if err := q.files.Use(); err != nil || q.Max() != 10 {
		t.Fatalf("%v, max %d", err, q.Max())
	}
	if q.Ready(10) {
		t.Error("ready before stale bytes are erased")
	}
	put(t, q, 10, 11)
	if !q.Ready(11) {
		t.Error("not ready once they are")
	}
}
