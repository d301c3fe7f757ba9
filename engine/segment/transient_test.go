package segment

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"commitlab/engine/mmap/mmaptest"
)

const testBufferBytes = 1000

// newStaged is a file whose appends go to count transient buffers.
func newStaged(t *testing.T, count int, onEmpty func()) (*File, *Pool, *mmaptest.Heap) {
	t.Helper()
	o, heap := newOptions()
	pool, err := NewPool(count, testBufferBytes, o, onEmpty)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	o.Transient = pool
	return newFileAt(t, o, 0), pool, heap
}

func mustCommit(t *testing.T, f *File, want int64) {
	t.Helper()
	if n, err := f.Commit(); err != nil || n != want {
		t.Fatalf("commit: %d, %v, want %d", n, err, want)
	}
}

// Bytes in a buffer are not readable; committed ones are, in order.
func TestReadersSeeOnlyCommittedBytes(t *testing.T) {
	f, _, _ := newStaged(t, 4, func() {})
	mustCommit(t, f, 0)
	var want []byte
	for i := range 8 { // 400 bytes each: two to a buffer, with a rest unused
		appendBytes(t, f, 400, byte(i+1))
		want = append(want, bytes.Repeat([]byte{byte(i + 1)}, 400)...)
	}
	if f.ReadPosition() != 0 || f.Wrote() != 3200 {
		t.Errorf("before the commit: readable to %d, written to %d", f.ReadPosition(), f.Wrote())
	}
	if _, err := f.View(0, 1); err == nil {
		t.Error("a byte that is only in a buffer was read")
	}
	mustCommit(t, f, 3200)
	v, err := f.View(0, 3200)
	if err != nil || !bytes.Equal(v.Bytes(), want) {
		t.Errorf("committed bytes read otherwise (%v)", err)
	}
	v.Release()
	appendBytes(t, f, 10, 99) // into the buffer that is half full
	mustCommit(t, f, 10)
	mustCommit(t, f, 0)
}

func TestSealedFileIsCommittedToItsEndAndGivesItsBuffersBack(t *testing.T) {
	f, pool, _ := newStaged(t, 2, func() {})
	appendBytes(t, f, 800, 1)
	appendBytes(t, f, 8, 2)
	f.Seal()
	if _, err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if f.ReadPosition() != f.Size() || !f.Full() {
		t.Errorf("readable to %d of %d", f.ReadPosition(), f.Size())
	}
	if n := len(pool.free); n != 2 {
		t.Errorf("%d of 2 buffers are free", n)
	}
}

// H21: a file that was made when no buffer was free got none, and could never be read.
// An appender that finds no buffer calls for a commit and goes on after it.
func TestAppenderWaitsForACommit(t *testing.T) {
	called := make(chan struct{}, 1)
	f, pool, _ := newStaged(t, 2, func() { called <- struct{}{} })
	appendBytes(t, f, 900, 1)
	appendBytes(t, f, 900, 2)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if b, err := f.Reserve(900); err != nil || len(b) != 900 {
			t.Errorf("reserve: %d bytes, %v", len(b), err)
		}
	}()
	<-called
	if !pool.Starved() {
		t.Error("pool does not know that somebody waits")
	}
	mustCommit(t, f, 1800)
	<-done
	if pool.Waits() != 1 || pool.Starved() {
		t.Errorf("waits %d, starved %v", pool.Waits(), pool.Starved())
	}
}

// When the buffers cannot be written out the appender is told, and the bytes
// stay for a later commit.
func TestAppenderIsToldThatNothingCanBeCommitted(t *testing.T) {
	called := make(chan struct{}, 1)
	f, pool, heap := newStaged(t, 2, func() { called <- struct{}{} })
	appendBytes(t, f, 900, 1)
	appendBytes(t, f, 900, 2)
	result := make(chan error)
	go func() {
		_, err := f.Reserve(900)
		result <- err
	}()
	<-called
	heap.Fail(mmaptest.OpWrite, syscall.ENOSPC, 1)
	n, err := f.Commit()
	if n != 0 || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("commit: %d, %v", n, err)
	}
	pool.Fail(err)
	if err := <-result; !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("reserve: got %v, want ENOSPC", err)
	}
	mustCommit(t, f, 1800)
	if b, err := f.Reserve(900); err != nil || len(b) != 900 {
		t.Errorf("reserve after space returned: %v", err)
	}
}

func TestClosedPoolEndsTheWait(t *testing.T) {
	called := make(chan struct{}, 1)
	f, pool, _ := newStaged(t, 1, func() { called <- struct{}{} })
	appendBytes(t, f, 900, 1)
	result := make(chan error)
	go func() {
		_, err := f.Reserve(900)
		result <- err
	}()
	<-called
	for range 2 { // the second one does nothing
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := <-result; !errors.Is(err, ErrBuffersClosed) {
		t.Errorf("got %v, want ErrBuffersClosed", err)
	}
}

// A buffer must not be written to a file that somebody cut: that would leave a
// hole in the place of records.
func TestBuffersAreNotWrittenToACutFile(t *testing.T) {
	f, _, _ := newStaged(t, 2, func() {})
	appendBytes(t, f, 600, 1)
	mustCommit(t, f, 600)
	appendBytes(t, f, 100, 2)
	if err := os.Truncate(f.Path(), 500); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Commit(); err == nil || !strings.Contains(err.Error(), "500 bytes") {
		t.Errorf("commit: got %v", err)
	}
	if info, err := os.Stat(f.Path()); err != nil || info.Size() != 500 {
		t.Errorf("the file now: %v, %v", info, err)
	}
}

// H31: a record larger than the shared buffer overflowed it, with its lock held.
func TestRecordLargerThanABufferIsRefused(t *testing.T) {
	f, _, _ := newStaged(t, 2, func() {})
	if _, err := f.Reserve(testBufferBytes + 1); err == nil {
		t.Error("reserved more than a buffer has")
	}
	if b, err := f.Reserve(testBufferBytes); err != nil || len(b) != testBufferBytes {
		t.Errorf("a whole buffer: %v", err)
	}
}
