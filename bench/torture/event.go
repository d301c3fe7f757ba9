package torture

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// What a child tells, one line each: a letter, then numbers. A line is one write
// to a pipe, so that it is there as a whole or not at all, whenever the child dies.
const (
	eventOpening   = 'o' // the store is about to be opened
	eventOpened    = 'n' // recovered: it is open, with the log up to this offset
	eventSending   = 's' // worker sequence: about to be put
	eventAcked     = 'a' // worker sequence physicalOffset queueOffset size
	eventFailed    = 'f' // worker sequence stored: the put failed; stored 1: it may be there
	eventWatermark = 'w' // committed flushed
	eventClosing   = 'x' // the store is about to be closed
	eventClosed    = 'c' // it was closed without error
	eventCloned    = 'p' // the power is off, what is left was written
	eventDying     = 'd' // about to kill itself
	eventRefused   = 'r' // kind of refusal, times: see refusal
	eventWrong     = 'e' // text: something happened that must not happen
)

// An event is one line.
type event struct {
	what    byte
	numbers []int64
	text    string // of eventWrong
}

// A teller writes events. Safe for concurrent use.
type teller struct {
	mu sync.Mutex
	w  io.Writer
}

func (t *teller) tell(what byte, numbers ...int64) {
	line := make([]byte, 0, 64)
	line = appendEvent(line, what, numbers...)
	t.write(line)
}

func appendEvent(line []byte, what byte, numbers ...int64) []byte {
	line = append(line, what)
	for _, n := range numbers {
		line = strconv.AppendInt(append(line, ' '), n, 10)
	}
	return append(line, '\n')
}

func (t *teller) wrong(format string, args ...any) {
	text := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	t.write([]byte(string(eventWrong) + " " + text + "\n"))
}

// write writes whole lines. When nobody reads any more the child is about to be
// ended through its standard input.
func (t *teller) write(lines []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = t.w.Write(lines)
}

// eventNumbers is how many numbers an event has.
var eventNumbers = map[byte]int{
	eventOpening: 0, eventOpened: 1, eventSending: 2, eventAcked: 5, eventFailed: 3, eventWatermark: 2,
	eventClosing: 0, eventClosed: 0, eventCloned: 0, eventDying: 0, eventRefused: 2,
}

// parseEvent reads a line without its end.
func parseEvent(line string) (event, error) {
	if line == "" {
		return event{}, fmt.Errorf("the child told an empty line")
	}
	e := event{what: line[0]}
	rest := strings.TrimPrefix(line[1:], " ")
	if e.what == eventWrong {
		e.text = rest
		return e, nil
	}
	want, known := eventNumbers[e.what]
	for _, word := range strings.Fields(rest) {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return event{}, fmt.Errorf("the child told %q: %w", line, err)
		}
		e.numbers = append(e.numbers, n)
	}
	if !known || len(e.numbers) != want {
		return event{}, fmt.Errorf("the child told %q, which is no event", line)
	}
	return e, nil
}

// refusal is why puts were refused as they should be.
type refusal int64

const (
	refusedFull refusal = iota // the disk is full
	refusedSync                // a sync failed
	refusedFile                // the disk refused a file, or a write
)
