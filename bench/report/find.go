package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"commitlab/bench/result"
)

// open opens the study or run at path. A file of a study or run stands for its
// directory. Everything else is an error that says what is there instead.
func open(path string) (*result.Dir, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("result %s: %w", path, bare(err))
	}
	if !info.IsDir() {
		switch filepath.Base(path) {
		case result.StudyFile, result.ManifestFile, result.LatencyFile:
			return open(filepath.Dir(path))
		}
		return nil, fmt.Errorf("result %s: it is a file; want the directory of a study (with %s) or of a run (with %s)",
			path, result.StudyFile, result.ManifestFile)
	}
	if !has(path, result.StudyFile) && !has(path, result.ManifestFile) {
		return nil, notAResult(path)
	}
	return result.Open(path)
}

// notAResult explains what is missing, and names results close by.
func notAResult(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("result %s: %w", path, bare(err))
	}
	var below []string
	for _, e := range entries {
		child := filepath.Join(path, e.Name())
		if e.IsDir() && (has(child, result.StudyFile) || has(child, result.ManifestFile)) {
			below = append(below, child)
		}
	}
	text := fmt.Sprintf("want a directory with %s (a study) or %s (a run), got one with neither and %d entries",
		result.StudyFile, result.ManifestFile, len(entries))
	if len(below) > 0 {
		text += "; results in it: " + strings.Join(below, ", ")
	}
	return fmt.Errorf("result %s: %s", path, text)
}

func has(dir, name string) bool {
	info, err := os.Stat(filepath.Join(dir, name))
	return err == nil && info.Mode().IsRegular()
}

// bare takes operation and path off an error of the os package, where the
// caller names the path already.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
