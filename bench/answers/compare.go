package answers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"commitlab/bench/plan"
	"commitlab/engine/message"
)

// maxLineBytes is far above the longest line, a record with properties of 32 KiB.
const maxLineBytes = 4 << 20

// A Difference is the first place where two texts of answers part.
type Difference struct {
	Line   int      // counted from 1
	Fields []string // that differ, if both lines are of the same kind
	A, B   string   // the lines; "" where a text has ended
}

// String shows both sides under each other, each under the name given for it.
func (d *Difference) String(a, b string) string {
	width := max(len(a), len(b))
	show := func(line string) string {
		if line == "" {
			return "(ends here)"
		}
		return line
	}
	var where string
	if len(d.Fields) > 0 {
		where = ": " + strings.Join(d.Fields, ", ")
	}
	return fmt.Sprintf("line %d differs%s\n  %-*s  %s\n  %-*s  %s", d.Line, where, width, a, show(d.A), width, b, show(d.B))
}

// A Comparison is the outcome of Compare.
type Comparison struct {
	Lines   int         // that are the same
	Untimed int         // among them, those forgiven for release 4
	First   *Difference // nil if all are the same
}

// Compare reads two texts of answers up to where they part. Lines are compared as
// text: both sides write fields in the same order.
//
// RocketMQ 4.9 recovers after a kill before it has read its table of delays: units
// of delayed messages that it makes then have no time of delivery. For release 4
// such a unit on one side is forgiven and counted.
func Compare(a, b io.Reader, r plan.Release) (c Comparison, err error) {
	left, right := newScanner(a), newScanner(b)
	for {
		hasLeft, hasRight := left.Scan(), right.Scan()
		if err := errors.Join(left.Err(), right.Err()); err != nil {
			return c, err
		}
		switch {
		case !hasLeft && !hasRight:
			return c, nil
		case hasLeft && hasRight && bytes.Equal(left.Bytes(), right.Bytes()):
		case hasLeft && hasRight && r == plan.V4 && untimed(left.Bytes(), right.Bytes()):
			c.Untimed++
		default:
			c.First = newDifference(c.Lines+1, hasLeft, left, hasRight, right)
			return c, nil
		}
		c.Lines++
	}
}

func newDifference(line int, hasLeft bool, left *bufio.Scanner, hasRight bool, right *bufio.Scanner) *Difference {
	d := &Difference{Line: line}
	if hasLeft {
		d.A = left.Text()
	}
	if hasRight {
		d.B = right.Text()
	}
	d.Fields = differing(d.A, d.B)
	return d
}

// untimed reports whether two lines are of the same unit of a delayed message and
// differ in that one has no time: what it has instead is a hash of 32 bits.
func untimed(a, b []byte) bool {
	var x, y messageLine
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil || x.Kind != "message" || x.Topic != message.ScheduleTopic {
		return false
	}
	least, most := min(x.TagsCode, y.TagsCode), max(x.TagsCode, y.TagsCode)
	x.TagsCode = y.TagsCode
	return x == y && least <= math.MaxInt32 && most > math.MaxInt32
}

func newScanner(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLineBytes)
	return s
}

// differing names the fields of two lines of the same kind that differ.
func differing(a, b string) (fields []string) {
	var x, y map[string]json.RawMessage
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil || !bytes.Equal(x["kind"], y["kind"]) {
		return nil
	}
	all := maps.Clone(x)
	maps.Copy(all, y)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !bytes.Equal(x[name], y[name]) {
			fields = append(fields, name)
		}
	}
	return fields
}
