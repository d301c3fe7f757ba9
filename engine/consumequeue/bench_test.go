package consumequeue

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// benchUnits is the units to a file of an unconfigured store.
const benchUnits = 300_000

func BenchmarkPut(b *testing.B) {
	q := openQueue(b, b.TempDir(), onDisk(benchUnits))
	b.SetBytes(UnitBytes)
	b.ReportAllocs()
	n := int64(0)
	for b.Loop() {
		if err := q.Put(n, unit(n)); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.StopTimer()
	q.Close()
}

// BenchmarkPutAgain is what recovery does with all that stands there already.
func BenchmarkPutAgain(b *testing.B) {
	q := openQueue(b, b.TempDir(), onDisk(benchUnits))
	put(b, q, 0, 1000)
	b.ReportAllocs()
	n := int64(0)
	for b.Loop() {
		if err := q.Put(n, unit(n)); err != nil {
			b.Fatal(err)
		}
		n = (n + 1) % 1000
	}
}

func BenchmarkRead(b *testing.B) {
	q := openQueue(b, b.TempDir(), onDisk(benchUnits))
	const units = 1 << 18
	put(b, q, 0, units)
	for _, order := range []string{"sequential", "random"} {
		b.Run("order="+order, func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			b.ReportAllocs()
			var at, sum int64
			for b.Loop() {
				if order == "random" {
					at = rng.Int64N(units)
				} else {
					at = (at + 1) % units
				}
				u, ok := q.Read(at)
				if !ok {
					b.Fatal(at)
				}
				sum += u.PhysicalOffset
			}
			if sum == 0 {
				b.Fatal("nothing read")
			}
		})
	}
	q.Close()
}

func BenchmarkUnits(b *testing.B) {
	q := openQueue(b, b.TempDir(), onDisk(benchUnits))
	const units = 1 << 16
	put(b, q, 0, units)
	for _, limit := range []int{1, 32, 800} {
		b.Run(fmt.Sprintf("limit=%d", limit), func(b *testing.B) {
			b.ReportAllocs()
			var at, sum int64
			for b.Loop() {
				units, err := q.Units(at, limit)
				if err != nil {
					b.Fatal(err)
				}
				for i := range units.Len() {
					sum += int64(units.At(i).Size)
				}
				units.Release()
				at = (at + int64(limit)) % (1 << 15)
			}
			if sum == 0 {
				b.Fatal("nothing read")
			}
		})
	}
	q.Close()
}

func BenchmarkSearchByTime(b *testing.B) {
	q := openQueue(b, b.TempDir(), onDisk(benchUnits))
	const units = 1 << 18
	put(b, q, 0, units)
	storeTime := func(u Unit) (int64, bool) { return u.PhysicalOffset, true }
	b.ReportAllocs()
	at := int64(0)
	for b.Loop() {
		if got, err := q.SearchByTime(at*recordBytes, Lower, storeTime); got != at || err != nil {
			b.Fatal(got)
		}
		at = (at + 7919) % units
	}
	b.StopTimer()
	q.Close()
}

// BenchmarkOpenTable opens many queues, in one file each, a third of which is
// used.
func BenchmarkOpenTable(b *testing.B) {
	for _, queues := range []int{100, 1000} {
		root := b.TempDir()
		const perFile = 3000
		content := make([]byte, perFile*UnitBytes)
		for n := range int64(perFile / 3) {
			EncodeUnit(content[n*UnitBytes:], unit(n))
		}
		for n := range queues {
			dir := filepath.Join(root, fmt.Sprint("topic", n/8), fmt.Sprint(n%8))
			if err := os.MkdirAll(dir, 0o755); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "00000000000000000000"), content, 0o644); err != nil {
				b.Fatal(err)
			}
		}
		for _, clean := range []bool{true, false} {
			b.Run(fmt.Sprintf("queues=%d/clean=%v", queues, clean), func(b *testing.B) {
				o := onDisk(perFile)
				o.Clean = clean
				for b.Loop() {
					table, err := OpenTable(root, o)
					if err != nil {
						b.Fatal(err)
					}
					table.Close()
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*queues), "µs/queue")
			})
		}
	}
}
