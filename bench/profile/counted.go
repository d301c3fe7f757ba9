package profile

import (
	"bytes"
	"io"
	"runtime"
	"runtime/pprof"

	"github.com/google/pprof/profile"
)

// While a session runs, every mutex contention is recorded and one blocking event
// per 10 µs blocked, on average, so that short waits do not drown the run.
const (
	mutexFraction = 1
	blockRateNs   = 10_000
)

func beginHeap(out io.Writer, w *window) (func() error, error) {
	// The heap profile is as of the last completed collection.
	runtime.GC()
	return w.beginDifference(out, "heap", func() {}, runtime.GC)
}

func beginMutex(out io.Writer, w *window) (func() error, error) {
	before := runtime.SetMutexProfileFraction(mutexFraction)
	return w.beginDifference(out, "mutex", func() { runtime.SetMutexProfileFraction(before) }, func() {})
}

func beginBlock(out io.Writer, w *window) (func() error, error) {
	runtime.SetBlockProfileRate(blockRateNs)
	return w.beginDifference(out, "block", func() { runtime.SetBlockProfileRate(0) }, func() {})
}

// beginDifference takes the named runtime profile now and at the end, and writes
// the second less the first. restore is called at the end or on error, settle
// before the second is taken.
func (w *window) beginDifference(out io.Writer, name string, restore, settle func()) (func() error, error) {
	first, err := snapshot(name)
	if err != nil {
		restore()
		return nil, err
	}
	return func() error {
		restore()
		settle()
		second, err := snapshot(name)
		if err != nil {
			return err
		}
		first.Scale(-1)
		difference, err := profile.Merge([]*profile.Profile{first, second})
		if err != nil {
			return err
		}
		return w.write(out, difference)
	}, nil
}

func snapshot(name string) (*profile.Profile, error) {
	var raw bytes.Buffer
	if err := pprof.Lookup(name).WriteTo(&raw, 0); err != nil {
		return nil, err
	}
	return profile.Parse(&raw)
}
