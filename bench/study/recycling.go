package study

import (
	"time"

	"commitlab/bench/workload"
)

// recycling asks how much faster a log can be written for as long as one likes if
// deleted files become its next ones. Only the oldest part of a log goes, so files are
// made and deleted all the time; the warm-up is long enough for the first of them to
// have come back. Nothing is dispatched, which would be the slowest part otherwise.
//
// In the end a disk can be written to no faster than it is, with either. Where that is
// slower than memory, a store in memory (--dir below /dev/shm) shows what recycling
// itself is worth. The larger a message, the more of its time goes into pages.
var recycling = Spec{
	Name:     "recycling",
	Seed:     1,
	Blocks:   6,
	Warmup:   pointer(Duration(1500 * time.Millisecond)),
	Duration: Duration(2 * time.Second),
	Cooldown: pointer(Duration(100 * time.Millisecond)),
	Limit:    Duration(6 * time.Minute),
	AA:       pointer(false),
	Primary:  []string{"append.service.p99.9"},
	Ratios:   []RatioSpec{recycledRate("1KiB"), recycledRate("4KiB"), recycledRate("16KiB")},
	Configs: []ConfigSpec{
		{Name: "background", Base: "tuned", Set: map[string]string{"destroy": "background"}},
		{Name: "recycle", Base: "tuned", Set: map[string]string{"destroy": "recycle"}},
	},
	Scenarios: []ScenarioSpec{sustained("1KiB"), sustained("4KiB"), sustained("16KiB")},
}

// sustained writes messages of one size as fast as it goes.
func sustained(size string) ScenarioSpec {
	sizes, err := workload.ParseSizes(size)
	if err != nil {
		panic(err) // a constant
	}
	return ScenarioSpec{Scenario: "retention", Name: size, Size: sizes, Set: map[string]string{"dispatch": "off"}, MaxBytes: 16 << 30}
}

// recycledRate compares the rates of the two by the time from one message to the next.
func recycledRate(size string) RatioSpec {
	return RatioSpec{
		Name: "rate with recycling to rate without, " + size, AtLeast: 2,
		Of: CellMetricSpec{size + ".background", "append.period"}, To: CellMetricSpec{size + ".recycle", "append.period"},
	}
}
