package result

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Range and precision of every histogram in a result. All histograms of a
// result have the same geometry, so that merging them loses nothing; Writer
// refuses any other.
const (
	LowestNs          = 1               // smallest distinguishable value
	HighestNs         = 100_000_000_000 // 100 s; longer is clamped to it and counted as over range
	SignificantDigits = 3
)

// NewHistogram returns an empty histogram of the one geometry of a result.
func NewHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(LowestNs, HighestNs, SignificantDigits)
}

// Kind is what a histogram of an operation measures.
type Kind string

// The kinds. All but Service exist in open loop only: a closed loop has no due
// times.
const (
	Service  Kind = "service"  // end - start
	Response Kind = "response" // end - due
	Slip     Kind = "slip"     // start - due
	Lag      Kind = "lag"      // start - the later of due and worker free: the generator's own share of the slip
)

// Kinds lists the kinds in the order in which they are printed.
var Kinds = []Kind{Service, Response, Slip, Lag}

// HiccupTag is the tag of the hiccup meter's histogram, the only one that
// belongs to no operation.
const HiccupTag = "hiccup"

// Tag names the histogram of one operation and kind, for example
// "append.service".
func Tag(op string, kind Kind) string { return op + "." + string(kind) }

// Extremes keeps what a histogram cannot: the exact maximum and how many
// values were longer than HighestNs.
type Extremes struct {
	// MaxNs is the exact longest value; 0 when nothing was recorded.
	MaxNs int64 `json:"max_ns"`
	// OverRange counts values above HighestNs. Each of them is in the
	// histogram too, clamped to HighestNs, so that the histogram's count is the
	// number of operations.
	OverRange int64 `json:"over_range"`
}

// Add takes the extremes of another part of the same distribution in.
func (e *Extremes) Add(o Extremes) {
	e.MaxNs = max(e.MaxNs, o.MaxNs)
	e.OverRange += o.OverRange
}

// OpTick is what one operation did in one interval. A nil histogram means that
// nothing was recorded. Extremes that are left zero are taken from the
// histogram (to its precision).
type OpTick struct {
	Name                         string
	Service, Response, Slip, Lag *hdrhistogram.Histogram

	ServiceExtremes, ResponseExtremes, SlipExtremes, LagExtremes Extremes
}

// Tick is one interval of the measured window. Start and End are dates whose
// difference was taken on the monotonic clock. Writer tags and stamps the
// histograms and keeps none of them.
type Tick struct {
	Start, End     time.Time
	Ops            []OpTick
	Hiccup         *hdrhistogram.Histogram
	HiccupExtremes Extremes
	// Counters is whatever the instance counts, cumulative at End; it is stored
	// as JSON and may be nil.
	Counters any
}

// Outlier is one operation that took longer than the threshold of its run,
// with what is known of the reasons. Times are nanoseconds since the start of
// the measured window on the monotonic clock.
type Outlier struct {
	Op      string `json:"op"`
	Worker  int    `json:"worker"`
	Seq     uint64 `json:"seq"`              // number of the operation in its run
	DueNs   *int64 `json:"due_ns,omitempty"` // nil in closed loop
	StartNs int64  `json:"start_ns"`
	EndNs   int64  `json:"end_ns"`
	// Offset is the physical offset the operation touched, where there is one.
	Offset *int64 `json:"offset,omitempty"`
	// Notes holds what else was measured about the operation, by name: the time
	// of its stages ("lock_ns"), faults of its thread, crossings.
	Notes map[string]int64 `json:"notes,omitempty"`
}
