package index

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"commitlab/engine/message"
)

// The golden stores were written by RocketMQ itself, which also said what its
// index answers. Goal: we read its files, answer at least what it answered, and
// make the same files from the same records.

// goldenLayout is that of all golden stores.
var goldenLayout = Layout{Slots: 100, Items: 400}

type golden struct {
	index  map[string][]byte
	log    []goldenFile
	expect []goldenLine
}

type goldenFile struct {
	offset int64
	bytes  []byte
}

type goldenLine struct {
	Type string `json:"type"`

	Checkpoint   [3]int64 `json:"checkpoint"` // of meta, as the next two
	MaxPhyOffset int64    `json:"maxPhyOffset"`
	AbortPresent bool     `json:"abortPresent"`

	Name           string `json:"name"` // of index, as the next six
	BeginTimestamp int64  `json:"beginTimestamp"`
	EndTimestamp   int64  `json:"endTimestamp"`
	BeginPhyOffset int64  `json:"beginPhyOffset"`
	EndPhyOffset   int64  `json:"endPhyOffset"`
	HashSlotCount  int32  `json:"hashSlotCount"`
	IndexCount     int32  `json:"indexCount"`

	Topic        string  `json:"topic"` // of query, as the next five
	Key          string  `json:"key"`
	Max          int     `json:"max"`
	Begin        int64   `json:"begin"`
	End          int64   `json:"end"`
	IndexOffsets []int64 `json:"indexOffsets"`
}

func loadGolden(t testing.TB, name string) golden {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "testdata", "rocketmq-4.x", name+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	g := golden{index: map[string][]byte{}}
	for archive := tar.NewReader(zipped); ; {
		h, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		switch dir, base := path.Split(h.Name); {
		case base == "expect.jsonl":
			for d := json.NewDecoder(bytes.NewReader(content)); d.More(); {
				var line goldenLine
				if err := d.Decode(&line); err != nil {
					var other *json.UnmarshalTypeError // a line of another type, with a field of the same name
					if !errors.As(err, &other) {
						t.Fatal(err)
					}
				}
				g.expect = append(g.expect, line)
			}
		case strings.HasSuffix(dir, "/index/") && base != "":
			g.index[base] = content
		case strings.HasSuffix(dir, "/commitlog/") && base != "":
			offset, err := strconv.ParseInt(base, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			g.log = append(g.log, goldenFile{offset, content})
		}
	}
	slices.SortFunc(g.log, func(a, b goldenFile) int { return cmp.Compare(a.offset, b.offset) })
	return g
}

func (g *golden) lines(kind string) (all []goldenLine) {
	for _, l := range g.expect {
		if l.Type == kind {
			all = append(all, l)
		}
	}
	return all
}

// unpack writes the index files into the bed.
func (g *golden) unpack(b *bed) {
	b.t.Helper()
	for name, content := range g.index {
		if err := os.WriteFile(filepath.Join(b.dir, name), content, 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
}

// addFrom adds the records of the log from an offset on.
func (g *golden) addFrom(t testing.TB, s *Set, from int64) {
	t.Helper()
	for _, f := range g.log {
		for at := 0; ; {
			rest := f.bytes[at:]
			size, kind, err := message.Check(rest, message.CheckOptions{BlankSize: int64(len(rest))})
			if err != nil {
				return // end of the log
			}
			if kind == message.KindBlank {
				break
			}
			if f.offset+int64(at) >= from {
				addDecoded(t, s, rest[:size])
			}
			at += size
		}
	}
}

func addDecoded(t testing.TB, s *Set, b []byte) {
	t.Helper()
	r, err := message.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	unique, _ := r.Properties.Get(message.PropertyUniqueKey)
	keys, _ := r.Properties.Get(message.PropertyKeys)
	if err := s.Add(&Record{Topic: r.Topic, UniqueKey: unique, Keys: keys, SysFlag: r.SysFlag, Physical: r.PhysicalOffset, StoreMs: r.StoreTimestamp}); err != nil {
		t.Fatal(err)
	}
}

// compareQueries asks all golden queries: our candidates contain its offsets,
// and are the same where the original leaves nothing out.
func (g *golden) compareQueries(t *testing.T, s *Set) {
	t.Helper()
	queries := g.lines("query")
	if len(queries) < 1000 {
		t.Fatalf("only %d queries", len(queries))
	}
	for _, q := range queries {
		got := search(t, s, message.KeyHash(q.Topic, q.Key), q.Begin, q.End)
		for _, want := range q.IndexOffsets {
			if !slices.Contains(got, want) {
				t.Errorf("%s#%s in [%d, %d]: candidates %v lack %d", q.Topic, q.Key, q.Begin, q.End, got, want)
			}
		}
		whole := q.Begin == 0 && q.End == forever && len(q.IndexOffsets) < min(q.Max, 64)
		if want := slices.Compact(slices.Clone(q.IndexOffsets)); whole && !slices.Equal(got, want) {
			t.Errorf("%s#%s: candidates %v, the original's %v", q.Topic, q.Key, got, want)
		}
	}
}

func TestGoldenFilesAreReadAsTheOriginalReadsThem(t *testing.T) {
	for _, name := range []string{"clean", "clean-damaged-tail", "v4.9.4-clean"} {
		t.Run(name, func(t *testing.T) {
			g := loadGolden(t, name)
			b := newRealBed(t)
			g.unpack(b)
			s := b.open(goldenLayout)
			want := g.lines("index")
			if len(s.Files()) != len(want) || len(want) == 0 {
				t.Fatalf("%d files, want %d", len(s.Files()), len(want))
			}
			for i, f := range s.Files() {
				w := want[i]
				h := Header{BeginMs: w.BeginTimestamp, EndMs: w.EndTimestamp, BeginPhysical: w.BeginPhyOffset, EndPhysical: w.EndPhyOffset, UsedSlots: w.HashSlotCount, Count: w.IndexCount}
				if f.Name() != w.Name || f.Header() != h {
					t.Errorf("file %s %+v, want %s %+v", f.Name(), f.Header(), w.Name, h)
				}
			}
			audit(t, s)
			g.compareQueries(t, s)
			closeSet(t, s)
			for name, before := range g.index {
				after, err := os.ReadFile(filepath.Join(b.dir, name))
				if err != nil || !bytes.Equal(before, after) {
					t.Errorf("file %s changed by opening and closing (%v)", name, err)
				}
			}
		})
	}
}

// The original drops the unfinished file after a kill; we keep what is sound of
// it. The log of this store ends early, at a damaged record.
func TestGoldenStoreIsRepairedAfterAKill(t *testing.T) {
	g := loadGolden(t, "v4.9.4-killed-damaged-middle")
	meta := g.lines("meta")[0]
	if !meta.AbortPresent {
		t.Fatal("the store was not killed")
	}
	b := newRealBed(t)
	g.unpack(b)
	s := b.openUnclean(goldenLayout, meta.Checkpoint[2])
	if err := s.Truncate(meta.MaxPhyOffset); err != nil {
		t.Fatal(err)
	}
	if end := s.EndPhysical(); end >= meta.MaxPhyOffset || end < 500_000 {
		t.Fatalf("end is %d, want it in the last file, before %d", end, meta.MaxPhyOffset)
	}
	g.addFrom(t, s, s.EndPhysical())
	if w := g.lines("index"); s.EndPhysical() != w[len(w)-1].EndPhyOffset {
		t.Errorf("end is %d, want %d", s.EndPhysical(), w[len(w)-1].EndPhyOffset)
	}
	g.compareQueries(t, s)
}

// From the records of the log come the same bytes, but for the names and these:
// 4.3.2 counts every item as a used slot, and the first item after a roll has
// its seconds from the end of the file before in the original.
func TestGoldenFilesAreRebuiltByteForByte(t *testing.T) {
	for _, name := range []string{"clean", "v4.9.4-clean"} {
		t.Run(name, func(t *testing.T) {
			g := loadGolden(t, name)
			b := newRealBed(t)
			s := b.open(goldenLayout)
			g.addFrom(t, s, 0)
			want := g.lines("index")
			if len(s.Files()) != len(want) {
				t.Fatalf("%d files, want %d", len(s.Files()), len(want))
			}
			for i, f := range s.Files() {
				original := bytes.Clone(g.index[want[i].Name])
				h := DecodeHeader(original)
				if name == "clean" {
					if h.UsedSlots != h.Count-1 {
						t.Errorf("%s: used slots %d, expected every item counted", want[i].Name, h.UsedSlots)
					}
					h.UsedSlots = f.Header().UsedSlots
					encodeHeader(original, h)
				}
				if i > 0 {
					at := goldenLayout.itemAt(1)
					first := decodeItem(original[at:])
					if late := secondsBetween(want[i-1].EndTimestamp, h.BeginMs); first.Seconds != late {
						t.Errorf("%s: first item at %d s, expected %d", want[i].Name, first.Seconds, late)
					}
					first.Seconds = 0
					encodeItem(original[at:], first)
				}
				if !bytes.Equal(original, f.b) {
					t.Errorf("file %d differs from %s, first at byte %d", i, want[i].Name, firstDifference(original, f.b))
				}
			}
		})
	}
}

func firstDifference(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}
