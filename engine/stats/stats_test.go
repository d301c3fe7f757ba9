package stats

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestOptionalWarnsOnceAndKeepsTheFirstFailure(t *testing.T) {
	var log bytes.Buffer
	o := NewOptional(slog.New(slog.NewTextHandler(&log, nil)))
	if !o.Record("populate", nil, "") {
		t.Fatal("success reported as failure")
	}
	for range 3 {
		if o.Record("lock", errors.New("cannot allocate memory (RLIMIT_MEMLOCK 65536)"), "pages stay unlocked") {
			t.Fatal("failure reported as success")
		}
	}
	o.Record("lock", nil, "")
	if got := o.Outcomes(); got["populate"] != "ok" || !strings.Contains(got["lock"], "RLIMIT_MEMLOCK 65536") {
		t.Fatalf("outcomes: %v", got)
	}
	if got := o.Failures(); got["lock"] != 3 || len(got) != 1 {
		t.Fatalf("failures: %v", got)
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 {
		t.Fatalf("warnings: got %d, want 1:\n%s", n, log.String())
	}
}

func TestMaxKeepsTheLargest(t *testing.T) {
	var m Max
	for _, n := range []int64{3, 9, 4} {
		m.Raise(n)
	}
	if m.Load() != 9 {
		t.Fatalf("got %d, want 9", m.Load())
	}
}
