package study

import "time"

// destroyStrategies compares the ways to take old files down while a log is
// written, with each other and with a log of which nothing is taken down.
//
//	kept         nothing is deleted: what the others are compared with
//	inline       whoever gives up the last reference unmaps and closes the file
//	background   another goroutine does
//	stepwise     that one truncates it in pieces, at a set rate
//	punch        the same with holes
//	recycle      the file becomes the next one to be written
//
// Files are so small that a run of some seconds sees a dozen of them come and go.
// The first scenario has a schedule, as a store in use has; on a machine that cannot
// keep one its runs are invalid, and the other two, closed loops, tell what can be
// told there. The third asks what recycling does for the rate that can be
// sustained, compared with background: it is without dispatch, which would be the
// slowest part otherwise, and with files of the usual 64 MiB.
//
// Eight blocks are the fewest from which five ways can be told from the first under
// Holm's correction: 5 * 2/2^8 < 0.05; with six it would be 0.16 at best.
var destroyStrategies = Spec{
	Name:     "destroy-strategies",
	Seed:     1,
	Blocks:   8,
	Warmup:   pointer(Duration(time.Second)),
	Duration: Duration(6 * time.Second),
	Cooldown: pointer(Duration(300 * time.Millisecond)),
	Limit:    Duration(45 * time.Minute),
	Primary:  []string{"append.service.p99.99"},
	Configs: []ConfigSpec{
		{Name: "kept", Base: "tuned", Set: map[string]string{"maxLogBytes": "1TiB"}},
		{Name: "inline", Base: "tuned", Set: map[string]string{"destroy": "inline"}},
		{Name: "background", Base: "tuned", Set: map[string]string{"destroy": "background"}},
		{Name: "stepwise", Base: "tuned", Set: map[string]string{"destroy": "stepwise"}},
		{Name: "punch", Base: "tuned", Set: map[string]string{"destroy": "punch"}},
		{Name: "recycle", Base: "tuned", Set: map[string]string{"destroy": "recycle"}},
	},
	Scenarios: []ScenarioSpec{
		{Scenario: "retention", Name: "async", Rate: "40000", Set: map[string]string{"commitLogFileBytes": "16MiB"}},
		{Scenario: "retention_sync", Name: "sync", Set: map[string]string{"commitLogFileBytes": "4MiB"}, MaxBytes: 3 << 30},
		{
			Scenario: "retention", Name: "sustained", Set: map[string]string{"dispatch": "off"}, MaxBytes: 3 << 30,
			Only: []string{"background", "kept", "inline", "stepwise", "punch", "recycle"},
		},
	},
}
