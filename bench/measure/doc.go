// Package measure is the one measuring core of the lab: it drives an Instance
// through warm-up, window and drain, and records where the time went. It knows
// no engine.
//
//	run's clock  0          cut                          end         limit
//	             |  warm-up  |  measured window           |   drain   |
//	due there:     not kept    Due                          (nothing is due here)
//	ended there:               Done                         Late        Unfinished, NeverSent
//
// In an open loop the schedule (bench/pace) gives each operation number a due
// time. Workers draw the next number from a shared counter, wait for its due
// time and start, late if need be; nothing is skipped. Of each operation
//
//	due        worker free      start                      end
//	 |---------------|------------|---------------------------|
//	 |<-- queueing ->|<-- lag --->|<--------- service ------->|
//	 |<---------- slip ---------->|                           |
//	 |<--------------------- response ----------------------->|
//
// response, service and slip are reported; lag is the part of the slip that the
// generator owes to itself, and the one that decides whether a run is valid. A
// target that stalls has large slips, since its callers queue, and small lags.
//
// An operation belongs to the window by its due time, wherever it ends: one due
// in the warm-up and ended in the window is not kept; one due in the window and
// ended in the drain is. A closed loop has no due times: there the start decides,
// and response, slip and lag do not exist.
//
// # Concurrency
//
// Each worker is a goroutine with a recorder of its own. The operation path reads
// the clock twice, plus once or more while it waits for a due time; it takes no
// lock and allocates nothing. Run's own goroutine collects the recorders at each
// tick (see recorder), merges them, and feeds the Sink. A further goroutine,
// locked to its thread, does nothing but sleep and look at the clock: its
// lateness is the hiccup histogram, the noise of the machine and the Go
// scheduler in the same units.
//
// Memory is bounded by workers, operations and histogram kinds (112 KiB each,
// twice), not by the rate or by how far the target falls behind.
package measure
