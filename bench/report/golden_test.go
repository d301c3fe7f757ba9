package report

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"commitlab/bench/result"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden compares each rendering of one study, and of two profiles, with a stored one. After a
// wanted change: go test -run Golden -update, and look at the difference.
func TestGolden(t *testing.T) {
	r := quickSix(t)
	a, b := unlikeLengths()
	b.status = result.Invalid
	profiles := loadProfiles(t, "", a, b)
	for name, write := range map[string]func(io.Writer) error{
		"quick.txt":  func(w io.Writer) error { return r.Text(w, Options{Runs: true}) },
		"quick.html": func(w io.Writer) error { return r.HTML(w, Options{}) },
		"quick.csv":  func(w io.Writer) error { return r.Export(w, CSV, ExportOptions{}) },
		"quick.hgrm": func(w io.Writer) error {
			return r.Export(w, HGRM, ExportOptions{Config: "tuned", Tag: "append.service"})
		},
		"profiles.txt": func(w io.Writer) error { return profiles.Text(w, ProfileOptions{Top: 4}) },
		"quick.bench":  func(w io.Writer) error { return r.Export(w, Bench, ExportOptions{}) },
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := write(&got); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("%s differs (-stored +now):\n%s", path, diff)
			}
		})
	}
}
