package segment

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"commitlab/engine/mmap/mmaptest"
)

func TestLifetimeCleansUpOnceBehindTheLastRelease(t *testing.T) {
	cleaned := 0
	var l lifetime
	l.init(func() { cleaned++ })
	for range 3 {
		if !l.hold() {
			t.Fatal("no reference on an open file")
		}
	}
	if got := l.references(); got != 4 {
		t.Errorf("references: got %d, want 3 and the owner's", got)
	}
	if !l.shutdown() || l.shutdown() {
		t.Error("not exactly the first shutdown reports itself as such")
	}
	if l.hold() || l.available() {
		t.Error("a reference was given after shutdown")
	}
	for range 3 {
		if cleaned != 0 {
			t.Fatal("cleaned up while held")
		}
		l.release()
	}
	if cleaned != 1 {
		t.Errorf("cleaned up %d times, want once", cleaned)
	}
	defer func() {
		if recover() == nil {
			t.Error("one release too many went unnoticed")
		}
	}()
	l.release()
}

func TestLifetimeUnderContention(t *testing.T) {
	for range 200 {
		var cleaned, held atomic.Int64
		var l lifetime
		l.init(func() {
			if held.Load() != 0 {
				t.Error("cleaned up while held")
			}
			cleaned.Add(1)
		})
		var users sync.WaitGroup
		for i := range 4 {
			users.Go(func() {
				for l.hold() {
					held.Add(1)
					runtime.Gosched()
					held.Add(-1)
					l.release()
					if i == 0 {
						l.shutdown()
					}
				}
			})
		}
		users.Wait()
		if cleaned.Load() != 1 {
			t.Fatalf("cleaned up %d times, want once", cleaned.Load())
		}
	}
}

// B-23, H2: forced cleanup unmapped a file under its readers. Here the second
// destroy frees the space; the readers read on, and their late releases are in
// order.
func TestB23_ForcedDestroyLeavesReadersTheirMapping(t *testing.T) {
	o, heap := newOptions()
	f := newFileAt(t, o, 0)
	appendBytes(t, f, 1000, 7)
	var views []View
	for range 3 {
		v, err := f.View(0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		views = append(views, v)
	}
	const force = 500 * time.Millisecond
	if gone, err := f.Destroy(start, force); gone || err != nil {
		t.Fatalf("first destroy: gone %v, %v; three readers hold the file", gone, err)
	}
	if exists(f.Path()) {
		t.Error("the name is still there")
	}
	if _, err := f.View(0, 1); !errors.Is(err, ErrClosed) {
		t.Errorf("view of a destroyed file: got %v, want ErrClosed", err)
	}
	if gone, err := f.Destroy(start.Add(force-1), force); gone || err != nil || count(heap, mmaptest.OpReplace) != 0 {
		t.Errorf("second destroy came too early and yet: gone %v, %v, %d replaced", gone, err, count(heap, mmaptest.OpReplace))
	}
	if views[0].Revoked() {
		t.Error("view was revoked before the time")
	}
	for range 2 { // the second one finds nothing left to do
		if gone, err := f.Destroy(start.Add(force), force); gone || err != nil {
			t.Fatalf("forced destroy: gone %v, %v", gone, err)
		}
	}
	if n := count(heap, mmaptest.OpReplace); n != 1 {
		t.Errorf("pages were replaced %d times, want once", n)
	}
	for i := range views {
		if !views[i].Revoked() {
			t.Error("view does not know that it was revoked")
		}
		var sum int
		for _, b := range views[i].Bytes() { // no fault; as the heap keeps old bytes, or zeros
			sum += int(b)
		}
		if sum != 0 && sum != 7000 {
			t.Errorf("view reads bytes of neither the file nor zeros: sum %d", sum)
		}
		views[i].Release()
		views[i].Release() // does nothing
	}
	if n := count(heap, mmaptest.OpUnmap); n != 1 {
		t.Errorf("unmapped %d times, want once", n)
	}
	if gone, err := f.Destroy(start.Add(time.Hour), force); !gone || err != nil {
		t.Errorf("destroy after the last release: gone %v, %v", gone, err)
	}
}

// B-73: bytes handed out from a mapping were read after it was gone.
func TestB73_ViewOutlivesItsFile(t *testing.T) {
	o, heap := newOptions()
	f := newFileAt(t, o, 0)
	appendBytes(t, f, 5000, 3)
	v, err := f.View(100, 4000)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Destroy(start, time.Hour); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.GC()
	if i := slices.IndexFunc(v.Bytes(), func(b byte) bool { return b != 3 }); i >= 0 || len(v.Bytes()) != 4000 {
		t.Errorf("byte %d of the view changed", i)
	}
	if err := v.Touch(); err != nil {
		t.Error(err)
	}
	if n := count(heap, mmaptest.OpUnmap); n != 0 {
		t.Error("unmapped under a view")
	}
	v.Release()
	if n := count(heap, mmaptest.OpUnmap); n != 1 {
		t.Errorf("unmapped %d times after the last release, want once", n)
	}
}

func TestDestroyWithoutReadersIsOverAtOnce(t *testing.T) {
	o, _ := newOptions()
	f := newFileAt(t, o, 0)
	for range 2 {
		if gone, err := f.Destroy(start, 0); !gone || err != nil {
			t.Fatalf("gone %v, %v", gone, err)
		}
	}
	if exists(f.Path()) {
		t.Error("the name is still there")
	}
}

// A name that could not be removed is not forgotten: the file is not gone, and
// the next destroy tries again.
func TestDestroyTriesTheNameAgain(t *testing.T) {
	for _, op := range []mmaptest.Op{mmaptest.OpRemove, mmaptest.OpSyncDir} {
		o, heap := newOptions()
		f := newFileAt(t, o, 0)
		heap.Fail(op, errInjected, 1)
		if gone, err := f.Destroy(start, 0); gone || !errors.Is(err, errInjected) {
			t.Errorf("%s failed: gone %v, %v", op, gone, err)
		}
		if gone, err := f.Destroy(start, 0); !gone || err != nil {
			t.Errorf("after %s failed once: gone %v, %v", op, gone, err)
		}
		if exists(f.Path()) {
			t.Errorf("after %s failed once: the name is still there", op)
		}
	}
}

// When the pages cannot be replaced nothing has changed, and the next destroy
// tries again.
func TestForcedDestroyTriesAgain(t *testing.T) {
	o, heap := newOptions()
	f := newFileAt(t, o, 0)
	appendBytes(t, f, 10, 1)
	v, err := f.View(0, 10)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Release()
	if _, err := f.Destroy(start, 0); err != nil {
		t.Fatal(err)
	}
	heap.Fail(mmaptest.OpReplace, errInjected, 1)
	if _, err := f.Destroy(start, 0); !errors.Is(err, errInjected) || v.Revoked() {
		t.Errorf("replace failed: %v, revoked %v", err, v.Revoked())
	}
	if _, err := f.Destroy(start, 0); err != nil || !v.Revoked() {
		t.Errorf("second try: %v, revoked %v", err, v.Revoked())
	}
}
