// Package torture kills stores and looks at what is left. It answers one
// question: is anything that a store acknowledged ever lost, stored twice, found
// in the wrong place, or joined by something that nobody sent?
//
//	     plan: round R of seed S                       a process of its own
//	┌──────────────────────────────────┐   spec   ┌──────────────────────────────┐
//	│ option set, one to three lives,  │ ───────► │ open, put known messages,    │
//	│ how each of them ends            │ ◄─────── │ tell what was sent and acked │
//	└──────────────────────────────────┘  events  └──────────────┬───────────────┘
//	     ▲                                                       ▼ dies
//	     │ next round, same directory                     what is left on disk
//	     │                                                       │
//	┌────┴─────────────────────────────┐          ┌──────────────▼───────────────┐
//	│ ledger: what the store holds     │ ◄─────── │ open again, walk, judge,     │
//	│ from now on, for ever            │  settle  │ ask by queue and key, audit  │
//	└──────────────────────────────────┘          └──────────────────────────────┘
//
// # Deaths
//
//	kill    SIGKILL: the page cache stays, memory of the process goes
//	power   the machine goes off at some call to the disk: of what was not synced
//	        any sectors, file lengths and names may be there, or none (package mmaptest)
//	full    the disk has no room for some files, then has it again; then kill
//	sync    a sync fails; nothing more may be accepted; then kill or power
//	close   no death: the store is closed in order
//
// Kill and power also strike while the store opens or closes. A round of several
// lives checks only after the last, so that recovery is interrupted as well.
//
// What a killed process left in the page cache is not on the disk: if the power goes
// off in the next life, only what one of the two has synced is sure to survive. So
// what a process syncs is written down while it lives (image.go).
//
// # What must be there
//
//	            page cache stays                      power goes off
//	flush sync  every put that waited                 every put that waited
//	async       all; with transient buffers what      what was flushed when the
//	            was committed to the page cache       power went off
//
// All acknowledged messages of a life up to some log offset are there, none behind
// it; the offset must not lie before what the table demands. What lies behind is
// the window that this death could cost: the report states its greatest size.
// What a later life of the round has recovered must survive that one's death as well.
// A put that failed without having stored anything must not be found, nor may a
// message that was lost once come back.
//
// With a limit on the size of the log its oldest files are deleted while children
// live, recycled ones among them; then nothing but these may be gone.
//
// # Repeating
//
// A round is a pure function of seed and number; when exactly a process dies in it
// depends on the machine as well. The directory keeps the store as it was before
// the last round, so that a round that found something can be run again:
//
//	DIR/store       the store
//	DIR/before-R    the store as it was before the last round
//	DIR/violation-R the store in which something was found to be wrong
//	DIR/ledger      what the store holds, round by round
//	DIR/clone, base, synced     of the round under way: what a power cut leaves, the
//	                            store after the last one, and what was synced since
//
// # Concurrency
//
// Run works in one goroutine; beside it there is at most one child process.
package torture
