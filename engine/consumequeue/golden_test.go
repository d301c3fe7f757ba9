package consumequeue

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The golden stores were written by RocketMQ itself, which also said what is in
// them. Goal: the queue directories open to the same bounds and the same units,
// byte for byte, and are written again the same.

// goldenLine is a line of expect.jsonl.
type goldenLine struct {
	Type        string          `json:"type"`
	Topic       string          `json:"topic"`
	QueueID     int32           `json:"queueId"`
	Min         int64           `json:"min"`
	Max         int64           `json:"max"`
	LastOffset  json.RawMessage `json:"lastOffset"`
	At          int64           `json:"at"`
	PhysOffset  int64           `json:"physOffset"`
	Size        int32           `json:"size"`
	TagsCode    int64           `json:"tagsCode"`
	StoreTime   int64           `json:"storeTimestamp"`
	MinPhysical int64           `json:"minPhyOffset"`
	MaxPhysical int64           `json:"maxPhyOffset"`
	Timestamp   int64           `json:"timestamp"`
	Offset      int64           `json:"offset"`
	AbortMark   bool            `json:"abortPresent"`
}

// goldenUnits is the units to a file in the golden stores.
const goldenUnits = 100

// unpackGolden unpacks the queues of an archive and returns their root and what
// the Java store said.
func unpackGolden(t *testing.T, name string) (root string, expect []goldenLine) {
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
	root = filepath.Join(t.TempDir(), "consumequeue")
	for archive := tar.NewReader(zipped); ; {
		h, err := archive.Next()
		if err == io.EOF {
			return root, expect
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		_, below, isQueue := strings.Cut(h.Name, "/store/consumequeue/")
		switch {
		case strings.HasSuffix(h.Name, "expect.jsonl"):
			for d := json.NewDecoder(bytes.NewReader(content)); d.More(); {
				var line goldenLine
				if err := d.Decode(&line); err != nil {
					t.Fatal(err)
				}
				expect = append(expect, line)
			}
		case isQueue && h.Typeflag == tar.TypeReg:
			path := filepath.Join(root, filepath.FromSlash(below))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

var goldenStores = []string{
	"clean", "clean-damaged-tail", "expired", "v4.9.4-clean", "v4.9.4-expired", "v4.9.4-killed-damaged-middle",
}

func TestGoldenQueuesReadAsTheJavaStoreReadsThem(t *testing.T) {
	for _, name := range goldenStores {
		t.Run(name, func(t *testing.T) {
			root, expect := unpackGolden(t, name)
			meta := expect[0]
			if meta.Type != "meta" {
				t.Fatalf("first line is %s", meta.Type)
			}
			o, _ := onHeap(goldenUnits)
			o.Clean = !meta.AbortMark
			table := openTable(t, root, o)
			if err := table.TruncateTo(meta.MaxPhysical); err != nil {
				t.Fatal(err)
			}
			for _, e := range table.All() {
				corrected(t, e.Queue, meta.MinPhysical)
			}
			units := compareGolden(t, table, expect, meta)
			if units < 300 {
				t.Errorf("only %d units", units)
			}
		})
	}
}

// compareGolden compares a recovered table with what the Java store said after
// recovery, and returns how many units that were. A killed store dispatched the
// rest of its log when it was opened, and the table did not: there the units of
// the table are a prefix.
func compareGolden(t *testing.T, table *Table, expect []goldenLine, meta goldenLine) (units int) {
	for _, want := range expect {
		q := table.Get(want.Topic, want.QueueID)
		name := fmt.Sprintf("%s/%d", want.Topic, want.QueueID)
		switch want.Type {
		case "queue":
			if q == nil {
				if want.Max > 0 && !meta.AbortMark {
					t.Errorf("queue %s is missing", name)
				}
				continue
			}
			_, u, found := q.LastUnit()
			if q.Max() != want.Max && !(meta.AbortMark && q.Max() < want.Max) {
				t.Errorf("queue %s: max %d, expected %d", name, q.Max(), want.Max)
			}
			// Java 4.x leaves the minimum where it is if all records are gone.
			if found && u.PhysicalOffset < meta.MinPhysical {
				if q.Min() != q.Max() {
					t.Errorf("queue %s expired, but min is %d, max %d", name, q.Min(), q.Max())
				}
			} else if q.Min() != want.Min {
				t.Errorf("queue %s: min %d, expected %d", name, q.Min(), want.Min)
			}
		case "message", "unit":
			if q == nil || want.At >= q.Max() && meta.AbortMark {
				continue
			}
			got, err := q.at(want.At)
			if err != nil || got != (Unit{PhysicalOffset: want.PhysOffset, Size: want.Size, TagsCode: want.TagsCode}) {
				t.Errorf("queue %s at %d: %+v (%v), expected %+v", name, want.At, got, err, want)
			}
			units++
		}
	}
	return units
}

// Java's own last offset runs on into stale units after a cut, and throws if the
// last file is full; in stores that were not cut it is the end of the last unit.
func TestGoldenQueuesEndWhereTheJavaStoreSays(t *testing.T) {
	for _, name := range []string{"clean", "v4.9.4-clean", "expired", "v4.9.4-expired"} {
		t.Run(name, func(t *testing.T) {
			root, expect := unpackGolden(t, name)
			o, _ := onHeap(goldenUnits)
			table := openTable(t, root, o)
			compared := 0
			for _, want := range expect {
				q := table.Get(want.Topic, want.QueueID)
				if want.Type != "queue" || want.Max%goldenUnits == 0 {
					continue
				}
				compared++
				if fmt.Sprint(q.MaxPhysical()) != string(want.LastOffset) {
					t.Errorf("queue %s/%d: last record ends at %d, expected %s", want.Topic, want.QueueID, q.MaxPhysical(), want.LastOffset)
				}
			}
			if compared < 5 {
				t.Errorf("only %d queues compared", compared)
			}
		})
	}
}

// Units put again make the same files.
func TestGoldenQueuesAreWrittenTheSame(t *testing.T) {
	for _, name := range []string{"clean", "v4.9.4-clean"} {
		t.Run(name, func(t *testing.T) {
			root, expect := unpackGolden(t, name)
			o, _ := onHeap(goldenUnits)
			again := filepath.Join(t.TempDir(), "again")
			table := openTable(t, again, o)
			for _, want := range expect {
				if want.Type != "message" {
					continue
				}
				q := create(t, table, want.Topic, want.QueueID)
				if err := q.Put(want.At, Unit{PhysicalOffset: want.PhysOffset, Size: want.Size, TagsCode: want.TagsCode}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := table.Sync(0); err != nil {
				t.Fatal(err)
			}
			files := 0
			err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				theirs, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				rel, err := filepath.Rel(root, path)
				if err != nil {
					return err
				}
				ours, err := os.ReadFile(filepath.Join(again, rel))
				if errors.Is(err, fs.ErrNotExist) && len(bytes.Trim(theirs, "\x00")) == 0 {
					return nil // made ahead, with nothing in it
				}
				if err == nil && !bytes.Equal(ours, theirs) {
					t.Errorf("%s differs", rel)
				}
				files++
				return err
			})
			if err != nil || files < 10 {
				t.Errorf("%d files compared (%v)", files, err)
			}
		})
	}
}

// Java 4.x answers with any of several equal times, and with the nearer neighbour
// if no time is equal. Where one is, its answer lies between our two.
func TestGoldenSearchByTimeAgreesWhereTheJavaStoreIsExact(t *testing.T) {
	for _, name := range []string{"clean", "v4.9.4-clean", "expired", "v4.9.4-expired"} {
		t.Run(name, func(t *testing.T) {
			root, expect := unpackGolden(t, name)
			o, _ := onHeap(goldenUnits)
			table := openTable(t, root, o)
			for _, e := range table.All() {
				corrected(t, e.Queue, expect[0].MinPhysical)
			}
			log := storeTimes{}
			for _, line := range expect {
				if line.Type == "message" {
					log[line.PhysOffset] = line.StoreTime
				}
			}
			exact := 0
			for _, want := range expect {
				q := table.Get(want.Topic, want.QueueID)
				if want.Type != "byTime" || q == nil {
					continue
				}
				lower, upper := searched(t, q, want.Timestamp, Lower, log.of), searched(t, q, want.Timestamp, Upper, log.of)
				if lower < q.Min() || lower > q.Max() || upper < q.Min() || upper > q.Max() {
					t.Errorf("%s/%d at %d: %d and %d, queue is [%d, %d)", want.Topic, want.QueueID, want.Timestamp, lower, upper, q.Min(), q.Max())
				}
				if u, ok := q.Read(lower); !ok || log[u.PhysicalOffset] != want.Timestamp {
					continue
				}
				if want.Offset > upper && want.Offset%goldenUnits == 0 {
					continue // Java went by the file's time of modification, and took a later file
				}
				exact++
				if want.Offset < lower || want.Offset > upper {
					t.Errorf("%s/%d at %d: Java %d, ours %d to %d", want.Topic, want.QueueID, want.Timestamp, want.Offset, lower, upper)
				}
			}
			if exact < 10 {
				t.Errorf("only %d exact times", exact)
			}
		})
	}
}
