package result

import (
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"commitlab/bench/host"
)

// StudySchema is the version of study.json.
const StudySchema = "commitlab.study/1"

// StudyFile is the name of the file that makes a directory a study.
const StudyFile = "study.json"

// Study is a study as run: every cell resolved, the order drawn.
type Study struct {
	Schema  string    `json:"schema"`
	Name    string    `json:"name"`
	Start   time.Time `json:"start"` // wall clock, RFC 3339 with zone
	Seed    uint64    `json:"seed"`
	Blocks  int       `json:"blocks"`
	Cells   []Cell    `json:"cells"`
	Order   []Slot    `json:"order"` // as it was drawn, not as it was finished
	Command []string  `json:"command,omitempty"`

	Comparisons []Comparison `json:"comparisons,omitempty"`
	// Primary names the metrics that are claims, for example
	// "append.service.p99.9" or "append.rate"; Holm's correction spans them. All
	// others are explored, under Benjamini–Hochberg.
	Primary []string `json:"primary,omitempty"`
	// Ratios are shown beside the comparisons: they may be of different scenarios.
	Ratios []Ratio `json:"ratios,omitempty"`

	// Spec is the study file as resolved, for those who want to run it again.
	Spec json.RawMessage `json:"spec,omitempty"`
	Host host.Facts      `json:"host"`
}

// Cell is one combination that is run once in each block.
type Cell struct {
	// Name is the directory of the cell's runs: letters, digits and ._=+- only.
	Name     string          `json:"name"`
	Label    string          `json:"label,omitempty"` // as printed; Name if empty
	Scenario string          `json:"scenario"`
	Config   string          `json:"config"`
	Pace     string          `json:"pace"`
	Pressure string          `json:"pressure,omitempty"` // beside the load; see Manifest
	Spec     json.RawMessage `json:"spec,omitempty"`
	Options  json.RawMessage `json:"options,omitempty"`
}

// Slot is one place in the order of a study.
type Slot struct {
	Block    int    `json:"block"`    // from 1
	Position int    `json:"position"` // from 1
	Cell     string `json:"cell"`
}

// ComparisonKind says what a comparison is for.
type ComparisonKind string

// The kinds of comparison.
const (
	Claim   ComparisonKind = "claim"   // is B different from A?
	AA      ComparisonKind = "aa"      // A and B are the same: the noise floor
	Control ComparisonKind = "control" // B has an injected delay that must be found
)

// Comparison names two cells to be compared, block by block.
type Comparison struct {
	Kind ComparisonKind `json:"kind"`
	A    string         `json:"a"`
	B    string         `json:"b"`
	// InjectedNs is the delay that a control adds to each operation of B.
	InjectedNs int64 `json:"injected_ns,omitempty"`
}

var pathElement = regexp.MustCompile(`^[A-Za-z0-9_=+-][A-Za-z0-9._=+-]{0,119}$`)

// checkName reports names that cannot be a directory everywhere.
func checkName(what, name string) error {
	if !pathElement.MatchString(name) {
		return fmt.Errorf("%s name %q: want 1 to 120 of letters, digits and ._=+-, not starting with a dot", what, name)
	}
	return nil
}

// Validate reports the first thing that makes the study inconsistent: bad or
// repeated names, slots, comparisons and ratios of unknown cells.
func (s *Study) Validate() error {
	if err := checkName("study", s.Name); err != nil {
		return err
	}
	cells := make(map[string]bool, len(s.Cells))
	for _, c := range s.Cells {
		if err := checkName("cell", c.Name); err != nil {
			return err
		}
		if cells[c.Name] {
			return fmt.Errorf("study %s: cell %q occurs twice", s.Name, c.Name)
		}
		cells[c.Name] = true
	}
	for _, o := range s.Order {
		if !cells[o.Cell] {
			return fmt.Errorf("study %s: block %d runs unknown cell %q", s.Name, o.Block, o.Cell)
		}
	}
	for _, c := range s.Comparisons {
		for _, name := range []string{c.A, c.B} {
			if !cells[name] {
				return fmt.Errorf("study %s: comparison of unknown cell %q", s.Name, name)
			}
		}
	}
	for _, r := range s.Ratios {
		if err := r.validate(cells); err != nil {
			return fmt.Errorf("study %s: %w", s.Name, err)
		}
	}
	return nil
}
