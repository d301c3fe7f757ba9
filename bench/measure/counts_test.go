package measure

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
)

// counts exists for its speed; it must be the library's histogram in all else.
func TestCountsHaveTheLayoutOfTheLibrary(t *testing.T) {
	library := hdrhistogram.New(LowestNs, HighestNs, SignificantDigits)
	if got := len(library.Export().Counts); got != cellCount {
		t.Fatalf("library has %d cells, want %d", got, cellCount)
	}
	var own counts
	record := func(v int64) {
		if v < 0 || v > HighestNs {
			return
		}
		own.record(v)
		if err := library.RecordValue(v); err != nil {
			t.Fatal(err)
		}
	}
	// Both ends and the inside of every cell.
	for v := int64(0); v <= HighestNs; {
		next := v + cellWidth(v)
		record(v)
		record((v + next) / 2)
		record(next - 1)
		v = next
	}
	for range 100_000 {
		record(rand.Int64N(HighestNs) >> rand.IntN(36))
	}
	var sum totals
	sum.take(&own)
	got := sum.histogram()
	if diff := cmp.Diff(library.Export(), got.Export()); diff != "" || !got.Equals(library) {
		t.Errorf("own counts differ from the library's (-library +own):\n%s", diff)
	}
}

// cellWidth is the number of values that share v's cell, found without cellOf.
func cellWidth(v int64) int64 {
	width := int64(1)
	for v/width > subBucketMask {
		width *= 2
	}
	return width
}

// B-120: merging unlike histograms dropped values, and only a return value told.
func TestB120_SumsLoseNothing(t *testing.T) {
	var sum, total totals
	want := int64(0)
	for range 10 {
		var part counts
		for range 100 {
			part.record(rand.Int64N(2 * HighestNs))
			want++
		}
		sum.take(&part)
		if part != (counts{}) {
			t.Fatal("part is not empty after it was taken")
		}
		total.add(&sum)
		sum.reset()
	}
	if total.count != want || total.histogram().TotalCount() != want || total.over == 0 || total.over == want {
		t.Errorf("count %d, histogram %d, over range %d: want %d values, some of them over", total.count, total.histogram().TotalCount(), total.over, want)
	}
}

// A worker records while its buffers are exchanged: nothing is lost, nothing is
// counted twice, and (under the race detector) nobody reads what is written.
func TestExchangeLosesNothing(t *testing.T) {
	const values = 200_000
	rec := newRecorder(1, false, 0)
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := range values {
			b := rec.open()
			b.ops[0][service].record(int64(i))
			b.done++
			rec.gate.Store(gateIdle)
		}
	})
	var sum totals
	done := uint64(0)
	collect := func() {
		b := rec.exchange()
		sum.take(b.ops[0][service])
		done += b.done
		b.reset()
	}
	for sum.count < values {
		collect()
		runtime.Gosched()
	}
	writer.Wait()
	collect()
	if done != values || sum.max != values-1 {
		t.Errorf("%d operations, greatest %d: want %d and %d", done, sum.max, values, values-1)
	}
}

func BenchmarkRecord(b *testing.B) {
	var values [4096]int64
	for i := range values {
		values[i] = 1000 + int64(rand.ExpFloat64()*800)
	}
	b.Run("by=counts", func(b *testing.B) {
		c := touched()
		for i := 0; b.Loop(); i++ {
			c.record(values[i%len(values)])
		}
	})
	b.Run("by=hdrhistogram", func(b *testing.B) {
		h := hdrhistogram.New(LowestNs, HighestNs, SignificantDigits)
		for i := 0; b.Loop(); i++ {
			_ = h.RecordValue(values[i%len(values)])
		}
	})
}
