package engine

import (
	"fmt"

	"commitlab/engine/commitlog"
	"commitlab/engine/storedir"
)

// Values of Options.RecoverFrom.
const (
	RecoverDurable   = "durable"
	RecoverFirst     = "first"
	RecoverRocketMQ  = "rocketmq"
	RecoverRocketMQ5 = "rocketmq5"
)

// A directory is what recovery knows of a store before it reads the log.
type directory struct {
	clean bool             // closed in order
	heads []commitlog.Head // of all log files
	saved storedir.Checkpoint

	dispatch bool // queues are kept, so that they know their offsets
	// queuesWhole: the queues have all units below saved.Positions.QueuesDurable.
	queuesWhole bool
	queuesEnd   int64 // end of the last record that any queue has
	index       bool  // an index is kept
	indexEnd    int64 // last record that the index will keep, -1 if none
	// delaysWhole: the progress of delayed messages is not older than
	// saved.Positions.DelaysSaved says.
	delaysWhole bool

	rule      string // Options.RecoverFrom
	indexSafe bool
}

// A departure is where recovery begins.
type departure struct {
	file     int   // index of the first log file that is verified
	dispatch int64 // log offset from where on records are dispatched
	queues   int64 // log offset from where on they are put into queues
	// partial: units that the log has may be missing afterwards.
	partial bool
	reason  string
}

// normalFiles is how many files at the end of the log are verified after a clean
// exit.
const normalFiles = 3

// depart decides where recovery begins. It is pure.
//
// By the rule "durable" a store that is opened later has every unit and every key
// that the log has: whatever was not known to be done and durable is done again. A
// directory that this store has not closed or checkpointed itself says nothing that
// could be relied on (RocketMQ raises the time of the queues with each unit, synced
// or not), and is read from its first file.
func depart(d directory) departure {
	if len(d.heads) == 0 {
		return departure{reason: "the log is empty"}
	}
	first, end := d.heads[0].Base, d.heads[len(d.heads)-1].End
	from := departure{dispatch: first, queues: first}
	switch {
	case d.rule == RecoverFirst:
		from.reason = "as the option says"
		return from
	case d.rule != RecoverDurable:
		return d.departRocketMQ()
	case !d.saved.Positions.Known:
		from.reason = "nothing is known about what was durable"
		return from
	case !d.dispatch:
		from.reason = "without dispatch only the log knows the queue offsets"
		return from
	}
	p := d.saved.Positions
	need, what := p.LogDurable, "the log was not known to be durable behind"
	if d.clean {
		need, what = d.heads[max(len(d.heads)-normalFiles, 0)].Base, fmt.Sprintf("closed in order, so the last %d files are verified", normalFiles)
	}
	require := func(offset int64, why string) {
		if offset < need {
			need, what = offset, why
		}
	}
	from.queues = bounded(first, p.QueuesDurable, end)
	if !d.queuesWhole {
		from.queues = first
		require(first, "a consume queue lacks units that it had")
	}
	require(from.queues, "consume queues were not known to be durable behind")
	from.dispatch = from.queues
	if d.index {
		indexed := bounded(first, d.indexed(), end)
		from.dispatch = min(from.dispatch, indexed)
		require(indexed, "the index ends there")
	}
	delays := bounded(first, p.DelaysSaved, end)
	if !d.delaysWhole {
		delays = first
	}
	require(delays, "delayed messages may have been delivered behind")
	for from.file < len(d.heads)-1 && d.heads[from.file].End <= need {
		from.file++
	}
	from.reason = what
	return from
}

// indexed is the log offset below which the index has all keys. Of the last record
// that it keeps some may be missing, unless it was closed in order.
func (d *directory) indexed() int64 {
	p := d.saved.Positions
	if !p.Known || d.indexEnd != p.IndexEnd {
		return d.indexEnd // -1: from the first record on
	}
	if d.clean || d.indexEnd < 0 {
		return p.Indexed
	}
	return d.indexEnd
}

func bounded(first, offset, end int64) int64 { return min(max(offset, first), end) }

// How far RocketMQ goes back behind the times of its checkpoint.
const checkpointMarginMs = 3000

// departRocketMQ decides as RocketMQ does. A file matches by its first record.
//
// After a clean exit version 4 verifies the last three files, and dispatches what
// lies behind the end of the queue that is furthest; version 5 begins with the last
// file that starts before that end. After any other exit both begin with the last
// file that was begun before queues and log were last synced (and the index, if
// messageIndexSafe), and dispatch all of it.
func (d *directory) departRocketMQ() departure {
	last := len(d.heads) - 1
	c := &d.saved
	limitMs := max(min(c.CommitLogMs, c.ConsumeQueueMs)-checkpointMarginMs, 0)
	indexMs := int64(1<<63 - 1)
	if d.index && d.indexSafe {
		indexMs = min(limitMs, c.IndexMs)
		if d.rule == RecoverRocketMQ5 {
			indexMs = c.IndexMs
		}
	}
	file := last
	matches := func(h commitlog.Head) bool { return h.StoreMs != 0 && h.StoreMs <= limitMs && h.StoreMs <= indexMs }
	reason := "the last file begun before the times of the checkpoint"
	switch {
	case d.clean && d.rule == RecoverRocketMQ:
		file, reason = max(last-normalFiles+1, 0), "the third file from the end"
		matches = func(commitlog.Head) bool { return true }
	case d.clean:
		reason = "the last file begun before the end of the queues"
		matches = func(h commitlog.Head) bool { return h.StoreMs != 0 && h.StoreMs <= indexMs && h.Base <= d.queuesEnd }
	}
	for file > 0 && !matches(d.heads[file]) {
		file--
	}
	at := d.heads[file].Base
	if d.clean {
		at = bounded(at, d.queuesEnd, d.heads[last].End)
	}
	return departure{file: file, dispatch: at, queues: at, partial: true, reason: reason}
}
