package study

import "time"

// recoveryStudy asks how near a start comes to reading the log once:
//
//	baseline_scan   the log read in sequence and its CRC taken, on one processor
//	recover         the start of a store that was closed in order
//	recover_bare    after a kill with nothing left but the log: all of it is verified,
//	                queues and index are built again
//	rebuild         a closed store whose queues and index are gone: they are built again
//
// Each is compared by the time for a MiB of log that it went through, all of it in
// the page cache. The reciprocal is the rate, so that 0.5 is half the speed of the
// scan.
var recoveryStudy = Spec{
	Name:     "recovery",
	Seed:     1,
	Blocks:   6,
	Duration: Duration(2 * time.Second),
	Cooldown: pointer(Duration(100 * time.Millisecond)),
	Limit:    Duration(220 * time.Second),
	AA:       pointer(false),
	Primary:  []string{"recover.mib.service.p50"},
	Ratios: []RatioSpec{
		{Name: "recover to scan", Of: theScan, To: CellMetricSpec{"recover.tuned", "recover.mib.service.p50"}, AtLeast: 0.5},
		{Name: "recover_bare to scan", Of: theScan, To: CellMetricSpec{"recover_bare.tuned", "recover.mib.service.p50"}, AtLeast: 0.25},
		{Name: "rebuild to scan", Of: theScan, To: CellMetricSpec{"rebuild.tuned", "rebuild.mib.service.p50"}},
		{
			Name: "recover_bare to the scan between its starts",
			Of:   CellMetricSpec{"recover_bare.tuned", "scan.mib.service.p50"}, To: CellMetricSpec{"recover_bare.tuned", "recover.mib.service.p50"},
		},
	},
	Configs: []ConfigSpec{{Name: "tuned"}},
	Scenarios: []ScenarioSpec{
		{Scenario: "baseline_scan", MaxBytes: 512 << 20},
		{Scenario: "recover", MaxBytes: 512 << 20},
		{Scenario: "recover_bare", MaxBytes: 512 << 20},
		{Scenario: "dispatch_rebuild", Name: "rebuild", MaxBytes: 512 << 20, Set: map[string]string{"commitLogFileBytes": "64MiB"}},
	},
}

// theScan is the time for a MiB of it, beginning and end of files included.
var theScan = CellMetricSpec{"baseline_scan.tuned", "scan.mib.period"}
