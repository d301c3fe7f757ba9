// Package index finds records by key: a rolling set of hash files that lead from
// the hash of "topic#key" to physical offsets in the commit log, newest first.
//
// # One file
//
//	0        8       16            24           32     36     40
//	├────────┼────────┼─────────────┼────────────┼──────┼──────┼─ Slots × 4 ─┬─ Items × 20 ────┐
//	│ begin  │  end   │    begin    │    end     │ used │count │ newest item │ item 0 (unused) │
//	│  time  │  time  │  physical   │  physical  │slots │      │ of the slot │ item 1 …        │
//	└────────┴────────┴─────────────┴────────────┴──────┴──────┴─────────────┴─────────────────┘
//
//	item   0       4                12        16         20
//	       ├───────┼─────────────────┼─────────┼──────────┤
//	       │ hash  │ physical offset │ seconds │ previous │
//	       └───────┴─────────────────┴─────────┴──────────┘
//
// All integers are big-endian and signed. Times are store times of records in
// epoch milliseconds: begin that of item 1, end that of the last item. An item
// has the whole seconds since begin instead. The items of one slot (hash modulo
// Slots) form a chain, newest first; item number 0 ends it. count is the number
// of the next item, so an empty file has 1 (or 0, as created) and a full one
// Items: it holds Items−1 items. Files are named by the local time of their
// creation, yyyyMMddHHmmssSSS, and are what Apache RocketMQ 4 and 5 read and
// write.
//
// # From Add to an answer
//
//	Add ─► Put ─► tail full? ── yes ─► new file (allocated, name durable)
//	               │ no                     └► the full one: Step syncs it in the background,
//	               ▼                           DurableMs moves
//	       item ─► count ─► slot ─► end
//
//	Search ─► newest file: slot ─► item ─► previous … ─► older file … ─► Cursor
//
// The index answers with candidates: records whose key has the same hash. Two
// keys may share one, so the caller compares topic and keys with the record
// before it believes a hit. Items do not have the exact time either; a time range
// may let candidates through that lie outside, and never hides one that lies
// inside, even if the clock was set back while the file was written.
//
// # Invariants
//
//   - An item is complete before count includes it, and counted before a slot
//     leads to it. A process killed in between leaves an item that no slot leads
//     to, never a chain that leads to another slot's items.
//   - Previous is less than the item's own number. A link that is not is damage:
//     the walk ends there, with one warning per file. So no walk is endless.
//   - Physical offsets do not fall from one item to the next, over all files.
//   - File names only grow, whatever the clock does.
//
// # After a crash
//
// Slots and links follow from the items alone. Open therefore keeps the
// unfinished file: it takes its items up to the first one that a power cut could
// have damaged, makes the links anew, and erases the rest. The caller then adds
// the records of the log again from EndPhysical on, that record included; Add
// knows which keys of it are there already. Full files up to the index timestamp
// of the checkpoint (DurableMs) are durable and are not read.
//
// Between BeginBuild and EndBuild, while records are added again and nobody
// searches, a new file has its slots and its last items in memory only, and its header
// comes last: see bulk.go.
//
// # Concurrency
//
// One goroutine at a time calls Add, Put and HasRoom; Prepare is safe from any, as long as nobody else
// has the Record. Search, cursors, Snapshot and the accessors
// of the ends and of DurableMs are safe from any goroutine; searching takes no
// lock. A Cursor itself belongs to one goroutine. DeleteBefore and Step may run
// beside all of these, one goroutine each. Truncate, Sync and Close need the
// writer and Step to be stopped.
package index
