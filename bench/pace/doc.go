// Package pace says when operations are due, and waits for that moment.
//
// A Pacer is a schedule: a pure function from the number of an operation to its
// due time. The schedule is the origin of every response time, so nothing that
// happens during a run may bend it:
//
//	number n:     0    1    2    3    4    5    6    7
//	due:          |    |    |    |    |    |    |    |      Due(n), from the start of the run
//	service:      ###  ##################  ## ## ##  ###    what the target did
//	start - due:                         <-- 3, 4, 5 start late, none is skipped,
//	                                         and their due times stay where they were
//
// Schedules are immutable after they are made and safe for concurrent use;
// Due is monotone: Due(n) <= Due(n+1). Due and Rate allocate nothing.
//
// A Waiter turns a due time into a wait. Runtime timers are late by up to about
// one millisecond when the process is idle, so the Waiter sleeps with a timer
// while the due time is far, with a system sleep while it is near, and spins on
// the clock only for the last stretch. It never returns early and never decides
// that a due time has been missed: whoever is late is told the time and goes on.
//
// The package knows nothing of targets, workers or histograms.
package pace
