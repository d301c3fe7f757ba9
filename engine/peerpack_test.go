package engine_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"commitlab/bench/answers"
	"commitlab/bench/plan"
	"commitlab/engine"
	"commitlab/engine/audit"
	"commitlab/engine/message"
	"commitlab/engine/storedir"
)

// A peerPack is a store that the published RocketMQ wrote, with what it was told and
// what it answered; see testdata/rocketmq-peer.
type peerPack struct {
	dir              string // of the store
	release          plan.Release
	plan             *plan.Plan
	results, answers []byte
}

func unpackPeer(t *testing.T, name string) *peerPack {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "rocketmq-peer", name+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for archive := tar.NewReader(zipped); ; {
		h, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, filepath.FromSlash(h.Name))
		if h.FileInfo().IsDir() {
			err = os.MkdirAll(path, 0o755)
		} else {
			var b []byte
			if b, err = io.ReadAll(archive); err == nil {
				err = os.WriteFile(path, b, 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	p := &peerPack{dir: filepath.Join(root, name, "store"), release: plan.Release(name[:2])}
	read := func(file string) []byte {
		b, err := os.ReadFile(filepath.Join(root, name, file))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	p.results, p.answers = read("results"), read("answers")
	if p.plan, err = plan.Read(bytes.NewReader(read("plan"))); err != nil {
		t.Fatal(err)
	}
	return p
}

// open opens the store. Its delayed messages count as delivered: they were due two
// hours after the pack was made.
func (p *peerPack) open(t *testing.T) *engine.Store {
	t.Helper()
	delivered := storedir.DelayOffsets{}
	for line := range bytes.Lines(p.answers) {
		var q struct {
			Kind, Topic string
			QueueID     int
			Max         int64
		}
		if err := json.Unmarshal(line, &q); err != nil {
			t.Fatal(err)
		}
		if q.Kind == "queue" && q.Topic == message.ScheduleTopic {
			delivered[q.QueueID+1] = q.Max
		}
	}
	if err := storedir.Layout(p.dir).SaveDelayOffsets(delivered, 1, 1); err != nil {
		t.Fatal(err)
	}
	s, err := engine.Open(p.dir, p.plan.Head.Options(engine.Options{
		TransientBufferBytes: 1 << 20, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// Goal: what RocketMQ wrote is read here as RocketMQ reads it, after an orderly end
// and after a kill, and a store that was gone on with is in order.
func TestPeerPacks(t *testing.T) {
	for _, name := range []string{"v4.9.8-clean", "v4.9.8-killed", "v5.5.1-clean", "v5.5.1-killed"} {
		t.Run(name, func(t *testing.T) {
			p := unpackPeer(t, name)
			if _, err := storedir.Layout(p.dir).LoadDelayOffsets(); err != nil {
				t.Errorf("progress of delayed messages, as RocketMQ wrote it: %v", err)
			}
			s := p.open(t)
			got := p.check(t, s)
			if n, err := answers.Holds(p.plan, bytes.NewReader(p.results), strings.NewReader(got)); err != nil || n < p.plan.Head.Operations {
				t.Errorf("%d of the messages that RocketMQ acknowledged are there: %v", n, err)
			}
			more := plan.Generate(plan.Spec{Seed: 8, Operations: 50})
			if err := more.Apply(context.Background(), s, p.release, func(plan.Result) error { return nil }); err != nil {
				t.Errorf("goes on: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			report, err := audit.Verify(context.Background(), p.dir, audit.Options{})
			if err != nil || !report.Clean() {
				t.Errorf("audit: %+v, %v", report, err)
			}
		})
	}
}

// check holds what the store answers against what RocketMQ did.
func (p *peerPack) check(t *testing.T, s *engine.Store) (got string) {
	t.Helper()
	var text strings.Builder
	if err := answers.Write(context.Background(), s, p.release, &text); err != nil {
		t.Fatal(err)
	}
	c, err := answers.Compare(bytes.NewReader(p.answers), strings.NewReader(text.String()), p.release)
	if err != nil {
		t.Fatal(err)
	}
	if c.First != nil {
		t.Error(c.First.String("RocketMQ", "here"))
	}
	if want := bytes.Count(p.answers, []byte("\n")); c.First == nil && c.Lines != want {
		t.Errorf("%d lines are the same, want all %d", c.Lines, want)
	}
	return text.String()
}
