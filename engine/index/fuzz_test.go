package index

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"commitlab/engine/message"
)

// Whatever the bytes of a file are: opening, searching and putting neither panic
// nor run away, no walk has more steps than there are items, and what is put is
// found. After an unclean end the file also passes the audit.
func FuzzFile(f *testing.F) {
	l := Layout{Slots: 5, Items: 40}
	b := newBed(f)
	s := b.open(l)
	for i := range int64(30) {
		add(f, s, i*100, 1_000_000+i*800, fmt.Sprint("k", i%7))
	}
	sound := bytes.Clone(s.Files()[0].b)
	for _, unclean := range []bool{false, true} {
		f.Add(sound, unclean)
		f.Add([]byte{}, unclean)
		f.Add(sound[:300], unclean)
		for _, at := range []int{countAt, l.slotAt(2), l.itemAt(5) + previousAt, l.itemAt(9) + hashAt, endPhysicalAt, beginTimeAt, l.itemAt(1) + secondsAt} {
			for _, v := range []int32{0, -1, 9, 1 << 30} {
				bad := bytes.Clone(sound)
				copy(bad[at:], word(v))
				f.Add(bad, unclean)
			}
		}
	}
	f.Fuzz(func(t *testing.T, content []byte, unclean bool) {
		b := newBed(t)
		file := make([]byte, l.FileBytes())
		copy(file, content)
		if err := os.WriteFile(filepath.Join(b.dir, "20261129225216638"), file, 0o644); err != nil {
			t.Fatal(err)
		}
		o := b.options(l)
		o.Unclean = unclean
		s, err := Open(b.dir, o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if unclean {
			for _, f := range s.Files() {
				if err := l.Audit(f.b); err != nil {
					t.Fatal(err)
				}
			}
		}
		for slot := range int32(l.Slots) {
			for _, hash := range []int32{slot, message.KeyHash("T", fmt.Sprint("k", slot))} {
				steps := 0
				for c := s.Search(hash, 0, forever); c.Next(); {
					if steps++; steps > l.Items {
						t.Fatalf("more than %d candidates", l.Items)
					}
				}
			}
		}
		from := s.EndPhysical()
		if from > 1<<62 {
			return // no place for more
		}
		for i := range int64(50) {
			if err := s.Put(int32(i), max(from, 0)+1+i, 2_000_000); err != nil {
				t.Fatal(err)
			}
			if got := search(t, s, int32(i), 0, forever); len(got) == 0 || got[0] != max(from, 0)+1+i {
				t.Fatalf("hash %d: candidates %v, the newest was put at %d", i, got, max(from, 0)+1+i)
			}
		}
		if err := s.Truncate(max(from, 0)); err != nil {
			t.Fatal(err)
		}
		if end := s.EndPhysical(); end >= max(from, 0) && end != -1 {
			t.Fatalf("end is %d after truncation at %d", end, from)
		}
	})
}

// Any bytes have a header, slots and items, which encode to the same bytes, and
// pass the audit or do not; what passes has its items in order.
func FuzzLayout(f *testing.F) {
	l := Layout{Slots: 3, Items: 5}
	b := newBed(f)
	s := b.open(l)
	for i := range int64(4) {
		add(f, s, i*100, 1_000_000+i*800, fmt.Sprint("k", i%2))
	}
	f.Add(bytes.Clone(s.Files()[0].b), byte(3), byte(5))
	f.Add(make([]byte, 200), byte(1), byte(2))
	f.Add(bytes.Repeat([]byte{0xFF}, 300), byte(4), byte(6))
	f.Fuzz(func(t *testing.T, content []byte, slots, items byte) {
		l := Layout{Slots: int(slots), Items: int(items)}
		if l.Check() != nil {
			return
		}
		b := make([]byte, l.FileBytes())
		copy(b, content)
		again := make([]byte, len(b))
		encodeHeader(again, DecodeHeader(b))
		for slot := range l.Slots {
			copy(again[l.slotAt(slot):], word(l.Slot(b, slot)))
		}
		for n := range l.Items {
			encodeItem(again[l.itemAt(n):], l.Item(b, n))
		}
		if !bytes.Equal(again, b) {
			t.Fatalf("%x\nencodes to %x", b, again)
		}
		if l.Audit(b) != nil {
			return
		}
		before := int64(-1)
		for n := 1; n < int(DecodeHeader(b).Count); n++ {
			item := l.Item(b, n)
			if item.Physical < before || item.Hash < 0 || item.Previous >= int32(n) {
				t.Fatalf("item %d passes: %+v behind one at %d", n, item, before)
			}
			before = item.Physical
		}
	})
}
