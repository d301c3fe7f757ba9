package consumequeue

import (
	"errors"
	"sync"
	"time"

	"commitlab/engine/segment"
)

// Names has the names of new files made durable at once, while there is next to nothing
// in them to be written. Before the next file of a queue is made the name of the last one
// must be durable. By then that one is full, and the sync that a Put waited for would take
// as long as the disk is busy with the log. It is a service.
//
// The first file of a queue is left to the next Sync. Most queues have no second one.
type Names struct {
	Wake func() // called by writers when there is work; set before use, must not block

	mu    sync.Mutex
	files []*segment.File // guarded by mu
}

// add has the name of a file that was just made become durable. Without a Names that is
// left to others.
func (n *Names) add(f *segment.File) {
	if n == nil || f.Base() == 0 {
		return
	}
	n.mu.Lock()
	n.files = append(n.files, f)
	n.mu.Unlock()
	n.Wake()
}

// Name implements service.Service.
func (n *Names) Name() string { return "queue-names" }

// Step makes the names durable of all files that were made since, and returns how many
// these were. What fails is left to the next Sync, or to the Put that needs another file.
func (n *Names) Step(time.Time) (int, error) {
	n.mu.Lock()
	files := n.files
	n.files = nil
	n.mu.Unlock()
	var errs []error
	for _, f := range files {
		errs = append(errs, f.SyncName())
	}
	return len(files), errors.Join(errs...)
}
