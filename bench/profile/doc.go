// Package profile takes profiles of exactly one measured window.
//
//	Start -- window -- Stop         per kind, in dir:
//	  cpu    samples of running code        RUN-SCENARIO-CONFIG.cpu.pprof
//	  wall   samples of all goroutines      ...wall.pprof     running or waiting (fgprof)
//	  heap   growth and allocations         ...heap.pprof     end minus start
//	  mutex  contention                     ...mutex.pprof    end minus start
//	  block  waits                          ...block.pprof    end minus start
//	  trace  execution trace                ...trace          for go tool trace
//
// The runtime's heap, mutex and block profiles count from the start of the
// process; what is written here is their difference over the window. Every pprof
// file carries the date and the length of the window and, as comments, the run,
// the scenario and the configuration it belongs to.
//
// A profiled run is not a timing run: taking the profile costs time, the wall
// profile more with each goroutine. The package says so in each file and leaves
// it to callers to keep the two apart.
//
// One Session at a time per process: the runtime has one CPU profiler and one
// tracer, and the mutex and block rates are global.
package profile
