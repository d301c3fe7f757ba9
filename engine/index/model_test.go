package index

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"commitlab/engine/message"

	"pgregory.net/rapid"
)

// A model is a log of records and what the disk is known to have, beside a set
// that went through the same. Goal: whatever happens, after adding the records
// again from the end that the set tells, its candidates of any hash are exactly
// the records with such a key, newest first.
type model struct {
	t       *rapid.T
	bed     *bed
	layout  Layout
	set     *Set
	records []*Record // the log, from its first record on
	next    int64     // physical offset of the next record
	clock   int64
	minimum int64 // first physical offset of the log
	durable int64 // what the checkpoint says
}

// keys are few, so that chains are long; two pairs share a hash.
var modelKeys = []string{"a", "b", "c", "Aa", "BB", "AaBB", "BBAa", "d", "e"}

func TestModel(t *testing.T) {
	// Every check makes many files; -rapid.checks asks for more.
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		if err := flag.Set(f.Name, "20"); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		b := newBed(t)
		m := &model{t: rt, bed: b, clock: 1_700_000_000_000, layout: Layout{
			Slots: rapid.IntRange(1, 9).Draw(rt, "slots"),
			Items: rapid.SampledFrom([]int{3, 7, 40, 90}).Draw(rt, "items"),
		}}
		m.open(false)
		defer func() { abandon(m.set) }()
		rt.Repeat(map[string]func(*rapid.T){
			"add": m.add, "": m.check, "sync": m.sync, "reopen": m.reopen,
			"power cut": m.powerCut, "truncate": m.truncate, "delete": m.delete,
		})
		if err := m.set.Close(); err != nil {
			rt.Fatal(err)
		}
	})
}

func (m *model) open(unclean bool) {
	o := m.bed.options(m.layout)
	o.Unclean, o.DurableMs = unclean, m.durable
	s, err := Open(m.bed.dir, o)
	if err != nil {
		m.t.Fatal(err)
	}
	m.set = s
}

func (m *model) add(t *rapid.T) {
	for range rapid.IntRange(1, 30).Draw(t, "records") {
		m.clock += rapid.SampledFrom([]int64{0, 1, 400, 1700, 90_000, -5000}).Draw(t, "passes")
		r := record(m.next, m.clock, rapid.SliceOfN(rapid.SampledFrom(modelKeys), 0, 4).Draw(t, "keys")...)
		m.next += rapid.Int64Range(1, 1000).Draw(t, "bytes")
		m.records = append(m.records, r)
		if err := m.set.Add(r); err != nil {
			t.Fatal(err)
		}
	}
}

// sync is one round of the background service and of the checkpoint.
func (m *model) sync(t *rapid.T) {
	if _, err := m.set.Step(m.bed.now); err != nil {
		t.Fatal(err)
	}
	m.durable = m.set.DurableMs()
}

func (m *model) reopen(t *rapid.T) {
	if err := m.set.Close(); err != nil {
		t.Fatal(err)
	}
	m.durable = m.set.DurableMs()
	m.open(false)
}

// powerCut loses what was not synced, of the set and of the end of the log.
func (m *model) powerCut(t *rapid.T) {
	seed := rapid.Uint64().Draw(t, "seed")
	after := fmt.Sprint(m.bed.dir, "-")
	if err := m.bed.heap.CrashClone(m.bed.dir, after, rand.New(rand.NewPCG(seed, seed))); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(after, 0o755); err != nil {
		t.Fatal(err)
	}
	m.bed.dir = after
	m.open(true)
	if err := m.bed.heap.SyncDir(after); err != nil { // the heap does not know the names that survived
		t.Fatal(err)
	}
	m.shorten(t)
}

func (m *model) truncate(t *rapid.T) {
	if err := m.set.Close(); err != nil {
		t.Fatal(err)
	}
	m.open(false)
	m.shorten(t)
}

// shorten takes some records off the end of the log, as recovery of the log
// does, and adds the rest again.
func (m *model) shorten(t *rapid.T) {
	if lost := rapid.IntRange(0, min(len(m.records), 10)).Draw(t, "lost records"); lost > 0 {
		m.records = m.records[:len(m.records)-lost]
		m.next = m.minimum
		if n := len(m.records); n > 0 {
			m.next = m.records[n-1].Physical + 1
		}
	}
	if err := m.set.Truncate(m.next); err != nil {
		t.Fatal(err)
	}
	m.durable = m.set.DurableMs()
	from := m.set.EndPhysical()
	if from >= m.next {
		t.Fatalf("end %d is not below the end of the log, %d", from, m.next)
	}
	for _, r := range m.records {
		if r.Physical >= from {
			if err := m.set.Add(r); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (m *model) delete(t *rapid.T) {
	n := rapid.IntRange(0, len(m.records)).Draw(t, "deleted records")
	m.records = m.records[n:]
	m.minimum = m.next
	if len(m.records) > 0 {
		m.minimum = m.records[0].Physical
	}
	if _, err := m.set.DeleteBefore(m.minimum, m.bed.now, time.Minute); err != nil {
		t.Fatal(err)
	}
	m.durable = m.set.DurableMs()
}

func (m *model) check(t *rapid.T) {
	for _, f := range m.set.Files() {
		if err := f.layout.Audit(f.b); err != nil {
			t.Fatalf("%s: %v", f.Path(), err)
		}
	}
	if !slices.IsSortedFunc(m.set.Files(), func(a, b *File) int { return int(a.Header().BeginPhysical - b.Header().BeginPhysical) }) {
		t.Fatal("files are out of order")
	}
	for _, key := range modelKeys {
		hash := message.KeyHash("T", key)
		var want []int64
		for _, r := range slices.Backward(m.records) {
			if hasHash(r, hash) {
				want = append(want, r.Physical)
			}
		}
		var got []int64
		for c := m.set.Search(hash, 0, forever); c.Next(); {
			if c.Physical() < m.minimum {
				c.Release()
				break // of a file that also has later records
			}
			got = append(got, c.Physical())
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s: candidates %v, want %v", key, got, want)
		}
	}
	for _, r := range m.records {
		key, _ := nextKey(r.Keys)
		if key == nil {
			continue
		}
		found := false
		for c := m.set.Search(message.KeyHash(r.Topic, key), r.StoreMs, r.StoreMs); c.Next(); {
			found = found || c.Physical() == r.Physical
		}
		if !found {
			t.Fatalf("record at %d is not found by %s at its time, %d", r.Physical, key, r.StoreMs)
		}
	}
}

func hasHash(r *Record, hash int32) bool {
	for key, rest := nextKey(r.Keys); key != nil; key, rest = nextKey(rest) {
		if message.KeyHash(r.Topic, key) == hash {
			return true
		}
	}
	return false
}
