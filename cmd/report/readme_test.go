package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Goal: the report commands that the README has in lines of their own work. Method:
// run them in process, with results made here in the place of those named.
func TestReadmeCommandsWork(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	here := map[string]string{
		"results/<utc>-window": study(t),
		"window.html":          filepath.Join(t.TempDir(), "window.html"),
		"results/A":            profiled(t, "commitlab/engine.put", time.Second),
		"results/B":            profiled(t, "commitlab/engine.put", 2*time.Second),
	}
	ran := 0
	for line := range strings.Lines(string(text)) {
		args, ok := strings.CutPrefix(line, "    go run ./cmd/report ")
		if !ok {
			continue
		}
		words := strings.Fields(args)
		for i, w := range words {
			words[i] = strings.Trim(w, "'")
			if path, ok := here[w]; ok {
				words[i] = path
			}
		}
		output(t, words...)
		ran++
	}
	if ran < 2 {
		t.Errorf("%d report commands found in the README, want the page and the profiles at least", ran)
	}
}
