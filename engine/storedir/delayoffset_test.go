package storedir

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

func TestDelayOffsetsSurviveSaveAndLoad(t *testing.T) {
	l := Layout(t.TempDir())
	if got, err := l.LoadDelayOffsets(); err != nil || len(got) != 0 {
		t.Fatalf("nothing saved: got %v, %v; want none", got, err)
	}
	want := DelayOffsets{1: 3, 18: 1 << 40}
	for counter := range int64(3) {
		if err := l.SaveDelayOffsets(want, counter, 1_700_000_000_000); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := l.LoadDelayOffsets(); err != nil || !maps.Equal(got, want) {
		t.Fatalf("got %v, %v; want %v", got, err, want)
	}
}

func TestDelayOffsetsAsOtherWritersLeaveThem(t *testing.T) {
	for name, c := range map[string]struct {
		file, backup string
		want         DelayOffsets
		fails        bool
	}{
		"quoted keys":             {file: `{"offsetTable":{"1":3,"2":5}}`, want: DelayOffsets{1: 3, 2: 5}},
		"bare keys":               {file: "{\n\t\"offsetTable\":{1:3,2:5\n\t}}", want: DelayOffsets{1: 3, 2: 5}},
		"empty file, good backup": {file: "", backup: `{"offsetTable":{1:4}}`, want: DelayOffsets{1: 4}},
		"torn file, good backup":  {file: `{"offsetTable":{1:`, backup: `{"offsetTable":{1:4}}`, want: DelayOffsets{1: 4}},
		"both torn":               {file: `{`, backup: `{`, fails: true},
		"no table":                {file: `{}`, backup: `{}`, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			l := Layout(t.TempDir())
			if err := os.MkdirAll(filepath.Dir(l.DelayOffset()), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(l.DelayOffset(), []byte(c.file), 0o644); err != nil {
				t.Fatal(err)
			}
			if c.backup != "" {
				if err := os.WriteFile(l.DelayOffset()+".bak", []byte(c.backup), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got, err := l.LoadDelayOffsets()
			if (err != nil) != c.fails || !maps.Equal(got, c.want) {
				t.Fatalf("got %v, %v; want %v, error %v", got, err, c.want, c.fails)
			}
		})
	}
}
