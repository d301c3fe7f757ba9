package fsutil

import (
	"errors"
	"math"
	"runtime"
	"testing"
)

// B-96: the usage ratio differed from df's because of reserved blocks, and a file
// system without size gave 0 or NaN.
func TestB96_RatioCountsReservedBlocksAsNeither(t *testing.T) {
	for _, c := range []struct {
		usage DiskUsage
		want  float64
	}{
		{DiskUsage{Total: 1000, Free: 150, Available: 100}, 0.90}, // not 0.85
		{DiskUsage{Total: 1000, Free: 1000, Available: 950}, 0},
		{DiskUsage{Total: 1000, Free: 50, Available: 0}, 1},
		{DiskUsage{Total: 1000, Free: 0, Available: 0}, 1},
		{DiskUsage{Total: 1000, Free: 999, Available: 999}, 0.01}, // rounded up
		{DiskUsage{Total: 1000, Free: 250, Available: 250}, 0.75}, // exact
		{DiskUsage{Total: math.MaxUint64, Free: math.MaxUint64 / 2, Available: math.MaxUint64 / 2}, 0.51},
	} {
		if got, err := c.usage.Ratio(); err != nil || got != c.want {
			t.Errorf("%+v: got %v, %v, want %v", c.usage, got, err, c.want)
		}
	}
	for _, none := range []DiskUsage{{}, {Total: 1000, Free: 1000, Available: 0}} {
		if got, err := none.Ratio(); !errors.Is(err, ErrNoSize) {
			t.Errorf("%+v: got %v, %v, want ErrNoSize", none, got, err)
		}
	}
	for _, impossible := range []DiskUsage{{Total: 10, Free: 11}, {Total: 10, Free: 5, Available: 6}} {
		if got, err := impossible.Ratio(); err == nil {
			t.Errorf("%+v: got %v, want an error", impossible, got)
		}
	}
}

func TestUsageOfARealFileSystem(t *testing.T) {
	usage, err := Usage(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ratio, err := usage.Ratio()
	if err != nil || ratio <= 0 || ratio > 1 {
		t.Errorf("%+v has ratio %v, %v", usage, ratio, err)
	}
	if _, err := Usage(t.TempDir() + "/missing"); err == nil {
		t.Error("no error for a missing path")
	}
}

func TestProcHasNoSize(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	usage, err := Usage("/proc")
	if err != nil {
		t.Skipf("no /proc: %v", err)
	}
	if ratio, err := usage.Ratio(); !errors.Is(err, ErrNoSize) {
		t.Errorf("got %v, %v, want ErrNoSize", ratio, err)
	}
	if name, err := FileSystem("/proc"); err != nil || name != "proc" {
		t.Errorf("file system of /proc: %q, %v", name, err)
	}
}

func TestMapCountLimit(t *testing.T) {
	limit, err := MapCountLimit()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("not here: %v", err)
	}
	if err != nil || limit < 1000 {
		t.Errorf("got %d, %v", limit, err)
	}
}
