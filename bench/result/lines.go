package result

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"
)

// CountersLine is one line of counters.jsonl: what was counted at the end of
// one interval, and what its histograms cannot tell.
type CountersLine struct {
	Start    time.Time           `json:"start"`
	End      time.Time           `json:"end"`
	Extremes map[string]Extremes `json:"extremes,omitempty"` // per tag; only tags with values
	Counters json.RawMessage     `json:"counters,omitempty"`
}

// ErrTorn marks the last line of a file whose writer was killed in the middle
// of it. All lines before are whole.
var ErrTorn = errors.New("last line is torn")

// maxLineBytes bounds the memory that a damaged file can cost. The longest
// honest line, a histogram in which every counter differs, is far below.
const maxLineBytes = 64 << 20

// jsonLines writes a file of one JSON value per line.
type jsonLines struct {
	f   *os.File
	buf *bufio.Writer
	enc *json.Encoder
}

func createLines(path string) (*jsonLines, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	buf := bufio.NewWriter(f)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	return &jsonLines{f: f, buf: buf, enc: enc}, nil
}

// write appends v; it is in the file after the next flush.
func (l *jsonLines) write(v any) error { return l.enc.Encode(v) }

func (l *jsonLines) flush() error { return l.buf.Flush() }

func (l *jsonLines) close() error {
	return errors.Join(l.buf.Flush(), l.f.Sync(), l.f.Close())
}

// line is one line of a text file, without its end.
type line struct {
	number int
	text   []byte // valid until the next line
	torn   bool   // the file ends without a line end
}

// lines reads a file line by line, however long they are.
func lines(path string) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(line{}, err)
			return
		}
		defer f.Close()
		r := bufio.NewReaderSize(f, 64<<10)
		var long []byte // the parts of a line longer than r's buffer
		for n := 1; ; {
			part, err := r.ReadSlice('\n')
			if errors.Is(err, bufio.ErrBufferFull) {
				if len(long)+len(part) > maxLineBytes {
					yield(line{}, fmt.Errorf("read %s: line %d is longer than %d bytes", path, n, maxLineBytes))
					return
				}
				long = append(long, part...)
				continue
			}
			if err != nil && err != io.EOF {
				yield(line{}, fmt.Errorf("read %s: line %d: %w", path, n, err))
				return
			}
			text := part
			if len(long) > 0 {
				long = append(long, part...)
				text = long
			}
			if len(text) > 0 && !yield(line{n, bytes.TrimRight(text, "\r\n"), err == io.EOF}, nil) {
				return
			}
			if err == io.EOF {
				return
			}
			long = long[:0]
			n++
		}
	}
}

// readLines decodes a file of one JSON value per line. A line that does not
// parse ends the sequence with an error; if it is the torn last one the error
// wraps ErrTorn.
func readLines[T any](path string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for l, err := range lines(path) {
			if err != nil {
				yield(none, err)
				return
			}
			if len(bytes.TrimSpace(l.text)) == 0 {
				continue
			}
			var v T
			if err := json.Unmarshal(l.text, &v); err != nil {
				yield(none, lineError(path, l, err))
				return
			}
			if !yield(v, nil) {
				return
			}
		}
	}
}

func lineError(path string, l line, err error) error {
	if l.torn {
		return fmt.Errorf("read %s: line %d: %w: %w", path, l.number, ErrTorn, err)
	}
	return fmt.Errorf("read %s: line %d: %w", path, l.number, err)
}
