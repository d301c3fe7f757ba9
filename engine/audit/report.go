package audit

import (
	"fmt"
	"math"
)

// listLimit is how many faults of one part, and how many notes, a report lists.
// All are counted.
const listLimit = 20

// A Part is what a fault belongs to.
type Part string

// The parts.
const (
	CommitLog    Part = "commitlog"
	ConsumeQueue Part = "consumequeue"
	Index        Part = "index"
	Root         Part = "root" // checkpoint, progress of delayed messages
)

// A Fault is one thing that is wrong.
type Fault struct {
	Part     Part   `json:"part"`
	File     string `json:"file"`     // relative to the store
	Position int64  `json:"position"` // byte in the file
	What     string `json:"what"`
}

func (f Fault) String() string { return fmt.Sprintf("%s at byte %d: %s", f.File, f.Position, f.What) }

// A Report is what Verify found.
type Report struct {
	Dir        string       `json:"dir"`
	FaultCount int          `json:"faultCount"`
	Faults     []Fault      `json:"faults"` // at most 20 for each part
	Notes      []string     `json:"notes"`  // lawful, but worth knowing; at most 20
	CommitLog  LogReport    `json:"commitLog"`
	Queues     QueuesReport `json:"consumeQueues"`
	Index      IndexReport  `json:"index"`
	State      State        `json:"state"`

	byPart map[Part]int // faults, all of them
}

func newReport(dir string) *Report {
	return &Report{Dir: dir, Faults: []Fault{}, Notes: []string{}, byPart: make(map[Part]int)}
}

// Clean reports whether nothing is wrong.
func (r *Report) Clean() bool { return r.FaultCount == 0 }

// LogReport sums up the commit log. Offsets are physical, times epoch ms.
type LogReport struct {
	Files        int   `json:"files"`
	Bytes        int64 `json:"bytes"` // of the files
	Min          int64 `json:"min"`
	End          int64 `json:"end"` // behind the last record
	Records      int64 `json:"records"`
	Damaged      int64 `json:"damagedRecords"` // among the records
	Blanks       int64 `json:"blanks"`
	FirstStoreMs int64 `json:"firstStoreMs"`
	LastStoreMs  int64 `json:"lastStoreMs"` // the greatest
}

// QueuesReport sums up the consume queues.
type QueuesReport struct {
	Queues      int   `json:"queues"`
	Files       int   `json:"files"`
	Units       int64 `json:"units"`   // all below
	Live        int64 `json:"live"`    // of a record in the log
	Expired     int64 `json:"expired"` // of a record before it
	Prefill     int64 `json:"prefill"`
	Extended    int64 `json:"extended"`    // live, with the tags code in the extension
	Untimed     int64 `json:"untimed"`     // live, of delayed messages, without the time of delivery
	PhysicalEnd int64 `json:"physicalEnd"` // behind the last record that a live unit points at
}

// IndexReport sums up the index.
type IndexReport struct {
	Files       int   `json:"files"`
	FileSlots   int   `json:"fileSlots"` // of the last file; 0 if no file has items
	FileItems   int   `json:"fileItems"` // with item 0, which is never used
	Items       int64 `json:"items"`
	Live        int64 `json:"live"`    // of a record in the log
	Expired     int64 `json:"expired"` // of a record before it
	Tags        int64 `json:"tags"`    // of a record in the log, for its tags
	Keys        int64 `json:"keys"`    // that the records of the log have
	PhysicalEnd int64 `json:"physicalEnd"`
}

func (r *Report) fault(part Part, file string, position int64, format string, args ...any) {
	r.FaultCount++
	if r.byPart[part]++; r.byPart[part] <= listLimit {
		r.Faults = append(r.Faults, Fault{part, file, position, fmt.Sprintf(format, args...)})
	}
}

func (r *Report) note(format string, args ...any) {
	if len(r.Notes) < listLimit {
		r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
	}
}

// noLimit is an offset behind every other.
const noLimit = math.MaxInt64
