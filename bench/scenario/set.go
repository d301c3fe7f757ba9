package scenario

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"commitlab/bench/workload"
	"commitlab/engine"
)

// Set changes one option by its JSON name, as `--set key=value` does. The unit
// in a name decides how the value is read: ...Bytes takes 67108864 or 64MiB,
// ...Ms takes 500, 500ms or 0.5s. Whether an enumeration's value is one is
// judged by Options.Resolve, with all other problems.
func Set(o *engine.Options, key, value string) error { return setField(o, key, value) }

// Keys lists the JSON names that Set knows, in the order of their declaration.
func Keys() []string { return fieldKeys(reflect.TypeFor[engine.Options]()) }

// setField sets the field of the struct behind target whose JSON name is key.
func setField(target any, key, value string) error {
	v := reflect.ValueOf(target).Elem()
	index, ok := fieldIndex(v.Type(), key)
	if !ok {
		return fmt.Errorf("option %q does not exist%s", key, suggestion(key, fieldKeys(v.Type())))
	}
	field := v.Field(index)
	want, err := parseInto(field, key, value)
	if err != nil {
		return fmt.Errorf("option %s: got %q, want %s", key, value, want)
	}
	return nil
}

// parseInto stores value in field; on an error, want says what would have been
// accepted.
func parseInto(field reflect.Value, key, value string) (want string, err error) {
	switch field.Kind() {
	case reflect.String:
		field.SetString(value)
	case reflect.Bool:
		b, err := strconv.ParseBool(value)
		if err != nil {
			return "true or false", err
		}
		field.SetBool(b)
	case reflect.Int, reflect.Int32, reflect.Int64:
		n, want, err := parseNumber(key, value)
		if err != nil {
			return want, err
		}
		if field.OverflowInt(n) {
			return fmt.Sprintf("a number of %d bits", field.Type().Bits()), strconv.ErrRange
		}
		field.SetInt(n)
	case reflect.Float64:
		f, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return "a number", strconv.ErrSyntax
		}
		field.SetFloat(f)
	default:
		return "no value: options of type " + field.Type().String() + " cannot be set by name", strconv.ErrSyntax
	}
	return "", nil
}

func parseNumber(key, value string) (n int64, want string, err error) {
	// A plain number is taken as it stands, in the unit of the name, also a
	// negative one: some options give it a meaning.
	if n, err = strconv.ParseInt(value, 10, 64); err == nil {
		return n, "", nil
	}
	switch {
	case strings.HasSuffix(key, "Bytes"):
		n, err = workload.ParseBytes(value)
		return n, "bytes such as 1048576, 64KiB or 1GiB", err
	case strings.HasSuffix(key, "Ms"):
		d, err := time.ParseDuration(value)
		if err == nil && d%time.Millisecond != 0 {
			err = strconv.ErrSyntax
		}
		return d.Milliseconds(), "whole milliseconds such as 500, 500ms or 10s", err
	default:
		return 0, "a whole number", err
	}
}

// jsonName is the name of a field in JSON; "" for a field without one.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" || !f.IsExported() {
		return ""
	}
	return name
}

func fieldIndex(t reflect.Type, key string) (int, bool) {
	for i := range t.NumField() {
		if key != "" && jsonName(t.Field(i)) == key {
			return i, true
		}
	}
	return 0, false
}

func fieldKeys(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		if name := jsonName(t.Field(i)); name != "" {
			keys = append(keys, name)
		}
	}
	return keys
}

// suggestion names the known word nearest to a mistyped one, or all of them
// when none is near.
func suggestion(got string, known []string) string {
	best, distance := "", len(got)/2+1
	for _, k := range known {
		if d := editDistance(strings.ToLower(got), strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	if best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return "; want one of " + strings.Join(slices.Sorted(slices.Values(known)), ", ")
}

// editDistance is the Levenshtein distance of two short words.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
