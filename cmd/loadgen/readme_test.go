package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"commitlab/bench/study"
)

// readmeBlocks returns the indented blocks of the README, without their
// indentation.
func readmeBlocks(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	inside := false
	for line := range strings.Lines(string(text)) {
		code, ok := strings.CutPrefix(line, "    ")
		switch {
		case ok && !inside:
			blocks = append(blocks, code)
		case ok:
			blocks[len(blocks)-1] += code
		}
		inside = ok
	}
	return blocks
}

// Goal: what the README tells a newcomer to type works. Method: run its loadgen
// commands in process, shortened; plan the study it shows.
func TestReadmeCommandsWork(t *testing.T) {
	ran := 0
	for _, block := range readmeBlocks(t) {
		for line := range strings.Lines(block) {
			line, _, _ = strings.Cut(line, "#")
			args, ok := strings.CutPrefix(strings.TrimSpace(line), "go run ./cmd/loadgen")
			words := strings.Fields(args)
			if !ok || len(words) == 0 || words[0] == "study" {
				continue // studies take minutes; the one shown is planned below
			}
			t.Run(strings.Join(words, " "), func(t *testing.T) {
				t.Setenv(asProgram, "1") // for the processes that torture starts
				shorter := map[string]string{"200000": "2000", "5s": "200ms", "200": "1", "/tmp/torture": filepath.Join(t.TempDir(), "torture")}
				if words[0] == "run" {
					words = append(words, "--out", filepath.Join(t.TempDir(), "run"), "--quiet",
						"--set", "commitLogFileBytes=1MiB", "--set", "maxBodyBytes=8KiB")
				}
				for i, w := range words {
					if short, ok := shorter[w]; ok {
						words[i] = short
					}
				}
				var stdout, stderr bytes.Buffer
				err := run(t.Context(), words, strings.NewReader(""), &stdout, &stderr)
				if code := exitCode(err); code != 0 && code != exitInvalid || stdout.Len() == 0 {
					t.Errorf("exit code %d, %v; stdout:\n%s\nstderr:\n%s", code, err, &stdout, &stderr)
				}
			})
			ran++
		}
	}
	if ran < 2 {
		t.Errorf("%d loadgen commands found in the README, want the run and the doctor at least", ran)
	}
}

func TestReadmeStudyCanBePlanned(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "```yaml\n")
	block, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("the README shows no study file")
	}
	spec, err := study.Parse([]byte(block))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := spec.Plan(study.Room{Disk: 100 << 30}); err != nil {
		t.Fatal(err)
	}
}
