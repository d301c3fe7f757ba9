package result

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Interval is one line of a histogram log.
type Interval struct {
	Tag        string // "" if the line has none
	Start, End time.Time
	Hist       *hdrhistogram.Histogram // owned by the receiver; may be empty
}

// Length returns how long the interval was.
func (i Interval) Length() time.Duration { return i.End.Sub(i.Start) }

// ReadLog reads the intervals of a histogram log, in file order, one at a time.
// It also reads logs of other HdrHistogram tools, with a start or base time. A
// line that is not an interval ends the sequence with an error; if it is the
// torn last one, of a writer that was killed, the error wraps ErrTorn.
//
// Note: the library's own log reader is not used, because it skips lines that
// it cannot parse and cuts the seconds it read to milliseconds instead of
// rounding them (…001.123 comes back as …001.122). Payloads are decoded by the
// library.
func ReadLog(path string) iter.Seq2[Interval, error] {
	return func(yield func(Interval, error) bool) {
		var c logClock
		for l, err := range lines(path) {
			if err != nil {
				yield(Interval{}, err)
				return
			}
			switch {
			case len(l.text) == 0, l.text[0] == '"': // the legend
				continue
			case l.text[0] == '#':
				c.comment(l.text)
				continue
			}
			i, err := c.interval(l.text)
			if err != nil {
				yield(Interval{}, lineError(path, l, err))
				return
			}
			if !yield(i, nil) {
				return
			}
		}
	}
}

// logClock turns the seconds of a log into times.
type logClock struct {
	start, base float64 // seconds since the epoch
	hasStart    bool
	hasBase     bool
}

const year = 365 * 24 * 3600.0

func (c *logClock) comment(text []byte) {
	if v, ok := headerSeconds(text, "#[StartTime: "); ok {
		c.start, c.hasStart = v, true
	}
	if v, ok := headerSeconds(text, "#[BaseTime: "); ok {
		c.base, c.hasBase = v, true
	}
}

func headerSeconds(text []byte, prefix string) (float64, bool) {
	rest, ok := bytes.CutPrefix(text, []byte(prefix))
	if !ok {
		return 0, false
	}
	number, _, _ := bytes.Cut(rest, []byte(" "))
	v, err := strconv.ParseFloat(string(number), 64)
	return v, err == nil
}

// interval parses "Tag=name,start,length,max,payload"; the tag is optional and
// the max, which is for human readers, is not used.
func (c *logClock) interval(text []byte) (Interval, error) {
	var i Interval
	if rest, ok := bytes.CutPrefix(text, []byte("Tag=")); ok {
		tag, fields, _ := bytes.Cut(rest, []byte(","))
		i.Tag, text = string(tag), fields
	}
	f := bytes.SplitN(text, []byte(","), 4)
	if len(f) != 4 {
		return i, fmt.Errorf("interval has %d fields, want 4: start, length, max, payload", len(f))
	}
	start, err := strconv.ParseFloat(string(f[0]), 64)
	if err != nil {
		return i, fmt.Errorf("interval start: %w", err)
	}
	length, err := strconv.ParseFloat(string(f[1]), 64)
	if err != nil {
		return i, fmt.Errorf("interval length: %w", err)
	}
	if !c.hasBase {
		// By convention times more than a year before the start time are
		// relative to it.
		if c.hasStart && start < c.start-year {
			c.base = c.start
		}
		c.hasBase = true
	}
	if i.Hist, err = hdrhistogram.Decode(f[3]); err != nil {
		return i, fmt.Errorf("interval payload: %w", err)
	}
	startMs := math.Round(1000 * (start + c.base))
	endMs := math.Round(1000 * (start + c.base + length))
	const maxMs = 1 << 53 // beyond it a float64 holds no whole milliseconds
	if !(math.Abs(startMs) < maxMs && math.Abs(endMs) < maxMs) {
		return i, fmt.Errorf("interval time %s+%s is out of range", f[0], f[1])
	}
	i.Start, i.End = time.UnixMilli(int64(startMs)), time.UnixMilli(int64(endMs))
	return i, nil
}
