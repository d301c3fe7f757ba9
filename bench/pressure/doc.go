// Package pressure does, on purpose, what otherwise happens by chance while a
// store is measured: something else writes, keeps memory, fills the disk.
//
//	kind           what happens beside the load                       given back by
//	held-readers   records are kept by readers for longer than a      releasing them
//	               destruction waits
//	page-writer    a file of its own is written at a set rate and     the file has no name: the system,
//	               dropped, again and again                           when it is closed or the process dies
//	ballast        memory is touched, or locked                       unmapping it
//	memory-limit   the process gets a memory control group of its     going back to the old group; without
//	               own; where that cannot be, ballast                 groups as for ballast
//	disk-filler    blocks are reserved up to a ratio of the disk      as for page-writer
//	fsync-storm    small durable writes at a set rate                 as for page-writer
//	cpu-hog        processes that do nothing but compute              ending them; they also end by
//	                                                                  themselves when this process is gone
//
// Kinds combine: "held-readers=8,page-writer=200MB/s". Each says afterwards what
// it really did, since a machine may not give what was asked for.
//
// # Invariants
//
//   - Nothing takes what the machine needs: memory and disk are only taken down
//     to a reserve (see room.go), whatever was asked for.
//   - What was taken is given back by Session.Stop, which also happens when the
//     context ends. What a killed process could not give back does not outlive
//     it: files have no names, processes watch for their parent, and an empty
//     control group is removed by the next one who makes one.
//
// A Set is immutable. A Session's methods may be called from any goroutine.
package pressure
