package bytewise

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"commitlab/bench/plan"
	"commitlab/engine"
)

// made makes a store from a plan and closes it.
func made(t *testing.T, p *plan.Plan) (dir string) {
	t.Helper()
	dir = t.TempDir()
	o := p.Head.Options(engine.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), TransientBufferBytes: 1 << 20})
	s, err := engine.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	err = p.Apply(context.Background(), s, plan.V5, func(plan.Result) error { return nil })
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestStoresOfOnePlanAreIdentical(t *testing.T) {
	p := plan.Generate(plan.Spec{Seed: 9, Operations: 300})
	r, err := Compare(made(t, p), made(t, p))
	if err != nil {
		t.Fatal(err)
	}
	if r.Records < 300 || r.Blanks < 2 || r.Queues < 6 || r.Units < 200 || r.DelayedTagsCodes == 0 {
		t.Errorf("%+v: want all of the plan, and delayed messages", r)
	}
	if r.DelayedProperties+r.Sizes+r.PhysicalOffsets+r.BlankPlaces > 0 {
		t.Errorf("%+v: want nothing but clocks to differ", r)
	}
	if text := r.String(); !strings.Contains(text, "store timestamp") || strings.Contains(text, "place of a blank") {
		t.Errorf("got %q, want what differs and nothing else", text)
	}
}

// One byte that is not as it was is found, wherever it is.
func TestOneByteIsFound(t *testing.T) {
	p := plan.Generate(plan.Spec{Seed: 9, Operations: 300, NoDelayed: true})
	whole := made(t, p)
	d, err := read(whole)
	if err != nil {
		t.Fatal(err)
	}
	third := &d.records[2]
	for name, c := range map[string]struct {
		file string
		at   int64
	}{
		"body CRC":     {"commitlog/00000000000000000000", third.offset + 11},
		"queue offset": {"commitlog/00000000000000000000", third.offset + 27},
		"born time":    {"commitlog/00000000000000000000", third.offset + 47},
		"properties":   {"commitlog/00000000000000000000", third.offset + int64(third.Size) - 1},
		"blank filler": {"commitlog/00000000000000000000", 64<<10 - 1},
		"tags code":    {"consumequeue/AaTopic/0/00000000000000000000", 19},
		"offset":       {"consumequeue/AaTopic/0/00000000000000000000", 20 + 6},
		"unit size":    {"consumequeue/AaTopic/0/00000000000000000000", 20 + 11},
	} {
		other := made(t, p)
		path := filepath.Join(other, filepath.FromSlash(c.file))
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[c.at] ^= 1
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Compare(whole, other); !errors.Is(err, ErrDiffers) {
			t.Errorf("%s: %v, want ErrDiffers", name, err)
		}
	}
}
