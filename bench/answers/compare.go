package answers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
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

// Compare reads two texts of answers and returns where they part first, nil if
// they are the same, and how many lines are the same. Lines are compared as
// text: both sides write fields in the same order.
func Compare(a, b io.Reader) (same int, d *Difference, err error) {
	left, right := newScanner(a), newScanner(b)
	for {
		hasLeft, hasRight := left.Scan(), right.Scan()
		if err := errors.Join(left.Err(), right.Err()); err != nil {
			return same, nil, err
		}
		if !hasLeft && !hasRight {
			return same, nil, nil
		}
		if !hasLeft || !hasRight || !bytes.Equal(left.Bytes(), right.Bytes()) {
			d := &Difference{Line: same + 1}
			if hasLeft {
				d.A = left.Text()
			}
			if hasRight {
				d.B = right.Text()
			}
			d.Fields = differing(d.A, d.B)
			return same, d, nil
		}
		same++
	}
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
