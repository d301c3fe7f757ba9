package engine

import (
	"testing"

	"commitlab/engine/commitlog"
	"commitlab/engine/storedir"
)

// headsOf are files of 100 bytes from 1000 on, with the store times of their first
// records.
func headsOf(storeMs ...int64) (heads []commitlog.Head) {
	for i, ms := range storeMs {
		base := 1000 + int64(i)*100
		heads = append(heads, commitlog.Head{Base: base, End: base + 100, StoreMs: ms})
	}
	return heads
}

// Goal: recovery begins where nothing that may be missing lies before, and not
// earlier. Method: one table of directories, without a disk.
func TestRecoveryDepartsFromWhatMayBeMissing(t *testing.T) {
	six := headsOf(10_000, 20_000, 30_000, 40_000, 50_000, 60_000)
	// sound is a killed store whose log was durable up to the middle of file 4 and
	// whose queues, index and delays were not behind.
	sound := directory{
		heads: six, rule: RecoverDurable, dispatch: true, queuesWhole: true, index: true, indexEnd: 1470, delaysWhole: true, indexSafe: true,
		saved: storedir.Checkpoint{
			CommitLogMs: 53_000, ConsumeQueueMs: 48_000, IndexMs: 20_000,
			Positions: storedir.Positions{Known: true, LogDurable: 1450, QueuesDurable: 1480, Indexed: 1490, IndexEnd: 1420, DelaysSaved: 1500},
		},
		queuesEnd: 1480,
	}
	for _, c := range []struct {
		name   string
		change func(d *directory)
		file   int
		at     int64 // dispatch
		queues int64
	}{
		{"the log was durable up to a place", func(*directory) {}, 4, 1470, 1480},
		{"nothing is known", func(d *directory) { d.saved.Positions = storedir.Positions{} }, 0, 1000, 1000},
		{"nothing is known of a clean store", func(d *directory) { d.clean, d.saved.Positions = true, storedir.Positions{} }, 0, 1000, 1000},
		{"queues are behind", func(d *directory) { d.saved.Positions.QueuesDurable = 1250 }, 2, 1250, 1250},
		{"queues were never durable", func(d *directory) { d.saved.Positions.QueuesDurable = 0 }, 0, 1000, 1000},
		{"a queue lacks units", func(d *directory) { d.queuesWhole = false }, 0, 1000, 1000},
		{"the index lost its end", func(d *directory) { d.indexEnd = 1310 }, 3, 1310, 1480},
		{"the index is gone", func(d *directory) { d.indexEnd = -1 }, 0, 1000, 1480},
		{"the last record of the index may lack keys", func(d *directory) { d.indexEnd = 1420 }, 4, 1420, 1480},
		{"no record had a key", func(d *directory) { d.indexEnd, d.saved.Positions.IndexEnd = -1, -1 }, 4, 1480, 1480},
		{"there is no index", func(d *directory) { d.index, d.indexEnd = false, -1 }, 4, 1480, 1480},
		{"delays were saved long ago", func(d *directory) { d.saved.Positions.DelaysSaved = 1150 }, 1, 1470, 1480},
		{"delays went back", func(d *directory) { d.delaysWhole = false }, 0, 1470, 1480},
		{"without dispatch", func(d *directory) { d.dispatch, d.index = false, false }, 0, 1000, 1000},
		{"everything durable up to the end", func(d *directory) {
			d.saved.Positions = storedir.Positions{Known: true, LogDurable: 1600, QueuesDurable: 1600, Indexed: 1600, IndexEnd: 1590, DelaysSaved: 1600}
			d.clean, d.indexEnd = true, 1590
		}, 3, 1600, 1600},
		{"positions before the first file", func(d *directory) {
			d.saved.Positions = storedir.Positions{Known: true, LogDurable: 500, QueuesDurable: 500, Indexed: 500, IndexEnd: 490, DelaysSaved: 500}
			d.indexEnd = 490
		}, 0, 1000, 1000},
		{"all files, on demand", func(d *directory) { d.rule = RecoverFirst }, 0, 1000, 1000},

		{"RocketMQ 4 after a kill, safe index", func(d *directory) { d.rule = RecoverRocketMQ }, 1, 1100, 1100},
		{"RocketMQ 4 after a kill, index not safe", func(d *directory) { d.rule, d.indexSafe = RecoverRocketMQ, false }, 3, 1300, 1300},
		{"RocketMQ 4 after a kill, log behind queues", func(d *directory) {
			d.rule, d.indexSafe, d.saved.CommitLogMs = RecoverRocketMQ, false, 33_000
		}, 2, 1200, 1200},
		{"RocketMQ 4 within the margin", func(d *directory) {
			d.rule, d.indexSafe, d.saved.ConsumeQueueMs = RecoverRocketMQ, false, 42_999
		}, 2, 1200, 1200},
		{"RocketMQ 4, closed in order", func(d *directory) { d.rule, d.clean = RecoverRocketMQ, true }, 3, 1480, 1480},
		{"RocketMQ 4, a blank file is no start", func(d *directory) {
			d.rule, d.indexSafe, d.heads = RecoverRocketMQ, false, headsOf(10_000, 20_000, 0, 0, 50_000, 60_000)
		}, 1, 1100, 1100},
		{"RocketMQ 5 after a kill, safe index", func(d *directory) { d.rule = RecoverRocketMQ5 }, 1, 1100, 1100},
		{"RocketMQ 5, closed in order", func(d *directory) { d.rule, d.clean, d.indexSafe = RecoverRocketMQ5, true, false }, 4, 1480, 1480},
		{"RocketMQ 5, closed in order, queues behind", func(d *directory) {
			d.rule, d.clean, d.indexSafe, d.queuesEnd = RecoverRocketMQ5, true, false, 1230
		}, 2, 1230, 1230},
		{"RocketMQ 5, closed in order, safe index", func(d *directory) { d.rule, d.clean = RecoverRocketMQ5, true }, 1, 1480, 1480},
		{"RocketMQ 4 with times of 0", func(d *directory) { d.rule, d.saved = RecoverRocketMQ, storedir.Checkpoint{} }, 0, 1000, 1000},
	} {
		d := sound
		c.change(&d)
		got := depart(d)
		if got.file != c.file || got.dispatch != c.at || got.queues != c.queues || got.reason == "" {
			t.Errorf("%s: departs at file %d, dispatches from %d, queues from %d (%s); want %d, %d, %d",
				c.name, got.file, got.dispatch, got.queues, got.reason, c.file, c.at, c.queues)
		}
		if got.dispatch < d.heads[got.file].Base {
			t.Errorf("%s: dispatches from %d what is verified only from %d", c.name, got.dispatch, d.heads[got.file].Base)
		}
	}
	if got := depart(directory{rule: RecoverDurable}); got.file != 0 || got.dispatch != 0 {
		t.Errorf("without a log: %+v", got)
	}
}
