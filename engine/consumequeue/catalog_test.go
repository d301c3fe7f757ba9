package consumequeue

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"reflect"
	"testing"

	"commitlab/engine/fsutil"
)

func sampleCatalog() catalog {
	stamp := func(n int64) fsutil.Stamp {
		return fsutil.Stamp{Inode: uint64(n), Size: 100, ModifyNs: n << 40, ChangeNs: n<<40 + 1}
	}
	at := func(n int64) message { return message{offset: n, unit: unit(n)} }
	return catalog{ends: []end{
		{topic: "%RETRY%group", id: 1, files: 1, max: 3, first: at(1), last: at(2), dir: stamp(1), file: stamp(2)},
		{topic: "t", id: 0, base: 200, files: 2, max: 20, first: at(10), last: at(19), dir: stamp(3), file: stamp(4)},
		{topic: "t", id: 12, files: 3, max: 12, first: at(0), last: at(11), dir: stamp(5), file: stamp(6)},
		{topic: "主题-é😀", id: 0, files: 1, max: 1, first: at(0), last: at(0), dir: stamp(7), file: stamp(8)},
	}}
}

func TestCatalogComesBackAsItWas(t *testing.T) {
	for _, c := range []catalog{{}, sampleCatalog()} {
		b := c.encode("a boot id", 5*UnitBytes)
		boot, fileBytes, got, err := decodeCatalog(b)
		if err != nil || boot != "a boot id" || fileBytes != 5*UnitBytes || len(got.ends) != len(c.ends) {
			t.Fatalf("boot %q, %d bytes, %d ends: %v", boot, fileBytes, len(got.ends), err)
		}
		for i := range c.ends {
			if !reflect.DeepEqual(got.ends[i], c.ends[i]) {
				t.Errorf("end %d: %+v, want %+v", i, got.ends[i], c.ends[i])
			}
			if e := got.of(c.ends[i].topic, c.ends[i].id); e != &got.ends[i] {
				t.Errorf("end %d is not found", i)
			}
		}
		if e := got.of("t", 3); e != nil {
			t.Errorf("found %+v", e)
		}
	}
}

// Goal: no damage passes for a catalog.
func TestDamagedCatalogIsNone(t *testing.T) {
	c := sampleCatalog()
	whole := c.encode("a boot id", 5*UnitBytes)
	for n := range len(whole) {
		if _, _, _, err := decodeCatalog(whole[:n]); err == nil {
			t.Errorf("cut to %d bytes it is one", n)
		}
		bad := bytes.Clone(whole)
		bad[n] ^= 1 << rand.IntN(8)
		if _, _, _, err := decodeCatalog(bad); err == nil {
			t.Errorf("with another byte %d it is one", n)
		}
	}
	if _, _, _, err := decodeCatalog(append(whole, 0)); err == nil {
		t.Error("with a byte more it is one")
	}
}

// Goal: whatever stands in the file, it is a catalog of queues that can be, or none.
// The sum is put right, so that what it protects is looked at too.
func FuzzCatalog(f *testing.F) {
	for _, c := range []catalog{{}, sampleCatalog()} {
		b := c.encode("a boot id", 5*UnitBytes)
		f.Add(b[:len(b)-catalogSumBytes])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, _, _, err := decodeCatalog(b); err == nil {
			t.Skip("it has its own sum")
		}
		b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
		boot, fileBytes, c, err := decodeCatalog(b)
		if err != nil {
			return
		}
		for i := range c.ends {
			if e := &c.ends[i]; !e.sound(fileBytes) {
				t.Errorf("%+v in files of %d bytes", e, fileBytes)
			}
		}
		if again := c.encode(boot, fileBytes); !bytes.Equal(again[catalogHeadBytes:], b[catalogHeadBytes:]) {
			t.Error("written again it is another one")
		}
	})
}
