package storedir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"commitlab/engine/fsutil"
)

// DelayOffsets is the progress of delayed delivery: for each level, counted
// from 1, the queue offset of the first message not yet delivered.
type DelayOffsets map[int]int64

// delayOffsetFile is config/delayOffset.json. The version counts saves; a
// broker compares it between master and slave.
type delayOffsetFile struct {
	DataVersion struct {
		Counter      int64 `json:"counter"`
		StateVersion int64 `json:"stateVersion"`
		TimestampMs  int64 `json:"timestamp"`
	} `json:"dataVersion"`
	OffsetTable DelayOffsets `json:"offsetTable"`
}

// DelayOffset is the path of the progress of delayed delivery.
func (l Layout) DelayOffset() string { return l.at(filepath.Join("config", "delayOffset.json")) }

// unquotedKey is an object key as some Java writers leave it: a bare number.
var unquotedKey = regexp.MustCompile(`([{,]\s*)(-?\d+)(\s*:)`)

// LoadDelayOffsets reads the progress; with none saved it is empty. If the file
// cannot be read as JSON the one before it (.bak) counts. Bare numbers as keys,
// as RocketMQ may write them, are understood.
func (l Layout) LoadDelayOffsets() (DelayOffsets, error) {
	path := l.DelayOffset()
	offsets, err := loadDelayOffsets(path)
	if err == nil {
		return offsets, nil
	}
	backup, backupErr := loadDelayOffsets(path + ".bak")
	switch {
	case backupErr == nil:
		return backup, nil
	case errors.Is(err, fs.ErrNotExist) && errors.Is(backupErr, fs.ErrNotExist):
		return DelayOffsets{}, nil
	}
	return nil, fmt.Errorf("progress of delayed messages: %w; and its backup: %w", err, backupErr)
}

func loadDelayOffsets(path string) (DelayOffsets, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var f delayOffsetFile
	if err := json.Unmarshal(unquotedKey.ReplaceAll(b, []byte(`$1"$2"$3`)), &f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if f.OffsetTable == nil {
		return nil, fmt.Errorf("%s: no offsetTable", path)
	}
	return f.OffsetTable, nil
}

// SaveDelayOffsets replaces the progress durably and keeps the one before it as
// .bak. counter is how often it was saved, nowMs the time of the save.
func (l Layout) SaveDelayOffsets(o DelayOffsets, counter, nowMs int64) error {
	var f delayOffsetFile
	f.DataVersion.Counter, f.DataVersion.TimestampMs = counter, nowMs
	f.OffsetTable = o
	b, err := json.MarshalIndent(f, "", "\t")
	if err != nil {
		return fmt.Errorf("progress of delayed messages: %w", err)
	}
	path := l.DelayOffset()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("progress of delayed messages: %w", err)
	}
	old, err := os.ReadFile(path)
	switch {
	case err == nil:
		err = fsutil.ReplaceFile(path+".bak", old)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err == nil {
		err = fsutil.ReplaceFile(path, b)
	}
	if err != nil {
		return fmt.Errorf("save progress of delayed messages: %w", err)
	}
	return nil
}
