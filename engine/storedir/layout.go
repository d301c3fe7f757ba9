package storedir

import "path/filepath"

// A Layout names the places in a store directory. Its value is the root.
type Layout string

// CommitLog is the directory of the commit log files.
func (l Layout) CommitLog() string { return l.at("commitlog") }

// Abort is the path of the abort marker.
func (l Layout) Abort() string { return l.at("abort") }

// Checkpoint is the path of the checkpoint file.
func (l Layout) Checkpoint() string { return l.at("checkpoint") }

// Lock is the path of the lock file.
func (l Layout) Lock() string { return l.at("lock") }

func (l Layout) at(name string) string { return filepath.Join(string(l), name) }
