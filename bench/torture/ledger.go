package torture

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// A stored is one record of the store.
type stored struct {
	ID
	kind        kind
	queue       queueName
	offset      int64
	size        int64
	queueOffset int64
	storeMs     int64
	source      int64 // delivered: offset of the record in the schedule topic
}

func (r stored) end() int64 { return r.offset + r.size }

// A form is a message in one of the forms that it may be stored in, once each.
type form struct {
	ID
	kind kind
}

// A ledger is what the store holds. It only grows: what a check has found stays,
// until retention deletes it.
type ledger struct {
	records []stored            // in the order of the log
	forms   map[form]int        // index in records
	queues  map[queueName][]int // index in records of each message, by queue offset
	rounds  int                 // the last one in it
	min     int64               // log offset at which the log begins now
}

func newLedger() *ledger {
	return &ledger{forms: make(map[form]int), queues: make(map[queueName][]int)}
}

// end is the log offset behind the last record.
func (l *ledger) end() int64 {
	if len(l.records) == 0 {
		return 0
	}
	return l.records[len(l.records)-1].end()
}

// live is the index of the first record that has not been deleted with its file.
func (l *ledger) live() int {
	first, _ := slices.BinarySearchFunc(l.records, l.min, func(r stored, min int64) int { return cmp.Compare(r.offset, min) })
	return first
}

// next is the queue offset of a queue's next message.
func (l *ledger) next(q queueName) int64 { return int64(len(l.queues[q])) }

// add adds the records of a round that passed.
func (l *ledger) add(round int, records []stored) {
	for _, r := range records {
		l.forms[form{r.ID, r.kind}] = len(l.records)
		l.queues[r.queue] = append(l.queues[r.queue], len(l.records))
		l.records = append(l.records, r)
	}
	l.rounds = round
}

// readLedger reads the rounds before a round from a file, if there is one, and
// returns how many bytes they are. The first line tells the seed.
func readLedger(path string, seed uint64, before int) (l *ledger, size int64, err error) {
	l = newLedger()
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("torture: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	var at int64
	var records []stored
	round := 0
	for n := 1; lines.Scan() && round < before; n++ {
		line := lines.Text()
		at += int64(len(line)) + 1
		var err error
		switch {
		case n == 1:
			if line != seedLine(seed) {
				return nil, 0, fmt.Errorf("%w: %s is of %q, not of %q", ErrDirectory, path, line, seedLine(seed))
			}
			size = at
		case strings.HasPrefix(line, "round "):
			_, err = fmt.Sscanf(line, "round %d", &round)
			records = nil
		case line == "end":
			l.add(round, records)
			size = at
		default:
			var r stored
			r, err = parseStored(line)
			records = append(records, r)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("torture: %s, line %d: %q: %w", path, n, line, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, 0, fmt.Errorf("torture: read %s: %w", path, err)
	}
	return l, size, nil
}

func seedLine(seed uint64) string { return fmt.Sprintf("seed %d", seed) }

// appendLedger writes a round that passed.
func appendLedger(path string, seed uint64, round int, records []stored) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("torture: %w", err)
	}
	w := bufio.NewWriter(f)
	if info, err := f.Stat(); err == nil && info.Size() == 0 {
		fmt.Fprintln(w, seedLine(seed))
	}
	fmt.Fprintf(w, "round %d\n", round)
	for _, r := range records {
		fmt.Fprintf(w, "%c %d %d %d %d %d %d %d %d %s\n", r.kind, r.Worker, r.Sequence, r.offset, r.size, r.queueOffset, r.storeMs, r.source, r.queue.id, r.queue.topic)
	}
	fmt.Fprintln(w, "end")
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		return fmt.Errorf("torture: write %s: %w", path, err)
	}
	return nil
}

func parseStored(line string) (r stored, err error) {
	_, err = fmt.Sscanf(line, "%c %d %d %d %d %d %d %d %d %s",
		&r.kind, &r.Worker, &r.Sequence, &r.offset, &r.size, &r.queueOffset, &r.storeMs, &r.source, &r.queue.id, &r.queue.topic)
	return r, err
}
