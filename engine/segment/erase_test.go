package segment

import (
	"bytes"
	"errors"
	"testing"

	"commitlab/engine/mmap"
)

// B-44: after a kill each queue file was read to find that nothing was behind its
// units, which made a MiB of pages per queue that nobody had written. What lies far
// behind is found all the same.
func TestB44_EraseMakesNoPagesWhereNothingWasWritten(t *testing.T) {
	o, _ := newOptions()
	o.Mapper, o.Disk, o.FileBytes = mmap.OS, OSDisk{}, 16<<20
	o.Advise = AdviseRandom // else the first store makes pages ahead of it, and these count as written
	const end, stale = 5000, 9<<20 + 77
	for _, allocate := range []Allocation{Sparse, Fallocate} {
		t.Run(string(allocate), func(t *testing.T) {
			o := *o
			o.Allocate = allocate
			f := newFileAt(t, &o, 0)
			appendBytes(t, f, end, 'x')
			before, err := f.CacheStat()
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skip(err)
			}
			if err := errors.Join(err, f.Erase(end, true, &o)); err != nil {
				t.Fatal(err)
			}
			after, err := f.CacheStat()
			if made := after.CachedPages - before.CachedPages; err != nil || made > 64 {
				t.Errorf("made %d pages of %d, %v", made, o.FileBytes/pageBytes, err)
			}
			f.data[stale] = 's'
			if err := f.Erase(end, true, &o); err != nil {
				t.Fatal(err)
			}
			if f.data[stale] != 0 || !bytes.Equal(f.data[:end], bytes.Repeat([]byte{'x'}, end)) {
				t.Error("stale bytes are left, or sound ones are gone")
			}
		})
	}
}
