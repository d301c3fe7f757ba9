package mmap

import (
	"bytes"
	"sync"
	"testing"
)

func TestWordsAreBigEndian(t *testing.T) {
	b := make([]byte, 24)
	StoreUint32BE(b, 4, 0x01020304)
	StoreUint64BE(b, 8, 0x05060708090a0b0c)
	want := []byte{0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 0, 0, 0, 0, 0, 0, 0}
	if !bytes.Equal(b, want) {
		t.Fatalf("got % x, want % x", b, want)
	}
	if got := LoadUint32BE(b, 4); got != 0x01020304 {
		t.Errorf("got %#x", got)
	}
	if got := LoadUint64BE(b, 8); got != 0x05060708090a0b0c {
		t.Errorf("got %#x", got)
	}
}

func TestWordsMustBeAlignedAndInside(t *testing.T) {
	b := make([]byte, 32)
	for name, f := range map[string]func(){
		"load 4 at 2":     func() { LoadUint32BE(b, 2) },
		"store 4 at 5":    func() { StoreUint32BE(b, 5, 1) },
		"load 8 at 4":     func() { LoadUint64BE(b, 4) },
		"store 8 at 12":   func() { StoreUint64BE(b, 12, 1) },
		"4 across end":    func() { LoadUint32BE(b[:6:6], 4) },
		"8 across end":    func() { StoreUint64BE(b[:12:12], 8, 1) },
		"negative offset": func() { LoadUint32BE(b, -4) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// The word is what publishes the bytes before it; on Go memory the race detector can
// confirm that.
func TestStorePublishesEarlierBytes(t *testing.T) {
	const records = 1000
	b := make([]byte, 8+records)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range records {
			b[8+i] = byte(i)
			StoreUint64BE(b, 0, uint64(i+1))
		}
	})
	for seen := uint64(0); seen < records; {
		seen = LoadUint64BE(b, 0)
		for i := range seen {
			if b[8+i] != byte(i) {
				t.Fatalf("byte %d is %d after %d were published", i, b[8+i], seen)
			}
		}
	}
	wg.Wait()
}

func BenchmarkStoreUint32BE(b *testing.B) {
	word := make([]byte, 8)
	for i := 0; b.Loop(); i++ {
		StoreUint32BE(word, 4, uint32(i))
	}
}
