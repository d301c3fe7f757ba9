package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// flatten turns a JSON object into dotted names and plain texts, so that two
// objects can be compared name by name whatever they hold: {"a":{"b":1}} is
// a.b = 1. Null, absent and empty objects are no entries.
func flatten(raw json.RawMessage) (map[string]string, error) {
	out := map[string]string{}
	if len(bytes.TrimSpace(raw)) == 0 {
		return out, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // large integers keep all their digits
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, err
	}
	flattenInto(out, "", v)
	return out, nil
}

func flattenInto(out map[string]string, name string, v any) {
	below := func(part string) string {
		if name == "" {
			return part
		}
		return name + "." + part
	}
	switch v := v.(type) {
	case nil:
	case map[string]any:
		for key, inner := range v {
			flattenInto(out, below(key), inner)
		}
	case []any:
		for i, inner := range v {
			flattenInto(out, below(strconv.Itoa(i)), inner)
		}
	default:
		out[name] = fmt.Sprint(v)
	}
}
