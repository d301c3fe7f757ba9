package audit_test

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"commitlab/engine"
	"commitlab/engine/audit"
	"commitlab/engine/index"
	"commitlab/engine/message"
)

// The audit is tested with stores that are known to be right, which must be clean,
// and with single faults planted in them, each of which must be named at its place.
// Neither may change a byte or a name of the directory.

// golden unpacks a store that RocketMQ wrote.
func golden(t *testing.T, name string) string {
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
	root, store := t.TempDir(), ""
	for archive := tar.NewReader(zipped); ; {
		h, err := archive.Next()
		if err == io.EOF {
			return store
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, filepath.FromSlash(h.Name))
		if h.FileInfo().IsDir() {
			continue
		}
		b, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if filepath.Base(path) == "expect.jsonl" {
			store = filepath.Join(filepath.Dir(path), "store")
		}
	}
}

// written is a closed store of this engine: 300 messages in 3 queues, with keys,
// over several files of the log.
func written(t *testing.T) string { return write(t, 300, index.Layout{Slots: 101, Items: 250}) }

func write(t *testing.T, messages int, layout index.Layout) string {
	t.Helper()
	dir := t.TempDir()
	s, err := engine.Open(dir, engine.Options{
		Dispatch: engine.On, CommitLogFileBytes: 16 << 10, ConsumeQueueFileBytes: 2000, IndexSlots: layout.Slots, IndexItems: layout.Items,
		AppendCRC: engine.On, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range messages {
		p, err := message.Properties(nil).Append(message.PropertyKeys, fmt.Sprintf("key%d all", i))
		if err != nil {
			t.Fatal(err)
		}
		m := message.Message{Topic: "topic", QueueID: int32(i % 3), Body: fmt.Appendf(nil, "body %d", i), Properties: p}
		if _, err := s.Put(&m); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func verify(t *testing.T, dir string) *audit.Report {
	t.Helper()
	before := content(t, dir)
	r, err := audit.Verify(t.Context(), dir, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if after := content(t, dir); after != before {
		t.Error("the audit changed the store")
	}
	return r
}

// content is names and bytes of all files of a directory.
func content(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		fmt.Fprintf(&all, "%s %d\n%s\n", path, len(b), b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func TestRightStoresAreClean(t *testing.T) {
	stores := map[string]string{"written by this engine": written(t)}
	for _, name := range []string{"clean", "expired", "v4.9.4-clean", "v4.9.4-expired"} {
		stores[name] = golden(t, name)
	}
	for name, dir := range stores {
		t.Run(name, func(t *testing.T) {
			r := verify(t, dir)
			for _, f := range r.Faults {
				t.Error(f)
			}
			t.Logf("%+v %+v %+v %q", r.CommitLog, r.Queues, r.Index, r.Notes)
			if r.CommitLog.Records == 0 || r.Queues.Live == 0 || r.Index.Live == 0 || r.Index.Live != r.Index.Keys {
				t.Errorf("log %+v, queues %+v, index %+v: something was not looked at", r.CommitLog, r.Queues, r.Index)
			}
		})
	}
}

func TestDamagedGoldenStoresNameFileAndOffset(t *testing.T) {
	for name, want := range map[string]string{
		"clean-damaged-tail":           "body crc",
		"v4.9.4-killed-damaged-middle": "body crc",
	} {
		t.Run(name, func(t *testing.T) {
			r := verify(t, golden(t, name))
			for _, f := range r.Faults {
				t.Log(f)
			}
			if r.FaultCount == 0 || !strings.Contains(r.Faults[0].What, want) || r.Faults[0].Part != audit.CommitLog {
				t.Fatalf("got %d faults %v, want %s", r.FaultCount, r.Faults, want)
			}
		})
	}
}

// All three layouts make files of one size, and a file with few items has zeros in
// most places, which agree with much.
func TestIndexLayoutIsFoundOut(t *testing.T) {
	for _, layout := range []index.Layout{{Slots: 100, Items: 400}, {Slots: 105, Items: 399}, {Slots: 5, Items: 419}} {
		for _, messages := range []int{1, 2, 50} {
			r := verify(t, write(t, messages, layout))
			if got := (index.Layout{Slots: r.Index.FileSlots, Items: r.Index.FileItems}); got != layout || !r.Clean() {
				t.Errorf("%d messages: got %+v, want %+v; faults %v", messages, got, layout, r.Faults)
			}
		}
	}
}
