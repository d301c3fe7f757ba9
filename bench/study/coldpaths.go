package study

import "time"

// coldPaths compares the ways to read records that are not in memory, by what 64
// readers that wait for the disk do to others: a goroutine that is due every
// millisecond and reads nothing.
//
//	fault      the readers touch the pages; the runtime does not know that they wait
//	populate   the system makes the pages first, in a call that the runtime knows
//	pread      the records are copied to the heap
//
// Two processors of the runtime are what makes the difference visible, and what a
// small machine has. The log is dropped from the page cache again and again, in the
// place of a limit of memory, which would also slow down what is not read; the report
// tells how much of it was cached.
//
// Seven blocks are the fewest from which two ways can be told from the first under
// Holm's correction.
var coldPaths = Spec{
	Name:     "cold-paths",
	Seed:     1,
	Blocks:   7,
	Duration: Duration(2 * time.Second),
	Cooldown: pointer(Duration(100 * time.Millisecond)),
	Limit:    Duration(220 * time.Second),
	Primary:  []string{"ticker.service.p99"},
	Procs:    2,
	Ratios: []RatioSpec{
		{
			Name: "ticker p99, populate to fault", AtMost: 0.1,
			Of: CellMetricSpec{"cold.populate", "ticker.service.p99"}, To: CellMetricSpec{"cold.fault", "ticker.service.p99"},
		},
		{
			Name: "ticker p99, pread to fault",
			Of:   CellMetricSpec{"cold.pread", "ticker.service.p99"}, To: CellMetricSpec{"cold.fault", "ticker.service.p99"},
		},
		{
			Name: "ticker to hiccup, p99, populate",
			Of:   CellMetricSpec{"cold.populate", "ticker.service.p99"}, To: CellMetricSpec{"cold.populate", "hiccup.p99"},
			Note: "near 1 the ticker is no later than a thread that needs no processor of the runtime and only sleeps: it waits for the machine, which the readers keep busy, and not for a goroutine that reads.",
		},
		{
			Name: "hiccup of populate to ticker of fault, p99",
			Of:   CellMetricSpec{"cold.populate", "hiccup.p99"}, To: CellMetricSpec{"cold.fault", "ticker.service.p99"},
			Note: "what populate to fault comes to where the ticker is as late as a thread that only sleeps.",
		},
	},
	Configs: []ConfigSpec{
		{Name: "fault", Base: "tuned", Set: map[string]string{"coldRead": "fault"}},
		{Name: "populate", Base: "tuned", Set: map[string]string{"coldRead": "populate"}},
		{Name: "pread", Base: "tuned", Set: map[string]string{"coldRead": "pread"}},
	},
	Scenarios: []ScenarioSpec{
		{Scenario: "lookup_cold", Name: "cold", Writers: 64, MaxBytes: 256 << 20},
	},
}
