package storedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"commitlab/engine/fsutil"
)

// A Layout names the places in a store directory. Its value is the root.
type Layout string

// Make creates the root directory, with its parents, if it is absent. The new
// names are durable.
func (l Layout) Make() error {
	root, err := filepath.Abs(string(l))
	if err != nil {
		return fmt.Errorf("make store directory: %w", err)
	}
	var within []string // directories that get a new name
	for dir := root; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		within = append(within, filepath.Dir(dir))
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return fmt.Errorf("make store directory: %w", err)
	}
	for _, dir := range within {
		if err := fsutil.SyncDir(dir); err != nil {
			return fmt.Errorf("make store directory: %w", err)
		}
	}
	return nil
}

// CommitLog is the directory of the commit log files.
func (l Layout) CommitLog() string { return l.at("commitlog") }

// ConsumeQueue is the directory of the consume queues.
func (l Layout) ConsumeQueue() string { return l.at("consumequeue") }

// Index is the directory of the index files.
func (l Layout) Index() string { return l.at("index") }

// Recycle is the directory of files that are to be used again. It exists while
// the store is open with destroy recycle, and after a crash of such a store.
func (l Layout) Recycle() string { return l.at("recycle") }

// QueueCatalog is the path of the catalog of consume queues. RocketMQ does not know of
// it.
func (l Layout) QueueCatalog() string { return l.at(filepath.Join("config", "consumeQueue.catalog")) }

// Abort is the path of the abort marker.
func (l Layout) Abort() string { return l.at("abort") }

// Checkpoint is the path of the checkpoint file.
func (l Layout) Checkpoint() string { return l.at("checkpoint") }

// Lock is the path of the lock file.
func (l Layout) Lock() string { return l.at("lock") }

// MakeConfig makes the directory config, durably.
func (l Layout) MakeConfig() error {
	err := os.Mkdir(l.at("config"), 0o755)
	if err == nil {
		return fsutil.SyncDir(string(l))
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func (l Layout) at(name string) string { return filepath.Join(string(l), name) }
