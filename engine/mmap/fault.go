package mmap

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"unsafe"
)

// FaultError reports a load or store of mapped bytes that storage could not back.
type FaultError struct {
	Addr   uintptr // of the access, as the system reports it
	File   string  // the file mapped there
	Offset int64   // of the access within the file, in bytes
}

func (e *FaultError) Error() string {
	return fmt.Sprintf("mmap: fault at byte %d of %s (address %#x): page cannot be read or written", e.Offset, e.File, e.Addr)
}

// PanicOnFault is a goroutine's earlier setting, to be handed from GuardFaults to Recover.
type PanicOnFault bool

// GuardFaults makes faults of the calling goroutine panic instead of ending the
// process, until the Recover that gets its result. See Recover.
func GuardFaults() PanicOnFault {
	return PanicOnFault(debug.SetPanicOnFault(true))
}

// Recover ends what GuardFaults began and turns a fault on mapped bytes into a
// *FaultError in *err. It is Guard without the closure, for hot paths:
//
//	func (f *File) checksum(off, n int) (sum uint32, err error) {
//		defer mmap.Recover(&err, mmap.GuardFaults())
//		return crc32.ChecksumIEEE(f.bytes[off : off+n]), nil
//	}
//
// It must be deferred directly, not called from another deferred function. Pairs
// may nest. Any other panic passes through, and so does a fault at an address that
// belongs to no mapping of this package: that is a slice used after Unmap or a bug
// elsewhere, not an accident of storage.
//
// Only the goroutine that called GuardFaults is covered. A system call that is
// given unbacked mapped bytes as its buffer does not fault, it fails with EFAULT.
// On a panic, functions deferred after this one run first; do not hold a lock here
// that is released without defer.
func Recover(err *error, before PanicOnFault) {
	debug.SetPanicOnFault(bool(before))
	if cause := recover(); cause != nil {
		fault := faultOf(cause)
		if fault == nil {
			panic(cause)
		}
		*err = fault
	}
}

// Guard runs f and returns its error, or a *FaultError if f touched mapped bytes
// that storage could not back. What f had done by then is done. See Recover for
// what is not covered.
func Guard(f func() error) (err error) {
	defer Recover(&err, GuardFaults())
	return f()
}

// faultOf is the fault that a panic value stands for, or nil.
func faultOf(cause any) *FaultError {
	memory, ok := cause.(interface {
		runtime.Error
		Addr() uintptr
	})
	if !ok {
		return nil
	}
	addr := memory.Addr()
	r := live.find(addr)
	if r == nil {
		return nil
	}
	return &FaultError{Addr: addr, File: r.name, Offset: int64(addr - r.start())}
}

// live lists the mappings of the process: it is what tells an accident of storage
// from a wild pointer.
var live registry

type registry struct {
	mu      sync.RWMutex
	regions map[*region]struct{} // guarded by mu
}

func (g *registry) add(r *region) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.regions == nil {
		g.regions = make(map[*region]struct{})
	}
	g.regions[r] = struct{}{}
}

func (g *registry) remove(r *region) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.regions, r)
}

// find is linear in the number of mappings; faults are rare.
func (g *registry) find(addr uintptr) *region {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for r := range g.regions {
		end := (uintptr(len(r.mem)) + uintptr(pageSize) - 1) &^ (uintptr(pageSize) - 1)
		if addr-r.start() < end { // an address below start wraps round to a large number
			return r
		}
	}
	return nil
}

func (r *region) start() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(r.mem))) }
