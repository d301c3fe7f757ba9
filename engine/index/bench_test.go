package index

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"commitlab/engine/message"
)

// benchKeys are the number of keys in the index and in the map beside it.
const benchKeys = 1_000_000

func benchKey(i int) string { return fmt.Sprintf("%016X%016X", uint64(i)*0x9E3779B97F4A7C15, i) }

// BenchmarkKeys compares the index of the original's size with a Go map from
// topic#key to the physical offset: put, a hit and a miss in random order.
func BenchmarkKeys(b *testing.B) {
	const topic = "BenchTopic"
	keys, misses := make([]string, benchKeys), make([]string, benchKeys)
	work := fnv.New64()
	for i := range keys {
		keys[i], misses[i] = benchKey(i), benchKey(i+benchKeys)
		work.Write([]byte(keys[i]))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	order := rng.Perm(benchKeys)
	b.Logf("work %x", work.Sum64())

	fill := func(b *testing.B) *Set {
		s := newRealBed(b).open(Layout{Slots: DefaultSlots, Items: DefaultItems})
		for i, key := range keys {
			if err := s.Put(message.KeyHash(topic, key), int64(i)*1000, 1_700_000_000_000+int64(i)/100); err != nil {
				b.Fatal(err)
			}
		}
		return s
	}
	b.Run("op=put/in=index", func(b *testing.B) {
		s := newRealBed(b).open(Layout{Slots: DefaultSlots, Items: DefaultItems})
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if err := s.Put(message.KeyHash(topic, keys[i%benchKeys]), int64(i)*1000, 1_700_000_000_000+int64(i)/100); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("op=put/in=map", func(b *testing.B) {
		m := make(map[string]int64)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			m[keys[i%benchKeys]] = int64(i) * 1000
		}
	})
	for _, c := range []struct {
		op   string
		keys []string
		hits int
	}{{"hit", keys, 1}, {"miss", misses, 0}} {
		b.Run("op="+c.op+"/in=index", func(b *testing.B) {
			s := fill(b)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				found := 0
				cursor := s.Search(message.KeyHash(topic, c.keys[order[i%benchKeys]]), 0, forever)
				for cursor.Next() {
					found++
				}
				cursor.Release()
				if found < c.hits || found > c.hits+3 { // other keys may have the hash
					b.Fatalf("%d candidates, want %d", found, c.hits)
				}
			}
		})
		b.Run("op="+c.op+"/in=map", func(b *testing.B) {
			m := make(map[string]int64)
			for i, key := range keys {
				m[key] = int64(i)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, ok := m[c.keys[order[i%benchKeys]]]; ok != (c.hits == 1) {
					b.Fatalf("found is %v", ok)
				}
			}
		})
	}
}

// Neither adding nor searching allocates.
func TestHotPathsDoNotAllocate(t *testing.T) {
	s := newRealBed(t).open(Layout{Slots: 1000, Items: 100_000})
	r := record(0, 1_700_000_000_000, "a", "b")
	r.UniqueKey = []byte("id")
	if n := testing.AllocsPerRun(1000, func() {
		r.Physical += 100
		if err := s.Add(r); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("Add: %v allocations", n)
	}
	for _, key := range []string{"a", "nobody"} {
		hash := message.KeyHash("T", key)
		if n := testing.AllocsPerRun(100, func() {
			c := s.Search(hash, 0, forever)
			for c.Next() {
			}
			if c.Err() != nil {
				t.Fatal(c.Err())
			}
			c.Release()
		}); n != 0 {
			t.Errorf("search for %s: %v allocations", key, n)
		}
	}
}
