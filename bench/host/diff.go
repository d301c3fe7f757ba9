package host

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Difference is one fact that two runs do not share.
type Difference struct {
	Fact string `json:"fact"` // by its JSON name; "dir.file_system"
	A    string `json:"a"`    // "" where it is not known
	B    string `json:"b"`
}

// volatile are the facts that differ between any two runs and matter only when
// they are extreme, which Judge tells.
var volatile = map[string]bool{
	"available_bytes": true, "dir.available_bytes": true, "dir.path": true,
	"clock_read_ns": true, "steal_fraction": true, "load_1min": true,
	"psi.cpu_some": true, "psi.memory_some": true, "psi.memory_full": true,
	"psi.io_some": true, "psi.io_full": true, "unknown": true,
}

// Diff lists the lasting facts in which f and g differ, sorted by name. Those
// that change from minute to minute (free memory, load) are left out.
func (f Facts) Diff(g Facts) []Difference {
	a, b := f.flat(), g.flat()
	names := maps.Clone(a)
	maps.Copy(names, b)
	var list []Difference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !volatile[name] && a[name] != b[name] {
			list = append(list, Difference{name, a[name], b[name]})
		}
	}
	return list
}

// flat returns the facts by their JSON names, those of nested objects with the
// outer name in front.
func (f Facts) flat() map[string]string {
	b, err := json.Marshal(f)
	if err != nil {
		panic(fmt.Sprintf("host: facts are not plain data: %v", err))
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(b, &object); err != nil {
		panic(fmt.Sprintf("host: facts are not an object: %v", err))
	}
	all := make(map[string]string)
	flatten("", object, all)
	return all
}

func flatten(prefix string, object map[string]json.RawMessage, all map[string]string) {
	for name, raw := range object {
		var inner map[string]json.RawMessage
		var text string
		switch {
		case json.Unmarshal(raw, &inner) == nil:
			flatten(prefix+name+".", inner, all)
		case json.Unmarshal(raw, &text) == nil:
			all[prefix+name] = text
		default:
			all[prefix+name] = string(raw)
		}
	}
}
