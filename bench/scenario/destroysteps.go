package scenario

import (
	"path/filepath"
	"sync/atomic"

	"commitlab/bench/measure"
	"commitlab/engine/segment"
)

// stepOps are the operations that steps of taking a file of the commit log down
// are timed as, by the name of the step. Which of them occur is for the option
// destroy to say, and for readers who hold on.
var stepOps = map[string]string{
	segment.StepWait:     "destroy.wait",
	segment.StepUnlink:   "destroy.unlink",
	segment.StepReplace:  "destroy.replace",
	segment.StepTruncate: "destroy.truncate",
	segment.StepPunch:    "destroy.punch",
	segment.StepUnmap:    "destroy.munmap",
	segment.StepClose:    "destroy.close",
	segment.StepRecycle:  "destroy.recycle",
	segment.StepTotal:    "destroy.total",
}

// destroyOps lists them in the order in which a file meets them.
var destroyOps = []string{
	stepOps[segment.StepUnlink], stepOps[segment.StepRecycle], stepOps[segment.StepWait], stepOps[segment.StepReplace],
	stepOps[segment.StepTruncate], stepOps[segment.StepPunch], stepOps[segment.StepUnmap], stepOps[segment.StepClose],
	stepOps[segment.StepTotal],
}

// destructions makes events of the steps that a store reports, and disturbances of
// those in which something is done. A wait and a total are none: nothing happens
// for most of their time. Files of queues and index disturb as well; their steps are
// not among the operations, since the files are of another size.
type destructions struct {
	events *measure.Events
	logDir string
	files  atomic.Int64 // of the log, wholly gone
}

func newDestructions(storeDir string, more ...string) *destructions {
	return &destructions{
		events: measure.NewEvents(append(more, destroyOps...)...),
		logDir: filepath.Join(storeDir, "commitlog"),
	}
}

// took is an engine.Options.OnDestroy.
func (d *destructions) took(step segment.DestroyStep) {
	if step.Name != segment.StepWait && step.Name != segment.StepTotal {
		d.events.Disturb(step.Start, step.Duration)
	}
	if filepath.Dir(step.Path) != d.logDir {
		return
	}
	if op, ok := stepOps[step.Name]; ok {
		d.events.Record(op, step.Start, step.Duration)
	}
	if step.Name == segment.StepTotal {
		d.files.Add(1)
	}
}
