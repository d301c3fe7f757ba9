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

// DeletedTopics are the topics, by name, that were deleted while the commit log may
// still have had records of them. RocketMQ does not know of them; after a crash it
// brings such records back.
type DeletedTopics map[string]DeletedTopic

// A DeletedTopic says where in the log a topic was deleted.
type DeletedTopic struct {
	// Before: its records before this log offset belong to no queue any more.
	Before int64 `json:"before"`
	// Next has the next queue offset of each queue at that place: with the queues
	// gone only these records knew it.
	Next map[int32]int64 `json:"next"`
}

// deletedTopicsFile is config/deletedTopics.json.
type deletedTopicsFile struct {
	Topics DeletedTopics `json:"topics"`
}

// DeletedTopics is the path of the list of deleted topics.
func (l Layout) DeletedTopics() string { return l.at(filepath.Join("config", "deletedTopics.json")) }

// LoadDeletedTopics reads the list; without the file it is empty.
func (l Layout) LoadDeletedTopics() (DeletedTopics, error) {
	b, err := os.ReadFile(l.DeletedTopics())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var f deletedTopicsFile
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err != nil {
		return nil, fmt.Errorf("deleted topics %s: %w", l.DeletedTopics(), err)
	}
	return f.Topics, nil
}

// SaveDeletedTopics replaces the list durably; without any topic the file goes.
func (l Layout) SaveDeletedTopics(topics DeletedTopics) error {
	path := l.DeletedTopics()
	if len(topics) == 0 {
		if err := fsutil.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("deleted topics: %w", err)
		}
		return nil
	}
	b, err := json.MarshalIndent(deletedTopicsFile{topics}, "", "\t")
	if err == nil {
		err = l.MakeConfig()
	}
	if err == nil {
		err = fsutil.ReplaceFile(path, b)
	}
	if err != nil {
		return fmt.Errorf("deleted topics: %w", err)
	}
	return nil
}
