package index

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"commitlab/engine/message"
)

// Goal: files that are built in memory are, byte for byte, those that single puts
// make. Method: the same records into two sets, across several files, with records
// added again and the clock set back in between.
func TestBuiltFilesEqualThoseOfPuts(t *testing.T) {
	for _, l := range []Layout{small, {Slots: 1, Items: 2}, {Slots: 5000, Items: 30_000}} {
		random := rand.New(rand.NewPCG(3, uint64(l.Items)))
		beds := [2]*bed{newRealBed(t), newRealBed(t)}
		sets := [2]*Set{beds[0].open(l), beds[1].open(l)}
		sets[1].BeginBuild()
		for i := range min(3*l.Items+5, 40_000) {
			r := record(int64(i)*100, int64(1000+i-random.IntN(2)*random.IntN(3)*1000), fmt.Sprint("k", random.IntN(1000)), "hot")
			for _, s := range sets {
				if err := s.Add(&Record{Topic: r.Topic, Keys: r.Keys, Physical: r.Physical, StoreMs: r.StoreMs}); err != nil {
					t.Fatal(err)
				}
			}
			if i%997 == 3 { // what is there already is not entered again
				if err := sets[1].Add(&Record{Topic: r.Topic, Keys: r.Keys, Physical: r.Physical, StoreMs: r.StoreMs}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := sets[1].EndBuild(); err != nil {
			t.Fatal(err)
		}
		if a, b := find(t, sets[0], "hot", 0, forever), find(t, sets[1], "hot", 0, forever); len(a) == 0 || fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%+v: %d and %d records are found", l, len(a), len(b))
		}
		add(t, sets[1], 1<<40, 1<<40, "later") // goes on as any other set
		if got := find(t, sets[1], "later", 0, forever); len(got) != 1 {
			t.Errorf("%+v: what is put afterwards is found %d times", l, len(got))
		}
		add(t, sets[0], 1<<40, 1<<40, "later")
		for _, s := range sets {
			closeSet(t, s)
		}
		names := [2][]string{beds[0].names(), beds[1].names()}
		if len(names[0]) != len(names[1]) || len(names[0]) == 0 {
			t.Fatalf("%+v: files %v and %v", l, names[0], names[1])
		}
		for i := range names[0] {
			a, errA := os.ReadFile(filepath.Join(beds[0].dir, names[0][i]))
			b, errB := os.ReadFile(filepath.Join(beds[1].dir, names[1][i]))
			if errA != nil || errB != nil || !bytes.Equal(a, b) {
				t.Errorf("%+v: file %d differs (%v, %v)", l, i, errA, errB)
			}
		}
	}
}

// A process that is killed while the index is built leaves whole files, and at most
// one without items, which the next start removes: nothing is found twice, and adding
// again from the end on completes the index.
func TestKilledBuildIsCompleted(t *testing.T) {
	b := newRealBed(t)
	l := Layout{Slots: 10, Items: 50}
	s := b.open(l)
	s.BeginBuild()
	for i := range 120 {
		add(t, s, int64(i)*100, 1000, fmt.Sprint("key", i))
	}
	abandon(s)
	s = b.openUnclean(l, 0)
	end := s.EndPhysical()
	if files := len(s.Files()); files != 2 || end < 90*100 || end > 98*100 {
		t.Fatalf("%d files, up to %d", files, end)
	}
	s.BeginBuild()
	for i := end / 100; i < 120; i++ {
		add(t, s, i*100, 1000, fmt.Sprint("key", i))
	}
	if err := s.EndBuild(); err != nil {
		t.Fatal(err)
	}
	for i := range 120 {
		if got := search(t, s, message.KeyHash("T", fmt.Sprint("key", i)), 0, forever); len(got) != 1 || got[0] != int64(i)*100 {
			t.Errorf("key %d leads to %v", i, got)
		}
	}
}
