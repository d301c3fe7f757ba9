package storedir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"commitlab/engine/fsutil"
)

// A SkippedRange is a part of the commit log, in log offsets, that was found
// damaged and given up: [From, To). RocketMQ does not know of such ranges; it ends
// the log at the first.
type SkippedRange struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// skippedFile is config/skippedRanges.json.
type skippedFile struct {
	Ranges []SkippedRange `json:"ranges"`
}

// Skipped is the path of the list of ranges that were given up.
func (l Layout) Skipped() string { return l.at(filepath.Join("config", "skippedRanges.json")) }

// LoadSkipped reads the ranges that were given up; without the file there are none.
func (l Layout) LoadSkipped() ([]SkippedRange, error) {
	b, err := os.ReadFile(l.Skipped())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var f skippedFile
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err != nil {
		return nil, fmt.Errorf("skipped ranges %s: %w", l.Skipped(), err)
	}
	for i, r := range f.Ranges {
		if r.From < 0 || r.To <= r.From || i > 0 && r.From < f.Ranges[i-1].To {
			return nil, fmt.Errorf("skipped ranges %s: [%d, %d) is empty or out of order", l.Skipped(), r.From, r.To)
		}
	}
	return f.Ranges, nil
}

// SaveSkipped replaces the list durably; without any range the file goes.
func (l Layout) SaveSkipped(ranges []SkippedRange) error {
	path := l.Skipped()
	if len(ranges) == 0 {
		if err := fsutil.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("skipped ranges: %w", err)
		}
		return nil
	}
	b, err := json.MarshalIndent(skippedFile{ranges}, "", "\t")
	if err == nil {
		err = l.MakeConfig()
	}
	if err == nil {
		err = fsutil.ReplaceFile(path, b)
	}
	if err != nil {
		return fmt.Errorf("save skipped ranges: %w", err)
	}
	return nil
}
