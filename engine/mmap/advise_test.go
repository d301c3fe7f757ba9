package mmap

import (
	"bytes"
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAdviceNeverChangesBytesOfAFile(t *testing.T) {
	r, _ := newRegion(t, 8*pageSize)
	want := bytes.Repeat([]byte("advice"), int(8*pageSize)/6)
	copy(r.Bytes(), want)
	for a := Normal; a <= PageOut; a++ {
		err := r.Advise(pageSize/2, 4*pageSize, a)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
			t.Logf("kernel was built without %v: %v", a, err)
			continue
		}
		if err != nil {
			t.Errorf("%v: %v", a, err)
		}
		if !bytes.HasPrefix(r.Bytes(), want) {
			t.Fatalf("%v changed the bytes", a)
		}
	}
	if err := r.Advise(0, pageSize, PageOut+1); err == nil {
		t.Error("unknown advice was accepted")
	}
}

// DontNeed empties private memory, so widening the range to whole pages would destroy
// the neighbours' bytes.
func TestDontNeedSparesBytesOutsideOfTheRange(t *testing.T) {
	r := newAnonymous(t, 4*pageSize)
	b := r.Bytes()
	for i := range b {
		b[i] = 1
	}
	if err := r.Advise(10, 3*pageSize, DontNeed); err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte{1}, int(4*pageSize))
	clear(want[pageSize : 3*pageSize])
	if !bytes.Equal(b, want) {
		t.Error("not exactly the two whole pages of the range were emptied")
	}
	if err := r.Advise(10, pageSize, DontNeed); err != nil {
		t.Errorf("range without a whole page: %v", err)
	}
}

func TestPopulateMakesPagesPresent(t *testing.T) {
	r, _ := newRegion(t, 64*pageSize)
	err := r.Populate(16*pageSize, 32*pageSize, PopulateWrite)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("kernel has no MADV_POPULATE_WRITE: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	resident := make([]byte, 64)
	if err := mincore(r.Bytes(), resident); err != nil {
		t.Skipf("no mincore: %v", err)
	}
	for page := 16; page < 48; page++ {
		if resident[page]&1 == 0 {
			t.Errorf("page %d is not present", page)
		}
	}
	if err := r.Populate(0, 64*pageSize, PopulateRead); err != nil {
		t.Errorf("populate for reading: %v", err)
	}
}

// A hole beyond the end of a file cannot be populated; the answer must be an errno and
// not a fault.
func TestPopulateOfUnbackedPagesIsAnError(t *testing.T) {
	r, f := newRegion(t, 4*pageSize)
	if err := f.Truncate(pageSize); err != nil {
		t.Fatal(err)
	}
	err := r.Populate(0, 4*pageSize, PopulateWrite)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("kernel has no MADV_POPULATE_WRITE: %v", err)
	}
	if !errors.Is(err, unix.EFAULT) {
		t.Errorf("got %v, want EFAULT", err)
	}
}

func TestPopulateOnAnOldKernelIsUnsupported(t *testing.T) {
	err := populateError(unix.EINVAL)
	if !errors.Is(err, errors.ErrUnsupported) || !errors.Is(err, unix.EINVAL) {
		t.Errorf("got %v, want an error that wraps both EINVAL and ErrUnsupported", err)
	}
	if err := populateError(unix.ENOMEM); errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("ENOMEM became %v", err)
	}
}
