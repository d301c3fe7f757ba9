package consumequeue

import (
	"errors"
	"testing"
	"time"

	"commitlab/engine/mmap/mmaptest"
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
// may be the one it tells. Then nothing of the queue counts as durable any more.
func TestAFailedSyncOfANameIsAFailedSync(t *testing.T) {
	for name, sync := range map[string]func(*Queue) error{
		"by the service": func(q *Queue) error {
			if _, err := q.opt.Names.Step(time.Now()); err == nil {
				return errors.New("the service reported no error")
			}
			return nil
		},
		"by a put": func(q *Queue) error {
			if err := q.Put(8, unit(8)); err == nil {
				return errors.New("the put reported no error")
			}
			return q.Put(8, unit(8))
		},
	} {
		o, heap := onHeap(4)
		o.Files.SyncLater, o.Names = true, &Names{Wake: func() {}}
		q := openQueue(t, t.TempDir(), o)
		put(t, q, 0, 8)
		heap.Fail(mmaptest.OpSyncFile, errors.New("input/output error"), 1)
		if err := sync(q); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n, err := q.Sync(0); n != 0 || !errors.Is(err, ErrSyncFailed) {
			t.Errorf("%s: sync: %d bytes, %v; want ErrSyncFailed", name, n, err)
		}
	}
}
