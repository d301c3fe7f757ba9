package study

import "time"

// dispatchStudy asks what dispatch costs beside append, for messages that have a
// unique key and one key more:
//
//	append    put as fast as it goes, without dispatch: what the log itself can take
//	rebuild   queues and index built from such a log that a start finds
//	paced     put and dispatched at a steady rate: how far the readable end lags
//
// Building is compared by the time for a message, which for append is the time from
// one to the next. The lag is shown beside how late a thread was that only sleeps:
// on a machine that stands still for milliseconds no lag is shorter. Much of that
// standing still is the making of pages, in calls of the kernel that nothing
// interrupts; so the lag is measured with few and large pages, too.
//
// Each thread that waits for a sync keeps its P for a while. With as many Ps as
// services sync and make pages the dispatcher finds one when it wakes; and with short
// slices it does not wait until the generator, which spins, has had its turn.
var dispatchStudy = Spec{
	Name:     "dispatch",
	Seed:     1,
	Blocks:   7,
	Warmup:   pointer(Duration(1250 * time.Millisecond)), // until files come back
	Duration: Duration(1500 * time.Millisecond),
	Cooldown: pointer(Duration(100 * time.Millisecond)),
	Limit:    Duration(235 * time.Second),
	Procs:    8,
	Slice:    Duration(100 * time.Microsecond),
	AA:       pointer(false),
	Primary:  []string{"readable.service.p99"},
	Ratios: []RatioSpec{
		{
			Name: "dispatch of a log to append", AtLeast: 0.5,
			Of: CellMetricSpec{"append.tuned", "append.period"}, To: CellMetricSpec{"rebuild.tuned", "dispatch_message.service.p50"},
		},
		{
			Name: "lag to hiccup, p99",
			Of:   CellMetricSpec{"paced.tuned", "readable.service.p99"}, To: CellMetricSpec{"paced.tuned", "hiccup.p99"},
		},
		{
			Name: "lag to hiccup, p99.9",
			Of:   CellMetricSpec{"paced.tuned", "readable.service.p99.9"}, To: CellMetricSpec{"paced.tuned", "hiccup.p99.9"},
		},
		{
			Name: "lag to hiccup, p99, steady",
			Of:   CellMetricSpec{"paced.steady", "readable.service.p99"}, To: CellMetricSpec{"paced.steady", "hiccup.p99"},
		},
		{
			Name: "lag of steady to lag of tuned, p99",
			Of:   CellMetricSpec{"paced.steady", "readable.service.p99"}, To: CellMetricSpec{"paced.tuned", "readable.service.p99"},
		},
	},
	Configs: []ConfigSpec{
		{Name: "tuned"},
		{Name: "steady", Base: "tuned", Set: steady},
	},
	Scenarios: []ScenarioSpec{
		{Scenario: "append", Keys: dispatchKeys, UniqueKeys: true, MaxBytes: 2 << 30, Only: []string{"tuned"}},
		{Scenario: "dispatch_rebuild", Name: "rebuild", Keys: dispatchKeys, UniqueKeys: true, MaxBytes: 256 << 20, Only: []string{"tuned"}},
		{Scenario: "dispatch", Name: "paced", Rate: "200k", Keys: dispatchKeys, UniqueKeys: true},
	},
}

// steady makes few pages and syncs little at a time: only the newest part of the log is
// kept, and its files are used again and again.
var steady = map[string]string{
	"advise": "hugepage", "destroy": "recycle", "commitLogFileBytes": "32MiB", "maxLogBytes": "128MiB", "deleteFileIntervalMs": "10",
	"flushIntervalMs": "50", "syncPath": "fdatasync",
}

// dispatchKeys is how many different keys the messages have beside their unique
// ones: each is that of a few messages.
const dispatchKeys = 100_000
