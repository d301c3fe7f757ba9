package engine

import "errors"

// assistRecords is how many records a put dispatches at once. More need a little less time
// each, and the put that does them more.
const assistRecords = 4

// assist is the part of a put of some bytes in their dispatch, if the dispatcher is
// behind: as many bytes, and a few records at least. So the distance shrinks with each
// put, however long the dispatcher waits for a processor, and no put has much to do.
// It waits for nobody who dispatches and makes no file: that is left to the dispatcher,
// and so is what failed, which has the error reported then.
func (d *dispatcher) assist(bytes int64) {
	if d.assistBytes < 0 || d.limit()-d.at.Load() <= d.assistBytes || !d.mu.TryLock() {
		return
	}
	defer d.mu.Unlock()
	if d.alone {
		return
	}
	if _, err := d.advance(bytes, true); err != nil {
		d.alone = true
		return
	}
	d.assisted.Store(true)
}

// needed reports, once a beat, whether there is something to dispatch that puts do not.
// While they do, and keep the distance, the dispatcher is better left alone: it could
// lose its processor while it holds mu.
func (d *dispatcher) needed() bool {
	behind := d.limit() - d.at.Load()
	return behind > 0 && (!d.assisted.Swap(false) || behind > 2*d.assistBytes)
}

// endAssistance returns when no put dispatches any more.
func (d *dispatcher) endAssistance() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.alone = true
}

// errNoRoom is why a put leaves a record to the dispatcher.
var errNoRoom = errors.New("a queue or the index needs a file")

// hasRoom reports whether a record can be dispatched without a file being made.
func (d *dispatcher) hasRoom(job *job) bool {
	if job.queued && (job.queue == nil || !job.queue.HasRoom(job.record.QueueOffset)) {
		return false
	}
	return d.index == nil || d.index.HasRoom(&job.entry)
}
