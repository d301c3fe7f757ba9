package profile

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is one kind of profile.
type Kind string

const (
	CPU   Kind = "cpu"
	Wall  Kind = "wall"
	Heap  Kind = "heap"
	Mutex Kind = "mutex"
	Block Kind = "block"
	Trace Kind = "trace"
)

// Kinds lists all kinds in the order in which they are started.
var Kinds = []Kind{Heap, Mutex, Block, Trace, Wall, CPU}

// ParseKinds reads a list such as "cpu,wall". The empty string is no kind; "all"
// is every kind. A kind named twice counts once.
func ParseKinds(list string) ([]Kind, error) {
	if list == "" {
		return nil, nil
	}
	if list == "all" {
		return slices.Clone(Kinds), nil
	}
	var kinds []Kind
	for word := range strings.SplitSeq(list, ",") {
		k := Kind(strings.TrimSpace(word))
		if !slices.Contains(Kinds, k) {
			return nil, fmt.Errorf("profile kind %q: want all or a list of %s", word, join(Kinds))
		}
		if !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	return kinds, nil
}

func join(kinds []Kind) string {
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = string(k)
	}
	return strings.Join(words, ",")
}

// Label says what a profile is of. Empty parts are left out of the file name.
type Label struct{ Run, Scenario, Config string }

// FileName is the name of a profile's file: run, scenario and configuration, then
// the kind. Characters that do not belong into a file name become underscores.
func (l Label) FileName(k Kind) string {
	var parts []string
	for _, part := range []string{l.Run, l.Scenario, l.Config} {
		if part != "" {
			parts = append(parts, strings.Map(fileRune, part))
		}
	}
	if len(parts) == 0 {
		parts = []string{"run"}
	}
	name := strings.Join(parts, "-")
	if k == Trace {
		return name + ".trace"
	}
	return name + "." + string(k) + ".pprof"
}

func fileRune(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
		return r
	}
	return '_'
}

// comments is the label in the words of the profile's comment table.
func (l Label) comments(k Kind) []string {
	return []string{
		"run=" + l.Run, "scenario=" + l.Scenario, "config=" + l.Config, "kind=" + string(k),
		"profiled run: its latencies are not comparable with those of other runs",
	}
}
