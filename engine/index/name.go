package index

import (
	"fmt"
	"strings"
	"time"
)

// nameLayout is the creation time in a file name; the dot is not in the name.
const nameLayout = "20060102150405.000"

const nameDigits = 17

// fileName is the name of a file created at t, in t's own zone.
func fileName(t time.Time) string {
	return strings.Replace(t.Format(nameLayout), ".", "", 1)
}

// isFileName reports whether a directory entry can be an index file.
func isFileName(name string) bool {
	return len(name) == nameDigits && strings.Trim(name, "0123456789") == ""
}

// nextName is the name of a file that is created now and comes after newest,
// the greatest name so far ("" for none). Two files of one millisecond, a clock
// that was set back and the end of daylight saving time, when local time repeats
// an hour, would all give a name that exists or sorts before an older file; then
// the name is one millisecond after newest.
func nextName(newest string, now time.Time) (string, error) {
	name := fileName(now)
	if len(name) == nameDigits && name > newest {
		return name, nil
	}
	if len(newest) != nameDigits {
		return "", fmt.Errorf("index: no file name for the time %v", now)
	}
	t, err := time.Parse(nameLayout, newest[:nameDigits-3]+"."+newest[nameDigits-3:])
	if err != nil {
		return "", fmt.Errorf("index: no file name after %s: %w", newest, err)
	}
	if name = fileName(t.Add(time.Millisecond)); len(name) != nameDigits || name <= newest {
		return "", fmt.Errorf("index: no file name after %s", newest)
	}
	return name, nil
}
