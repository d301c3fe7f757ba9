package consumequeue

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"commitlab/engine/segment"
)

func openExt(t testing.TB, dir string, o Options) *Ext {
	t.Helper()
	x, err := OpenExt(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	return x
}

// extOptions are for extension files of fileBytes bytes.
func extOptions(fileBytes int64) Options {
	o, _ := onHeap(1)
	o.Files.FileBytes = fileBytes
	return o
}

// extUnit is unit n, with a filter of some length.
func extUnit(n int) ExtUnit {
	return ExtUnit{TagsCode: int64(n) * 31, StoreTimestampMs: 1_700_000_000_000 + int64(n), Filter: bytes.Repeat([]byte{byte(n)}, n%5*3)}
}

// fillExt puts units [0, n) and returns their addresses.
func fillExt(t testing.TB, x *Ext, n int) []int64 {
	t.Helper()
	var addresses []int64
	for i := range n {
		address, err := x.Put(extUnit(i))
		if err != nil {
			t.Fatal(err)
		}
		if !IsExtAddress(address) {
			t.Fatalf("unit %d: %d is no address", i, address)
		}
		addresses = append(addresses, address)
	}
	return addresses
}

// wantExt asserts that the units of [from, to) are there and the others are not.
func wantExt(t testing.TB, x *Ext, addresses []int64, from, to int) {
	t.Helper()
	for i, address := range addresses {
		u, ok := x.Get(address, nil)
		want := extUnit(i)
		if ok != (i >= from && i < to) {
			t.Fatalf("unit %d of [%d, %d): found %v", i, from, to, ok)
		}
		if ok && (u.TagsCode != want.TagsCode || u.StoreTimestampMs != want.StoreTimestampMs || !bytes.Equal(u.Filter, want.Filter)) {
			t.Fatalf("unit %d: %+v, expected %+v", i, u, want)
		}
	}
}

func TestExtFileBytes(t *testing.T) {
	dir := t.TempDir()
	x := openExt(t, dir, extOptions(60))
	for i, u := range []ExtUnit{{TagsCode: -2, StoreTimestampMs: 3, Filter: []byte{0xAA, 0xBB}}, {TagsCode: 5}, {TagsCode: 6}} {
		address, err := x.Put(u)
		if want := []int64{0, 22, 60}[i]; err != nil || extOffset(address) != want {
			t.Fatalf("unit %d at %d, %v; expected %d", i, extOffset(address), err, want)
		}
	}
	if err := x.Sync(); err != nil {
		t.Fatal(err)
	}
	for base, want := range map[int64]string{
		0:  "0016fffffffffffffffe00000000000000030002aabb" + "0014000000000000000500000000000000000000" + "ffff",
		60: "0014000000000000000600000000000000000000",
	} {
		got, err := os.ReadFile(filepath.Join(dir, segment.FileName(base)))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want+strings.Repeat("0", 120-len(want)), hex.EncodeToString(got)); d != "" {
			t.Errorf("file %d:\n%s", base, d)
		}
	}
}

func TestExtKeepsUnitsAcrossFilesAndRestarts(t *testing.T) {
	for _, fileBytes := range []int64{36, 60, 100, 1000} {
		bothWays(t, func(t *testing.T, clean bool) {
			dir := t.TempDir()
			o := extOptions(fileBytes)
			x := openExt(t, dir, o)
			var addresses []int64
			for i := range 40 {
				address, err := x.Put(extUnit(i))
				if size := int64(20 + i%5*3); size+4 > fileBytes {
					if !errors.Is(err, ErrUnit) {
						t.Fatalf("unit of %d bytes in files of %d: %v", size, fileBytes, err)
					}
					addresses = append(addresses, 0)
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				addresses = append(addresses, address)
			}
			for range 3 {
				for i, address := range addresses {
					u, ok := x.Get(address, nil)
					if ok != IsExtAddress(address) || ok && u.TagsCode != extUnit(i).TagsCode {
						t.Fatalf("unit %d: %+v, %v", i, u, ok)
					}
				}
				x.Close()
				o.Clean = clean
				x = openExt(t, dir, o)
				address, err := x.Put(extUnit(len(addresses)))
				if err == nil {
					addresses = append(addresses, address)
				}
			}
		})
	}
}

func TestExtRefusesWhatDoesNotFit(t *testing.T) {
	x := openExt(t, t.TempDir(), extOptions(1<<20))
	if _, err := x.Put(ExtUnit{Filter: make([]byte, MaxFilterBytes+1)}); !errors.Is(err, ErrUnit) {
		t.Errorf("filter above the limit: %v", err)
	}
	address, err := x.Put(ExtUnit{Filter: make([]byte, MaxFilterBytes)})
	if err != nil {
		t.Fatal(err)
	}
	if u, ok := x.Get(address, nil); !ok || len(u.Filter) != MaxFilterBytes {
		t.Errorf("largest filter: %d bytes, %v", len(u.Filter), ok)
	}
	o := extOptions(23)
	if _, err := OpenExt(t.TempDir(), o); err == nil {
		t.Error("files that hold no unit")
	}
	o = extOptions(100)
	o.SyncPath = segment.SyncPwrite
	if _, err := OpenExt(t.TempDir(), o); err == nil {
		t.Error("sync path pwrite")
	}
}

func TestExtGetBelievesNoAddress(t *testing.T) {
	x := openExt(t, t.TempDir(), extOptions(100))
	addresses := fillExt(t, x, 10)
	end := x.end.Load()
	found := 0
	for offset := int64(0); offset < end+200; offset++ {
		if _, ok := x.Get(extAddress(offset), nil); ok {
			found++
		}
	}
	if found < len(addresses) || found > len(addresses)+5 {
		t.Errorf("%d of %d offsets are units, %d were put", found, end, len(addresses))
	}
	for _, none := range []int64{0, 1, -5, extAddress(maxExtOffset)} {
		if _, ok := x.Get(none, nil); ok {
			t.Errorf("%d is an address", none)
		}
	}
	buf := make([]byte, 0, 64)
	address := addresses[4]
	if n := testing.AllocsPerRun(50, func() { x.Get(address, buf) }); n != 0 {
		t.Errorf("Get into a buffer allocates %v times", n)
	}
}

// The Java store (H26) cuts the end only when its queue lost all files, so units
// of messages that are gone stay for ever.
func TestH26_ExtIsCutBehindTheLastUnitOfItsQueue(t *testing.T) {
	for keep := range 13 {
		t.Run(fmt.Sprintf("keep=%d", keep), func(t *testing.T) {
			o := extOptions(100)
			dir := t.TempDir()
			x := openExt(t, dir, o)
			addresses := fillExt(t, x, 12)
			last := int64(0)
			if keep > 0 {
				last = addresses[min(keep, 12)-1]
			}
			if err := x.TruncateAfter(last); err != nil {
				t.Fatal(err)
			}
			wantExt(t, x, addresses, 0, keep)
			x.Close()
			x = openExt(t, dir, o)
			wantExt(t, x, addresses, 0, keep)
			if keep < 12 {
				if again, err := x.Put(extUnit(keep)); err != nil || again > addresses[keep] {
					t.Errorf("next unit goes to %d (%v), expected at most %d", extOffset(again), err, extOffset(addresses[keep]))
				}
			}
		})
	}
}

func TestExtIsNotCutAtAnAddressItDoesNotHave(t *testing.T) {
	x := openExt(t, t.TempDir(), extOptions(100))
	if err := x.TruncateAfter(0); err != nil {
		t.Errorf("empty extension: %v", err)
	}
	addresses := fillExt(t, x, 12)
	if err := x.TruncateAfter(addresses[3] + 1); !errors.Is(err, ErrNotFound) {
		t.Errorf("cut within a unit: %v", err)
	}
	wantExt(t, x, addresses, 0, 12)
}

func TestExtFilesBelowTheFirstUnitOfTheQueueGo(t *testing.T) {
	x := openExt(t, t.TempDir(), extOptions(100))
	addresses := fillExt(t, x, 12) // 26 bytes each on average, 3 to a file
	if n, err := x.DeleteBefore(0, noon); n != 0 || err != nil {
		t.Errorf("no address: %d deleted (%v)", n, err)
	}
	first := 7
	n, err := x.DeleteBefore(addresses[first], noon)
	if n == 0 || err != nil {
		t.Fatalf("%d deleted (%v)", n, err)
	}
	base := x.files.Files()[0].Base()
	if base > extOffset(addresses[first]) || base+100 <= extOffset(addresses[first]) {
		t.Errorf("first file starts at %d, first live unit at %d", base, extOffset(addresses[first]))
	}
	for i, address := range addresses {
		if _, ok := x.Get(address, nil); ok != (extOffset(address) >= base) {
			t.Errorf("unit %d: %v", i, ok)
		}
	}
	if n, err := x.Reap(noon, 0); n != 0 || err != nil {
		t.Errorf("%d held (%v)", n, err)
	}
	if n, err := x.DeleteBefore(extAddress(maxExtOffset), noon); err != nil || x.files.Last() == nil {
		t.Errorf("%d deleted (%v), the last file too", n, err)
	}
	if err := x.Destroy(noon); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(x.files.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("directory: %v", err)
	}
}

// A torn unit ends its file, not those behind it; and nothing is ever appended
// among torn bytes.
func TestH26_TornExtUnitEndsItsFileOnly(t *testing.T) {
	o := extOptions(100)
	dir := t.TempDir()
	x := openExt(t, dir, o)
	addresses := fillExt(t, x, 12)
	x.Close()
	f, err := os.OpenFile(filepath.Join(dir, segment.FileName(100)), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{0, 0}, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	o.Clean = false
	x = openExt(t, dir, o)
	for i, address := range addresses {
		offset := extOffset(address)
		if _, ok := x.Get(address, nil); ok != (offset != 100) {
			t.Errorf("unit %d at %d: %v", i, offset, ok)
		}
	}
	address, err := x.Put(extUnit(1))
	if err != nil || address <= addresses[11] {
		t.Errorf("next unit at %d (%v), expected behind %d", extOffset(address), err, extOffset(addresses[11]))
	}
}

func TestExtFailuresLeaveItWhole(t *testing.T) {
	o, heap := onHeap(5)
	dir := t.TempDir()
	x := openExt(t, dir, o)
	addresses := fillExt(t, x, 3)
	broken := errors.New("input/output error")
	heap.FailMap(broken, 1)
	big := ExtUnit{TagsCode: 1, Filter: make([]byte, 60)}
	if _, err := x.Put(big); !errors.Is(err, broken) {
		t.Errorf("put: %v", err)
	}
	wantExt(t, x, addresses, 0, 3)
	address, err := x.Put(big)
	if err != nil {
		t.Fatal(err)
	}
	if u, ok := x.Get(address, nil); !ok || u.TagsCode != 1 || len(u.Filter) != 60 {
		t.Errorf("%+v, %v", u, ok)
	}
	heap.FailSync(broken, 1)
	if err := x.Sync(); !errors.Is(err, broken) || !errors.Is(err, ErrSyncFailed) {
		t.Errorf("sync: %v", err)
	}
}
