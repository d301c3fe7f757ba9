package study

import "time"

// peerStudy sets the store that this engine is compatible with, as it is
// published, beside the engine: with RocketMQ's settings, and with its own. Each
// scenario has the configurations that make a difference to it: a pool of buffers
// or a warmed file does nothing for a reader.
//
// Eight blocks are the fewest from which six configurations can be told from the
// first under Holm's correction: 6 * 2/2^8 < 0.05. `steady`, for a log of which only
// the newest part is kept, is shown where pages are made.
//
// Beside them stands what the machine can do at all: the same bytes with nothing
// around them, into pages that are there; a group of writes and a sync; a map in place
// of the index. What these do not reach no store can.
var peerStudy = Spec{
	Name:     "peer",
	Seed:     1,
	Blocks:   8,
	Duration: Duration(1500 * time.Millisecond),
	Limit:    Duration(60 * time.Minute),
	Cooldown: pointer(Duration(100 * time.Millisecond)),
	Primary:  []string{"append.rate"},
	Ratios: []RatioSpec{
		times("append rate", 20, "append-max", "append.rate"),
		{
			Name: "append p99.99 at 200k/s, tuned to rocketmq-java", AtMost: 0.01,
			Of: CellMetricSpec{"append-200k.tuned", "append.service.p99.99"}, To: CellMetricSpec{"append-200k.rocketmq-java", "append.service.p99.99"},
		},
		times("append_sync rate", 4, "append_sync", "append.rate"),
		shorter("dispatch", 3, "dispatch_rebuild", "dispatch_message.service.p50"),
		shorter("lookup", 4, "lookup", "lookup.service.p50"),
		limit("append rate", "baseline_memcpy", "write.rate", CellMetricSpec{"append-max.rocketmq-java", "append.rate"}),
		limit("append_sync rate", "baseline_fsync", "write.rate", CellMetricSpec{"append_sync.rocketmq-java", "append.rate"}),
		{
			Name: "limit: lookup, rocketmq-java to a map",
			Of:   CellMetricSpec{"lookup.rocketmq-java", "lookup.service.p50"}, To: CellMetricSpec{"baseline_map.tuned", "lookup.service.p50"},
		},
	},
	Configs: []ConfigSpec{
		{Name: "rocketmq-java"}, {Name: "rocketmq-java-warm"}, {Name: "rocketmq-java-transient"},
		{Name: "rocketmq"}, {Name: "rocketmq-warm"}, {Name: "tuned"}, {Name: "steady", Base: "tuned", Set: steady},
	},
	Scenarios: []ScenarioSpec{
		{Scenario: "append", Name: "append-200k", Rate: "200k"},
		{Scenario: "append", Name: "append-1M", Rate: "1M", Only: []string{"rocketmq-java", "rocketmq", "rocketmq-warm", "tuned"}},
		{Scenario: "append", Name: "append-max"},
		{Scenario: "baseline_memcpy", Only: []string{"tuned"}},
		{Scenario: "append_sync", Writers: 64, Only: ofEach},
		{Scenario: "baseline_fsync", Writers: 64, Only: []string{"tuned"}},
		{Scenario: "dispatch", Rate: "20k", Only: ofEach},
		{Scenario: "dispatch_rebuild", MaxBytes: 256 << 20, Only: ofEach},
		{Scenario: "lookup", MaxBytes: 256 << 20, Only: ofEach},
		{Scenario: "baseline_map", MaxBytes: 256 << 20, Only: []string{"tuned"}},
		{Scenario: "destroy", Only: ofEach},
	},
}

// steady makes few pages and syncs little at a time: only the newest part of the log is
// kept, and its files are used again and again.
var steady = map[string]string{
	"advise": "hugepage", "destroy": "recycle", "commitLogFileBytes": "32MiB", "maxLogBytes": "128MiB", "deleteFileIntervalMs": "10",
	"flushIntervalMs": "50", "syncPath": "fdatasync",
}

// ofEach is one configuration of each kind.
var ofEach = []string{"rocketmq-java", "rocketmq", "tuned"}

// times wants a rate of tuned to be so many times that of rocketmq-java.
func times(name string, n float64, scenario, rate string) RatioSpec {
	return RatioSpec{
		Name: name + ", tuned to rocketmq-java", AtLeast: n,
		Of: CellMetricSpec{scenario + ".tuned", rate}, To: CellMetricSpec{scenario + ".rocketmq-java", rate},
	}
}

// shorter wants a time of rocketmq-java to be so many times that of tuned.
func shorter(name string, n float64, scenario, time string) RatioSpec {
	return RatioSpec{
		Name: name + ", rocketmq-java to tuned", AtLeast: n,
		Of: CellMetricSpec{scenario + ".rocketmq-java", time}, To: CellMetricSpec{scenario + ".tuned", time},
	}
}

// limit compares what the machine can do with the peer.
func limit(name, baseline, rate string, to CellMetricSpec) RatioSpec {
	return RatioSpec{Name: "limit: " + name + ", to rocketmq-java", Of: CellMetricSpec{baseline + ".tuned", rate}, To: to}
}
