package study

import (
	"time"

	"commitlab/bench/workload"
)

// Named studies are built in.
var Named = []struct {
	Spec Spec
	Doc  string // one line
}{
	{quick, "a first look in about 75 s: RocketMQ's defaults, RocketMQ warmed up and this engine at 200,000 messages of 1 KiB per second"},
	{peerStudy, "RocketMQ's own store on a Java virtual machine beside this engine: append, sync, dispatch, lookup, destroy; some 30 min, needs Java and Maven"},
	{destroyStrategies, "how old files are best taken down while a log is written: five ways beside a log that keeps all, about 30 min"},
}

// quick compares the three configurations that a newcomer asks for, and the
// first one with itself. Six blocks are the fewest from which a difference can
// be told from chance.
var quick = Spec{
	Name:     "quick",
	Seed:     1,
	Blocks:   6,
	Warmup:   pointer(Duration(700 * time.Millisecond)),
	Duration: Duration(1300 * time.Millisecond),
	Cooldown: pointer(Duration(100 * time.Millisecond)),
	Limit:    Duration(85 * time.Second),
	Primary:  []string{"append.service.p99.9"},
	Configs:  []ConfigSpec{{Name: "rocketmq"}, {Name: "rocketmq-warm"}, {Name: "tuned"}},
	Scenarios: []ScenarioSpec{
		{Scenario: "append", Rate: "200000", Size: workload.Sizes{}},
	},
}

// FindNamed returns a built-in study.
func FindNamed(name string) (Spec, bool) {
	for _, n := range Named {
		if n.Spec.Name == name {
			return n.Spec, true
		}
	}
	return Spec{}, false
}
