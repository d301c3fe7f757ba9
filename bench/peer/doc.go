// Package peer measures a store that is not of this module, in a process of its
// own, as bench/measure measures one in this process. The peer there is is
// Apache RocketMQ's own store on a Java virtual machine (scripts/rocketmq).
//
//	this process                              the peer's process
//	Job ──► DIR/plan.json ──────────────────► reads it, opens a store in DIR/store,
//	                                          compiles itself warm in DIR/warm-up
//	standard input stays open ──────────────► warm-up, window, drain
//	  (closing it ends the run early)           │
//	                                            ▼
//	measure.Tick ◄── intake ◄──────────────── DIR/ticks.jsonl   limits, maxima and counters of each interval
//	                   ▲ ◄─────────────────── DIR/latency.hlog  its histograms, by any HdrHistogram
//	measure.Outlier ◄──┘ ◄─────────────────── DIR/outliers.jsonl
//	measure.Outcome ◄── measure.Tally ◄────── DIR/outcome.json  counts; how it ended; what the peer is
//
// A peer has the same schedule, warm-up, window, drain and intervals as an
// instance of bench/measure, times the same operations under the same names,
// and counts by the rules of that package. What it recorded is checked and then
// goes the way of everything measured: the sums, the steadiness and the
// judgement are made by bench/measure, the files by bench/result. A reader of a
// result cannot tell the two apart but by its options and its End.Target.
//
// # What is the same and what is not
//
// Messages are those of bench/workload, byte for byte. A constant rate and a
// closed loop are the only schedules. A peer's generator waits and records with
// the means of its own runtime, and its lag and hiccups show what these are
// worth. Before the clock runs it does each operation some hundred thousand
// times on a store that is thrown away, so that what is measured is compiled
// code.
//
// # When there is no peer
//
// A missing runtime is no failure of what is measured: Run returns an error that
// wraps ErrUnavailable and says what is missing.
package peer
