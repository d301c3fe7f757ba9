package result

import "strings"

// A bystander is an operation whose service times are also kept apart by whether
// something else went on meanwhile: append beside the destruction of a file. The
// two parts have tags of their own, "append.inside.service" and
// "append.outside.service".
const (
	insideSuffix  = ".inside"
	outsideSuffix = ".outside"
)

// InsideOp and OutsideOp are the operation names of the two parts.
func InsideOp(op string) string { return op + insideSuffix }

// OutsideOp is the other part; see InsideOp.
func OutsideOp(op string) string { return op + outsideSuffix }

// BystanderOf returns whose part an operation name is.
func BystanderOf(part string) (op string, inside, ok bool) {
	if op, ok = strings.CutSuffix(part, insideSuffix); ok {
		return op, true, true
	}
	op, ok = strings.CutSuffix(part, outsideSuffix)
	return op, false, ok
}

// Disturbed tells what bystanders were sorted by.
type Disturbed struct {
	// MarginNs is for how long after a disturbance operations still count as
	// inside.
	MarginNs int64 `json:"margin_ns"`
	Count    int   `json:"count"`   // disturbances, overlapping ones counted as one
	TimeNs   int64 `json:"time_ns"` // their length, margins included
	// UnsortedNs is how much of them became known too late, so that operations
	// meanwhile stand outside; Lost how many operations are in neither part.
	UnsortedNs int64  `json:"unsorted_ns,omitempty"`
	Lost       uint64 `json:"lost,omitempty"`
}

// Bystander is the two parts of one operation's service times.
type Bystander struct {
	Inside  Figures `json:"inside_ns"`
	Outside Figures `json:"outside_ns"`
}

// bystanders moves the parts out of a summary's operations to where they belong.
func (s *Summary) bystanders() {
	for name, part := range s.Ops {
		op, inside, ok := BystanderOf(name)
		if !ok {
			continue
		}
		if s.Bystander == nil {
			s.Bystander = make(map[string]Bystander)
		}
		b := s.Bystander[op]
		if inside {
			b.Inside = part.Service
		} else {
			b.Outside = part.Service
		}
		s.Bystander[op] = b
		delete(s.Ops, name)
	}
}
