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
	{quick, "a first look in about 80 s: RocketMQ's defaults, RocketMQ warmed up and this engine at 200,000 messages of 1 KiB per second"},
	{dispatchStudy, "building queues and index beside append, and how far dispatch lags at 200,000 messages per second with the help of puts and without; about 2 min 30 s"},
	{coldPaths, "three ways to read what is not in memory, by what 64 readers do to a 1 ms ticker on two processors; about 2 min 30 s"},
	{recoveryStudy, "starts after a close, after a kill and with nothing but the log, beside a scan of the same log; about 2 min 30 s"},
	{peerStudy, "RocketMQ's own store on a Java virtual machine beside this engine: append, sync, dispatch, lookup, destroy; some 45 min, needs Java and Maven"},
	{recycling, "the rate at which a log can be written for as long as one likes, with and without recycling of deleted files; about 3 min"},
	{destroyStrategies, "how old files are best taken down while a log is written: five ways beside a log that keeps all, about 30 min"},
}

// quick compares the three configurations that a newcomer asks for, and the
// first one with itself. Seven blocks are the fewest from which two of them can be
// told from the first under Holm's correction: 2 * 2/2^7 < 0.05; with six it would
// be 0.0625 at best.
//
// Of the 90 s that it may take in all, 7 * 4 runs get 1.4 s each for warm-up and
// window. The rest goes to what each run needs beside: about 1 s for its process,
// its files and their removal, and 1.6 s more for rocketmq-warm, which makes and locks
// the pages of two files before its clock runs. That is why files are half as large as
// they are by default; no run gets to the end of its first one. The window cannot be
// much shorter: of 140,000 operations 14 are beyond p99.99, and it holds a flush,
// which comes every 500 ms.
var quick = Spec{
	Name:     "quick",
	Seed:     1,
	Blocks:   7,
	Warmup:   pointer(Duration(700 * time.Millisecond)),
	Duration: Duration(700 * time.Millisecond),
	Cooldown: pointer(Duration(100 * time.Millisecond)),
	Limit:    Duration(85 * time.Second),
	Primary:  []string{"append.service.p99.9"},
	Configs:  []ConfigSpec{{Name: "rocketmq"}, {Name: "rocketmq-warm"}, {Name: "tuned"}},
	Scenarios: []ScenarioSpec{
		{Scenario: "append", Rate: "200000", Size: workload.Sizes{}, Set: map[string]string{"commitLogFileBytes": "512MiB"}},
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
