package torture

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
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

// A ledger is what the store holds. It only grows: what a check has found stays.
type ledger struct {
	records []stored            // in the order of the log
	forms   map[form]int        // index in records
	queues  map[queueName][]int // index in records of each message, by queue offset
	rounds  int                 // the last one in it
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

// readLedger reads the rounds before round from a file, if there is one, and cuts
// the rest off. The first line tells the seed.
func readLedger(path string, seed uint64, before int) (*ledger, error) {
	l := newLedger()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, fmt.Errorf("torture: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	var at int64
	round := 0
	var records []stored
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		bad := func(err error) error { return fmt.Errorf("torture: %s, line %d: %q: %w", path, n, line, err) }
		switch {
		case n == 1:
			var of uint64
			if _, err := fmt.Sscanf(line, "seed %d", &of); err != nil {
				return nil, bad(err)
			}
			if of != seed {
				return nil, fmt.Errorf("torture: %s is of seed %d, not %d", path, of, seed)
			}
		case strings.HasPrefix(line, "round "):
			if _, err := fmt.Sscanf(line, "round %d", &round); err != nil {
				return nil, bad(err)
			}
			if round >= before {
				if err := f.Truncate(at); err != nil {
					return nil, fmt.Errorf("torture: %w", err)
				}
				return l, nil
			}
			records = records[:0]
		case line == "end":
			l.add(round, records)
		default:
			r, err := parseStored(line)
			if err != nil {
				return nil, bad(err)
			}
			records = append(records, r)
		}
		at += int64(len(line)) + 1
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("torture: read %s: %w", path, err)
	}
	return l, nil
}

// appendLedger writes a round that passed.
func appendLedger(path string, seed uint64, round int, records []stored) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("torture: %w", err)
	}
	w := bufio.NewWriter(f)
	if info, err := f.Stat(); err == nil && info.Size() == 0 {
		fmt.Fprintf(w, "seed %d\n", seed)
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
