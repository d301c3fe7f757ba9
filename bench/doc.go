// Package bench is the lab: how the store in engine is loaded, measured and
// compared. The package itself holds only Go benchmarks over the scenarios;
// read its parts in this order.
//
//	workload   what data: a message as a function of seed, worker and sequence
//	pace       when: schedules as functions of the operation number
//	scenario   what is done: the registry, the baselines, the named configurations
//	pressure   what is done beside it on purpose: held readers, other writers, scarce memory
//	measure    how it is timed: warm-up, window, drain; service, response, slip
//	peer       the same done to another program's store, in a process of its own
//	result     what is kept of a run: manifest, latency log, counters, outliers
//	study      what is compared: cells, blocks and their order, a process each
//	stat       what a comparison may conclude
//	report     how results are shown: comparisons, figures (chart), profiles by function (hotspot)
//	profile    profiles of exactly the measured window
//	host       what the machine is, and what about it spoils a result
//	torture    not how fast, but whether: kills stores and checks what is left
//
// Three more hold the store against RocketMQ's own, which scripts/rocketmq drives:
//
//	plan       content of every kind, the same for both
//	answers    everything a store answers about what it holds, and the first difference
//	bytewise   two directories made from the same plan, byte by byte
//
// # Benchmarks
//
// The same operations that loadgen times run under go test, with names that
// benchstat can project:
//
//	go test ./bench -bench 'Scenario/scenario=append$' -benchtime 500000x -count 10
//	go test ./bench -bench . -benchtime 20000x -dir /mnt/disk
//
// Scenarios of which one operation is a whole restart (recover, dispatch_rebuild)
// are left to loadgen; baseline_scan counts MiB.
//
// Give -benchtime as a count: then all runs write the same bytes, and a
// baseline prepares exactly as many. The benchmark counts operations; one in
// sixteen is timed by itself for the percentiles. Setting up, verifying and
// replacing a store whose byte budget is used are not part of any figure.
package bench
