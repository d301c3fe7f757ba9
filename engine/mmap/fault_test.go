package mmap

import (
	"errors"
	"hash/crc32"
	"runtime"
	"runtime/debug"
	"testing"

	"golang.org/x/sys/unix"
)

// lose cuts the file behind a region to its first page.
func lose(t *testing.T, size int64) (Region, string) {
	t.Helper()
	r, f := newRegion(t, size)
	if err := f.Truncate(pageSize); err != nil {
		t.Fatal(err)
	}
	return r, f.Name()
}

// B-76: one unreadable page under a mapping killed the whole server.
func TestB76_LostPageIsAnErrorAndTheRestStaysReadable(t *testing.T) {
	r, path := lose(t, 4*pageSize)
	checksum := func(off, n int64) (sum uint32, err error) {
		defer Recover(&err, GuardFaults())
		return crc32.ChecksumIEEE(r.Bytes()[off : off+n]), nil
	}
	_, err := checksum(2*pageSize, 100)
	var fault *FaultError
	if !errors.As(err, &fault) {
		t.Fatalf("got %v, want a FaultError", err)
	}
	if fault.File != path || fault.Offset < 2*pageSize || fault.Offset >= 3*pageSize {
		t.Errorf("fault at %d of %s, want within [%d,%d) of %s", fault.Offset, fault.File, 2*pageSize, 3*pageSize, path)
	}
	if got, err := checksum(0, pageSize); err != nil || got != crc32.ChecksumIEEE(make([]byte, pageSize)) {
		t.Errorf("page that is there: %v", err)
	}
}

func TestGuardCoversStoresAndCopies(t *testing.T) {
	r, _ := lose(t, 4*pageSize)
	buffer := make([]byte, 2*pageSize)
	for name, f := range map[string]func(){
		"store":     func() { r.Bytes()[3*pageSize] = 1 },
		"copy in":   func() { copy(r.Bytes()[pageSize/2:], buffer) },
		"copy out":  func() { copy(buffer, r.Bytes()[pageSize/2:]) },
		"atomic":    func() { StoreUint64BE(r.Bytes(), int(2*pageSize), 1) },
		"clear":     func() { clear(r.Bytes()) },
		"to string": func() { _ = string(r.Bytes()) },
	} {
		var fault *FaultError
		if err := Guard(func() error { f(); return nil }); !errors.As(err, &fault) {
			t.Errorf("%s: got %v, want a FaultError", name, err)
		}
	}
}

func TestGuardReturnsTheErrorOfF(t *testing.T) {
	want := errors.New("reason")
	if got := Guard(func() error { return want }); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if err := Guard(func() error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestGuardsNest(t *testing.T) {
	r, _ := lose(t, 2*pageSize)
	touch := func() error { r.Bytes()[pageSize]++; return nil }
	var inner, fault *FaultError
	err := Guard(func() error {
		if err := Guard(touch); !errors.As(err, &inner) {
			t.Errorf("inner: got %v, want a FaultError", err)
		}
		return touch() // would end the process if the inner guard had switched the outer off
	})
	if !errors.As(err, &fault) {
		t.Errorf("outer: got %v, want a FaultError", err)
	}
	if debug.SetPanicOnFault(false) {
		t.Error("the setting of the goroutine is still on after the outer guard")
	}
}

func TestOtherPanicsPassThroughAGuard(t *testing.T) {
	panicOf := func(f func()) (cause any) {
		defer func() { cause = recover() }()
		err := Guard(func() error { f(); return nil })
		t.Errorf("guard returned %v", err)
		return nil
	}
	if cause := panicOf(func() { panic("ours") }); cause != "ours" {
		t.Errorf("got %v", cause)
	}
	var none *[]byte
	if cause := panicOf(func() { _ = len(*none) }); cause == nil {
		t.Error("nil dereference was swallowed")
	}
	if _, ok := panicOf(func() { _ = make([]byte, 1)[len(t.Name())] }).(runtime.Error); !ok {
		t.Error("index out of range was swallowed")
	}
}

// A fault elsewhere than in a live mapping is a use after unmap or another bug of
// ours; an error would hide it.
func TestFaultOutsideOfMappingsPassesThroughAGuard(t *testing.T) {
	foreign, err := unix.Mmap(-1, 0, int(pageSize), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(foreign)
	defer func() {
		if _, ok := recover().(runtime.Error); !ok {
			t.Error("the fault did not stay a panic")
		}
		if debug.SetPanicOnFault(false) {
			t.Error("the setting of the goroutine is still on")
		}
	}()
	err = Guard(func() error { foreign[0]++; return nil })
	t.Errorf("guard returned %v", err)
}

var sink byte

// The costs of one guarded load: against the plain one, and by the closure form.
func BenchmarkGuard(b *testing.B) {
	r := newAnonymous(b, pageSize)
	mem := r.Bytes()
	plain := func(i int) (err error) {
		sink = mem[i&1023]
		return nil
	}
	recovered := func(i int) (err error) {
		defer Recover(&err, GuardFaults())
		sink = mem[i&1023]
		return nil
	}
	guarded := func(i int) error {
		return Guard(func() error { sink = mem[i&1023]; return nil })
	}
	for _, form := range []struct {
		name string
		f    func(int) error
	}{{"none", plain}, {"recover", recovered}, {"guard", guarded}} {
		b.Run("form="+form.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := form.f(i); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestRecoverDoesNotAllocate(t *testing.T) {
	r := newAnonymous(t, pageSize)
	load := func() (err error) {
		defer Recover(&err, GuardFaults())
		sink = r.Bytes()[0]
		return nil
	}
	if n := testing.AllocsPerRun(100, func() { load() }); n != 0 {
		t.Errorf("%v allocations per guarded load", n)
	}
}
