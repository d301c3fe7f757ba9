package consumequeue

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"commitlab/engine/mmap"
	"commitlab/engine/segment"
)

// plainFiles maps without a page cache or a disk behind it, so that a fuzz run
// costs no syncs.
type plainFiles struct{ segment.OSDisk }

func (plainFiles) SyncFile(*os.File) error { return nil }
func (plainFiles) SyncDir(string) error    { return nil }

type unsynced struct{ mmap.Region }

func (unsynced) Sync(off, n int64) error     { return nil }
func (unsynced) SyncData(off, n int64) error { return nil }

func (plainFiles) Map(f *os.File, length int64, p mmap.Prot) (mmap.Region, error) {
	r, err := mmap.OS.Map(f, length, p)
	return unsynced{r}, err
}

// Goal: whatever bytes stand in the files of a queue, Open finds a queue that is
// sound, finds the same one again, and takes the next unit; or it refuses.
func FuzzRecover(f *testing.F) {
	image := func(units ...Unit) []byte {
		var b []byte
		for _, u := range units {
			b = append(b, make([]byte, UnitBytes)...)
			EncodeUnit(b[len(b)-UnitBytes:], u)
		}
		return b
	}
	f.Add(byte(3), byte(0), true, image(unitsOf(0, 8)...))
	f.Add(byte(3), byte(2), false, image(unitsOf(6, 10)...))
	f.Add(byte(4), byte(1), false, image(prefill, prefill, unit(6), unit(7)))
	f.Add(byte(1), byte(0), true, image(append(unitsOf(0, 2), Unit{}, unit(3))...))
	f.Add(byte(5), byte(0), false, image(unit(5), unit(4), unit(6)))
	f.Add(byte(2), byte(0), true, image(prefill, prefill, prefill))
	f.Add(byte(7), byte(9), false, bytes.Repeat([]byte{0xFF}, 333))
	f.Add(byte(3), byte(0), true, make([]byte, 100))
	f.Add(byte(1), byte(0), false, image(unit(0))[:15])
	f.Fuzz(func(t *testing.T, perFile, firstFile byte, clean bool, content []byte) {
		if perFile == 0 || len(content) > 4000 {
			t.Skip()
		}
		o := onDisk(int64(perFile))
		o.Files.Disk, o.Files.Mapper, o.Clean = plainFiles{}, plainFiles{}, clean
		dir := t.TempDir()
		size := int(o.Files.FileBytes)
		for base := int(firstFile) * size; len(content) > 0; base += size {
			n := min(size, len(content))
			file := make([]byte, size)
			copy(file, content[:n])
			content = content[n:]
			if err := os.WriteFile(filepath.Join(dir, segment.FileName(int64(base))), file, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		q, err := Open(dir, o)
		if err != nil {
			t.Fatalf("open: %v", err) // such directories are never refused
		}
		if clean { // damage within was not looked for, but is no danger
			for at := q.Min() - 1; at <= q.Max(); at++ {
				if u, ok := q.Read(at); ok && (!u.Valid() || at < q.Min() || at >= q.Max()) {
					t.Fatalf("read %+v at %d of [%d, %d)", u, at, q.Min(), q.Max())
				}
			}
			q.Close()
			o.Clean = false
			if q, err = Open(dir, o); err != nil {
				t.Fatal(err)
			}
		}
		check(t, q)
		lo, hi, physical := q.Min(), q.Max(), q.MaxPhysical()
		for _, o.Clean = range []bool{false, true} { // killed again, and then an end in order
			if o.Clean {
				if _, err := q.Sync(0); err != nil {
					t.Fatal(err)
				}
			}
			q.Close()
			if q, err = Open(dir, o); err != nil {
				t.Fatal(err)
			}
			if q.Min() != lo || q.Max() != hi || q.MaxPhysical() != physical {
				t.Fatalf("again: [%d, %d) to %d, was [%d, %d) to %d", q.Min(), q.Max(), q.MaxPhysical(), lo, hi, physical)
			}
			check(t, q)
		}
		defer q.Close()
		if next := (Unit{PhysicalOffset: physical, Size: 1}); next.Valid() {
			if err := q.Put(hi, next); err != nil {
				t.Fatal(err)
			}
			if got, ok := q.Read(hi); !ok || got != next || q.MaxPhysical() != next.End() {
				t.Fatalf("put %+v, read %+v %v", next, got, ok)
			}
		}
		var conflict *ConflictError
		for at := lo; at < hi; at++ {
			if u, ok := q.Read(at); ok {
				if err := q.Put(at, u); err != nil {
					t.Fatal(err)
				}
			} else if err := q.Put(at, unit(at)); !errors.As(err, &conflict) {
				t.Fatalf("put over a filler: %v", err)
			}
		}
		if err := q.TruncateTo(physical / 2); err != nil {
			t.Fatal(err)
		}
		check(t, q)
		if q.MaxPhysical() > physical/2 {
			t.Fatalf("cut at %d, MaxPhysical %d", physical/2, q.MaxPhysical())
		}
	})
}

// Goal: whatever bytes stand in an extension file, Open finds an end, finds the
// same one again, every unit before it can be read, and one can be put.
func FuzzExtRecover(f *testing.F) {
	encode := func(lengths ...int) (b []byte) {
		for i, n := range lengths {
			u := ExtUnit{TagsCode: int64(i), Filter: make([]byte, n)}
			b = append(b, make([]byte, u.size())...)
			u.encode(b[len(b)-int(u.size()):])
		}
		return b
	}
	f.Add(byte(100), encode(0, 5, 9, 1))
	f.Add(byte(44), append(encode(0), 0xFF, 0xFF))
	f.Add(byte(0), encode(0)[:19])
	f.Add(byte(1), bytes.Repeat([]byte{0x7F}, 200))
	f.Fuzz(func(t *testing.T, size byte, content []byte) {
		o := onDisk(1)
		o.Files.FileBytes = extHeadBytes + extSpareBytes + int64(size)
		o.Files.Disk, o.Files.Mapper, o.Clean = plainFiles{}, plainFiles{}, false
		if len(content) > 4000 {
			t.Skip()
		}
		dir := t.TempDir()
		for base := int64(0); len(content) > 0; base += o.Files.FileBytes {
			file := make([]byte, o.Files.FileBytes)
			content = content[copy(file, content):]
			if err := os.WriteFile(filepath.Join(dir, segment.FileName(base)), file, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		x, err := OpenExt(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		end := x.end.Load()
		x.Close()
		if x, err = OpenExt(dir, o); err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		if x.end.Load() != end {
			t.Fatalf("ends at %d, then at %d", end, x.end.Load())
		}
		want := ExtUnit{TagsCode: 77, StoreTimestampMs: 78}
		address, err := x.Put(want)
		if err != nil || extOffset(address) < end {
			t.Fatalf("put at %d, end %d: %v", extOffset(address), end, err)
		}
		if got, ok := x.Get(address, nil); !ok || got.TagsCode != want.TagsCode || got.StoreTimestampMs != want.StoreTimestampMs {
			t.Fatalf("%+v, %v", got, ok)
		}
		if err := x.TruncateAfter(address); err != nil {
			t.Fatal(err)
		}
	})
}

// Any bytes decode as a unit, and encode to the same bytes. What counts as a unit
// of a message has an end, is not taken for a filler, and its tags code for an
// address only if that leads somewhere.
func FuzzUnit(f *testing.F) {
	for _, u := range []Unit{{}, prefill, unit(3), {PhysicalOffset: -1, Size: 1}, {PhysicalOffset: 1<<63 - 1, Size: 1}, {TagsCode: extAddress(0), Size: 1}, {TagsCode: -1 << 63, Size: 1}} {
		b := make([]byte, UnitBytes)
		EncodeUnit(b, u)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < UnitBytes {
			return
		}
		u := DecodeUnit(b)
		again := make([]byte, UnitBytes)
		EncodeUnit(again, u)
		if !bytes.Equal(again, b[:UnitBytes]) {
			t.Fatalf("%x encodes to %x", b[:UnitBytes], again)
		}
		if u.Valid() && u.End() <= u.PhysicalOffset {
			t.Fatalf("%+v ends at %d", u, u.End())
		}
		if IsExtAddress(u.TagsCode) && (extOffset(u.TagsCode) < 0 || extOffset(u.TagsCode) > maxExtOffset) {
			t.Fatalf("tags code %d leads to %d", u.TagsCode, extOffset(u.TagsCode))
		}
	})
}
