package study

import "time"

// peerStudy sets the store that this engine is compatible with, as it is
// published, beside the engine: with RocketMQ's settings, and with its own. Each
// scenario has the configurations that make a difference to it: a pool of buffers
// or a warmed file does nothing for a reader.
//
// Eight blocks are the fewest from which five configurations can be told from the
// first under Holm's correction: 5 * 2/2^8 < 0.05.
var peerStudy = Spec{
	Name:     "peer",
	Seed:     1,
	Blocks:   8,
	Duration: Duration(1500 * time.Millisecond),
	Limit:    Duration(45 * time.Minute),
	Cooldown: pointer(Duration(100 * time.Millisecond)),
	Primary:  []string{"append.rate"},
	Configs: []ConfigSpec{
		{Name: "rocketmq-java"}, {Name: "rocketmq-java-warm"}, {Name: "rocketmq-java-transient"},
		{Name: "rocketmq"}, {Name: "rocketmq-warm"}, {Name: "tuned"},
	},
	Scenarios: []ScenarioSpec{
		{Scenario: "append", Name: "append-200k", Rate: "200k"},
		{Scenario: "append", Name: "append-1M", Rate: "1M", Only: []string{"rocketmq-java", "rocketmq", "rocketmq-warm", "tuned"}},
		{Scenario: "append", Name: "append-max"},
		{Scenario: "append_sync", Writers: 64, Only: ofEach},
		{Scenario: "dispatch", Rate: "20k", Only: ofEach},
		{Scenario: "dispatch_rebuild", MaxBytes: 256 << 20, Only: ofEach},
		{Scenario: "lookup", MaxBytes: 256 << 20, Only: ofEach},
		{Scenario: "destroy", Only: ofEach},
	},
}

// ofEach is one configuration of each kind.
var ofEach = []string{"rocketmq-java", "rocketmq", "tuned"}
