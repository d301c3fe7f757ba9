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
// time. Workers draw numbers in order (see tickets), each not before its due
// time and late if need be; nothing is skipped. Of each operation
//
//	due       worker ideally free       start                  end
//	 |---------------|--------------------|---------------------|
//	 |<-- queueing ->|<------ lag ------->|<----- service ----->|
//	 |<------------- slip --------------->|                     |
//	 |<---------------------- response ------------------------>|
//
// response, service and slip are reported. Lag is the part of the slip that the
// generator owes to itself: how much later the operation started than it would
// have if its worker had only ever waited for due times and for the target, that
// is max(due, end of its last operation in that ideal course). A target that
// stalls makes its callers queue, with large slips and no lag. A generator that
// is held up, or too slow, makes large lags, also for the operations that pile up
// behind the one it was late with. Lag decides whether a run is valid.
//
// An operation belongs to the window by its due time, wherever it ends: one due
// in the warm-up and ended in the window is not kept; one due in the window and
// ended in the drain is. A closed loop has no due times: there the start decides,
// and response, slip and lag do not exist.
//
// What the generator has to do for an operation before there is anything to ask is
// no part of it: see Preparer.
//
// What a target does in goroutines of its own it records through Events. It can
// also say there that it was doing something by which operations may have suffered;
// those that overlapped are then told from the others (see Plan.Bystanders). What
// goes on beside the load on purpose, Plan.Beside starts and ends.
//
// # Concurrency
//
// Each worker is a goroutine with a recorder of its own. The operation path reads
// the clock twice, plus once or more while it waits for a due time; it takes no
// lock and allocates nothing. Run's own goroutine collects the recorders at each
// tick (see recorder), merges them, and feeds the Sink. A further goroutine,
// sleeping in the kernel, does nothing but sleep and look at the clock: its
// lateness is the hiccup histogram, the noise of the machine and the Go
// scheduler in the same units.
//
// Memory is bounded by workers, operations and histogram kinds (112 KiB each,
// twice), not by the rate or by how far the target falls behind.
package measure
