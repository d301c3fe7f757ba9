package index

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"commitlab/engine/message"
)

// chained returns a bed with one closed file of n keys that all lie in slot 0 of
// the layout, and its name.
func chained(t *testing.T, l Layout, n int) (*bed, string) {
	t.Helper()
	b := newBed(t)
	s := b.open(l)
	for i := range n {
		if err := s.Put(int32(i*l.Slots), int64(i)*100, 1000); err != nil {
			t.Fatal(err)
		}
	}
	name := s.Files()[0].Name()
	closeSet(t, s)
	return b, name
}

func word(v int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(v)) }

// Reported: damaged links in an index file can send a lookup round for ever.
func TestB08_ADamagedChainEndsTheWalk(t *testing.T) {
	l := Layout{Slots: 4, Items: 30}
	previousOf := func(n int) int { return l.itemAt(n) + previousAt }
	type patch struct {
		at   int
		link int32
	}
	for _, c := range []struct {
		name    string
		patches []patch
	}{
		{"two items lead to each other", []patch{{previousOf(5), 9}, {previousOf(9), 5}}},
		{"an item leads to itself", []patch{{previousOf(7), 7}}},
		{"an item leads to a newer one", []patch{{previousOf(7), 12}}},
		{"an item leads beyond the items", []patch{{previousOf(7), 1 << 30}}},
		{"an item has a negative link", []patch{{previousOf(7), -1}}},
		{"the slot leads beyond the items", []patch{{l.slotAt(0), 21}}},
		{"the slot leads beyond the file", []patch{{l.slotAt(0), 1 << 30}}},
		{"the slot has a negative link", []patch{{l.slotAt(0), -5}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, name := chained(t, l, 20)
			for _, p := range c.patches {
				b.patch(name, p.at, word(p.link))
			}
			s := b.open(l)
			nobody := int32(l.Slots * 1000)
			for range 3 {
				start := time.Now()
				cursor := s.Search(nobody, 0, forever)
				for cursor.Next() {
					t.Errorf("candidate %d of a key that nobody has", cursor.Physical())
				}
				cursor.Release()
				if !cursor.Damaged() {
					t.Error("the cursor does not say that the chain is damaged")
				}
				// The walk is a few steps; a limit this wide only tells it from an endless one.
				if took := time.Since(start); took > 10*time.Second {
					t.Errorf("took %v", took)
				}
			}
			if n := b.log.warnings("damaged link"); n != 1 {
				t.Errorf("%d warnings, want 1", n)
			}
			if n := s.Snapshot().DamagedFiles; n != 1 {
				t.Errorf("%d damaged files, want 1", n)
			}
		})
	}
}

// What lies before the damage in a chain is still found, and other files are.
func TestDamageHidesOnlyWhatLiesBehindIt(t *testing.T) {
	l := Layout{Slots: 4, Items: 30}
	b, name := chained(t, l, 20)
	b.patch(name, l.itemAt(10)+previousAt, word(15))
	s := b.open(l)
	for _, i := range []int{19, 10, 9} {
		s.damages.Store(0)
		got := search(t, s, int32(i*l.Slots), 0, forever)
		if found := slices.Equal(got, []int64{int64(i) * 100}); found != (i >= 9) {
			t.Errorf("key %d: candidates %v", i, got)
		}
	}
}

// A damaged slot or link is not carried on by the items put later.
func TestPutDoesNotLinkToADamagedSlot(t *testing.T) {
	l := Layout{Slots: 4, Items: 30}
	b, name := chained(t, l, 20)
	b.patch(name, l.slotAt(0), word(-77))
	s := b.open(l)
	if err := s.Put(4000, 5000, 1000); err != nil {
		t.Fatal(err)
	}
	if it := l.Item(s.Files()[0].b, 21); it.Previous != 0 {
		t.Errorf("previous is %d, want 0", it.Previous)
	}
	s.Files()[0].damaged.Store(true) // the audit at the end would name the lost chain
}

// After an unclean end, items are believed up to the first one that a missing
// sector could have damaged. Each case loses something else of a file of 40 keys;
// after adding the records again from the end that Open tells, nothing is missing.
func TestUncleanFileIsRepairedWhateverIsMissing(t *testing.T) {
	l := small
	zero := func(from, to int) func(b *bed, name string) {
		return func(b *bed, name string) { b.patch(name, from, make([]byte, to-from)) }
	}
	set := func(at int, v int32) func(b *bed, name string) {
		return func(b *bed, name string) { b.patch(name, at, word(v)) }
	}
	cases := map[string]func(b *bed, name string){
		"nothing":                      func(*bed, string) {},
		"all slots":                    zero(HeaderBytes, l.itemAt(0)),
		"one slot":                     set(l.slotAt(3), 0),
		"a slot ahead of the count":    set(l.slotAt(3), 41),
		"a slot in another chain":      set(l.slotAt(3), 7),
		"a link":                       set(l.itemAt(20)+previousAt, 0),
		"a link into another chain":    set(l.itemAt(20)+previousAt, 11),
		"an item":                      zero(l.itemAt(20), l.itemAt(21)),
		"the last item":                zero(l.itemAt(40), l.itemAt(41)),
		"the first item":               zero(l.itemAt(1), l.itemAt(2)),
		"a count that is older":        set(countAt, 17),
		"a count that is newer":        set(countAt, 45),
		"a count beyond the file":      set(countAt, 1<<30),
		"a count below zero":           set(countAt, -3),
		"the end":                      zero(endPhysicalAt, endPhysicalAt+8),
		"the begin time":               zero(beginTimeAt, beginTimeAt+8),
		"the header":                   zero(0, HeaderBytes),
		"everything":                   zero(0, int(l.FileBytes())),
		"all items":                    zero(l.itemAt(0), int(l.FileBytes())),
		"stale items behind the count": set(l.itemAt(50)+hashAt, 12345),
	}
	for at := 0; at < int(l.FileBytes()); at += sectorBytes {
		cases[fmt.Sprintf("the sector at %d", at)] = zero(at, min(at+sectorBytes, int(l.FileBytes())))
		// Of an item that lies in two sectors, one part.
		if n := (at - l.itemAt(0)) / ItemBytes; at > l.itemAt(1) && n <= 40 && l.itemAt(n) < at {
			cases[fmt.Sprintf("the first part of item %d", n)] = zero(l.itemAt(n), at)
			cases[fmt.Sprintf("the second part of item %d and the next", n)] = zero(at, l.itemAt(n+2))
		}
	}
	for name, harm := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			s := b.open(l)
			records := func(from int64) {
				for i := range int64(20) {
					if r := record(i*100, 1_000_000+i*700, fmt.Sprint("a", i), fmt.Sprint("b", i)); r.Physical >= from {
						if err := s.Add(r); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			records(0)
			file := s.Files()[0].Name()
			closeSet(t, s)
			harm(b, file)
			s = b.openUnclean(l, 0)
			audit(t, s)
			records(s.EndPhysical())
			if n := s.Snapshot().Items; n != 40 {
				t.Errorf("%d items, want 40", n)
			}
			for i := range int64(20) {
				at := 1_000_000 + i*700
				for _, key := range []string{fmt.Sprint("a", i), fmt.Sprint("b", i)} {
					if got := search(t, s, message.KeyHash("T", key), at, at); !slices.Equal(got, []int64{i * 100}) {
						t.Errorf("%s: candidates %v, want %d", key, got, i*100)
					}
				}
			}
			for n := s.Files()[0].Len() + 1; n < l.Items; n++ {
				if it := l.Item(s.Files()[0].b, n); it != (Item{}) {
					t.Errorf("item %d behind the end is not erased: %+v", n, it)
				}
			}
		})
	}
}

// Opening after a crash does not read the files that the checkpoint vouches for:
// a fault in one of them, which Audit would find, is still there.
func TestUncleanOpenTrustsTheCheckpoint(t *testing.T) {
	l := Layout{Slots: 4, Items: 5}
	b := newBed(t)
	s := b.open(l)
	for i := range int64(24) {
		add(t, s, i*10, 1_000_000+i*1000, fmt.Sprint("k", i))
	}
	durableMs := s.Files()[2].Header().EndMs
	closeSet(t, s)
	b.patch(b.names()[1], l.itemAt(2)+previousAt, word(2))
	s = b.openUnclean(l, durableMs)
	f := s.Files()[1]
	if l.Item(f.b, 2).Previous != 2 {
		t.Error("the durable file was repaired")
	}
	if got := s.DurableMs(); got != s.Files()[len(s.Files())-1].Header().EndMs {
		t.Errorf("durable to %d, want the end of the last full file, which was checked and synced", got)
	}
	f.damaged.Store(true)
}

// Behind a file that lost items or its header nothing can stay, since records
// are added in order.
func TestUncleanGapTakesYoungerFilesAway(t *testing.T) {
	l := Layout{Slots: 4, Items: 5}
	for _, c := range []struct {
		name      string
		durable   int // number of files the checkpoint covers
		harmed    int // this file
		at        int
		wantItems int64 // kept at least, at most one less
	}{
		{"an item", 1, 2, l.itemAt(2), 9},
		{"the header", 1, 2, 0, 8},
		{"no checkpoint", 0, 0, l.itemAt(2), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBed(t)
			s := b.open(l)
			for i := range int64(24) {
				add(t, s, i*10, 1_000_000+i*1000, fmt.Sprint("k", i))
			}
			durableMs := int64(0)
			if c.durable > 0 {
				durableMs = s.Files()[c.durable-1].Header().EndMs
			}
			names := b.names()
			closeSet(t, s)
			b.patch(names[c.harmed], c.at, make([]byte, min(HeaderBytes, int(l.FileBytes())-c.at)))
			s = b.openUnclean(l, durableMs)
			if n := s.Snapshot().Items; n > c.wantItems || n < c.wantItems-1 {
				t.Errorf("%d items are kept, want %d or one less", n, c.wantItems)
			}
			for i := range int64(24) {
				if i*10 >= s.EndPhysical() {
					add(t, s, i*10, 1_000_000+i*1000, fmt.Sprint("k", i))
				}
			}
			if n := s.Snapshot().Items; n != 24 {
				t.Errorf("%d items, want 24", n)
			}
			for i := range int64(24) {
				if got := find(t, s, fmt.Sprint("k", i), 0, forever); !slices.Equal(got, []int64{i * 10}) {
					t.Errorf("k%d: candidates %v", i, got)
				}
			}
		})
	}
}

// A header that contradicts the items is repaired even after an orderly end.
func TestCleanFileWithAContradictingHeaderIsRepaired(t *testing.T) {
	for name, harm := range map[string][2]int32{
		"end":         {endPhysicalAt + 4, 7},
		"begin":       {beginPhysicalAt + 4, 7},
		"large count": {countAt, 1 << 20},
		"negative":    {countAt, -1},
	} {
		t.Run(name, func(t *testing.T) {
			b, file := chained(t, small, 20)
			b.patch(file, int(harm[0]), word(harm[1]))
			s := b.open(small)
			if n := b.log.warnings("contradicts"); n != 1 {
				t.Errorf("%d warnings, want 1", n)
			}
			audit(t, s)
			for i := range 20 {
				if int64(i)*100 >= s.EndPhysical() {
					if err := s.Put(int32(i*small.Slots), int64(i)*100, 1000); err != nil {
						t.Fatal(err)
					}
				}
			}
			for i := range 20 {
				if got := search(t, s, int32(i*small.Slots), 0, forever); !slices.Equal(got, []int64{int64(i) * 100}) {
					t.Errorf("key %d: candidates %v", i, got)
				}
			}
		})
	}
}
