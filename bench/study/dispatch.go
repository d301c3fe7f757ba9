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
// one to the next. The lag is shown beside how late a thread was that only sleeps: a
// dispatcher that has to wait for a processor as long finds no message earlier. With
// `tuned` puts help it when it is behind; `unassisted` shows what that is worth, and what
// puts pay for it.
var dispatchStudy = Spec{
	Name:     "dispatch",
	Seed:     1,
	Blocks:   7,
	Warmup:   pointer(Duration(time.Second)),
	Duration: Duration(1500 * time.Millisecond),
	Cooldown: pointer(Duration(100 * time.Millisecond)),
	Limit:    Duration(235 * time.Second),
	AA:       pointer(false),
	Primary:  []string{"readable.service.p99"},
	Ratios: []RatioSpec{
		{
			Name: "dispatch of a log to append", AtLeast: 0.5,
			Of: CellMetricSpec{"append.tuned", "append.period"}, To: CellMetricSpec{"rebuild.tuned", "dispatch_message.service.p50"},
		},
		{
			Name: "readable to hiccup, p99",
			Of:   CellMetricSpec{"paced.tuned", "readable.service.p99"}, To: CellMetricSpec{"paced.tuned", "hiccup.p99"},
		},
		{
			Name: "readable to hiccup, p99, unassisted",
			Of:   CellMetricSpec{"paced.unassisted", "readable.service.p99"}, To: CellMetricSpec{"paced.unassisted", "hiccup.p99"},
		},
		{
			Name: "readable, tuned to unassisted, p99",
			Of:   CellMetricSpec{"paced.tuned", "readable.service.p99"}, To: CellMetricSpec{"paced.unassisted", "readable.service.p99"},
		},
		{
			Name: "put, tuned to unassisted, p50",
			Of:   CellMetricSpec{"paced.tuned", "append.service.p50"}, To: CellMetricSpec{"paced.unassisted", "append.service.p50"},
		},
		{
			Name: "put, tuned to unassisted, p99",
			Of:   CellMetricSpec{"paced.tuned", "append.service.p99"}, To: CellMetricSpec{"paced.unassisted", "append.service.p99"},
		},
		{
			Name: "put, tuned to unassisted, p99.99",
			Of:   CellMetricSpec{"paced.tuned", "append.service.p99.99"}, To: CellMetricSpec{"paced.unassisted", "append.service.p99.99"},
		},
	},
	Configs: []ConfigSpec{
		{Name: "tuned"},
		{Name: "unassisted", Base: "tuned", Set: map[string]string{"dispatchAssistBytes": "-1"}},
	},
	Scenarios: []ScenarioSpec{
		{Scenario: "append", Keys: dispatchKeys, UniqueKeys: true, MaxBytes: 2 << 30, Only: []string{"tuned"}},
		{Scenario: "dispatch_rebuild", Name: "rebuild", Keys: dispatchKeys, UniqueKeys: true, MaxBytes: 256 << 20, Only: []string{"tuned"}},
		{Scenario: "dispatch", Name: "paced", Rate: "200k", Keys: dispatchKeys, UniqueKeys: true},
	},
}

// dispatchKeys is how many different keys the messages have beside their unique
// ones: each is that of a few messages.
const dispatchKeys = 100_000
