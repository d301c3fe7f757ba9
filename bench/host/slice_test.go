package host

import (
	"errors"
	"runtime"
	"testing"
	"time"
)

// Goal: all threads get the slice, those made later too, and the system's comes back.
func TestSetSliceIsOfAllThreads(t *testing.T) {
	before := Slice()
	err := SetSlice(300 * time.Microsecond)
	defer func() {
		if err := SetSlice(0); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			t.Error(err)
		}
		if got := Slice(); got != before {
			t.Errorf("the slice is %v afterwards, was %v", got, before)
		}
	}()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("this system has no slices: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 8 {
		seen := make(chan time.Duration)
		go func() {
			runtime.LockOSThread() // a thread that ends with the goroutine, so the next one is new
			seen <- Slice()
		}()
		if got := <-seen; got != 300*time.Microsecond {
			t.Errorf("the slice of a thread is %v", got)
		}
	}
}
