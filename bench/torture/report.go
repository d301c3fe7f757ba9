package torture

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// Schema is the version of the JSON form of a Report.
const Schema = "commitlab/torture/1"

// A Report sums up a run.
type Report struct {
	Schema  string   `json:"schema"`
	Dir     string   `json:"dir"`
	Seed    uint64   `json:"seed"`
	From    int      `json:"from"`   // the first round
	Rounds  int      `json:"rounds"` // finished, those with a violation as well
	Next    int      `json:"next"`   // the round to go on with
	Seconds float64  `json:"seconds"`
	Sets    []string `json:"sets"`

	Lives     map[Death]int `json:"lives"`
	Sent      int64         `json:"sent"`
	Acked     int64         `json:"acked"`
	Stored    int64         `json:"stored"`    // records in the store at the end
	LogBytes  int64         `json:"logBytes"`  // of the log at the end
	Deleted   int64         `json:"deleted"`   // records that went with old files
	Delivered int64         `json:"delivered"` // delayed messages
	Refusals  Refusals      `json:"refusals"`
	Checks    Checks        `json:"checks"`
	// Windows tell what deaths cost, by option set and by what they left.
	Windows    []*Window   `json:"windows"`
	Violations []Violation `json:"violations"`
}

// Refusals count what was refused as it should be.
type Refusals struct {
	DiskFull int64 `json:"diskFull"` // puts on a full disk
	Sync     int64 `json:"sync"`     // puts at or after a failed sync
	Calls    int64 `json:"calls"`    // calls to the disk that were made to fail
}

func (r *Refusals) add(kind refusal, n int64) {
	switch kind {
	case refusedFull:
		r.DiskFull += n
	case refusedSync:
		r.Sync += n
	case refusedFile:
		r.Calls++
	}
}

// A Window is what the deaths of one kind cost with one option set.
type Window struct {
	Set   string `json:"set"`
	Left  string `json:"left"` // "pages": the page cache survived; "disk": only what was synced
	Lives int    `json:"lives"`
	Acked int64  `json:"acked"`
	Lost  int64  `json:"lost"` // acknowledged messages, all lives together
	// Most is the greatest loss of one life, Allowed the most that one was allowed.
	MostMessages int   `json:"mostMessages"`
	MostBytes    int64 `json:"mostBytes"`
	AllowedBytes int64 `json:"allowedBytes"`
}

// A Violation is a round in which something was wrong.
type Violation struct {
	Round Round    `json:"round"`
	Found []string `json:"found"`
	Store string   `json:"store"` // directory of the store as it was found
}

// window returns the entry of a life.
func (r *Report) window(l *lifeLog) *Window {
	left := "pages"
	if !l.plan.keepsCache() {
		left = "disk"
	}
	for _, w := range r.Windows {
		if w.Set == l.set && w.Left == left {
			return w
		}
	}
	w := &Window{Set: l.set, Left: left}
	r.Windows = append(r.Windows, w)
	return w
}

// count enters a life and what it cost.
func (r *Report) count(l *lifeLog, cost loss) {
	r.Lives[l.plan.Death]++
	r.Sent += int64(len(l.fates))
	r.Acked += int64(len(l.acks))
	w := r.window(l)
	w.Lives++
	w.Acked += int64(len(l.acks))
	w.Lost += int64(cost.messages)
	w.MostMessages = max(w.MostMessages, cost.messages)
	w.MostBytes = max(w.MostBytes, cost.bytes)
	w.AllowedBytes = max(w.AllowedBytes, cost.allowed)
}

// Text writes the report for people.
func (r *Report) Text(out io.Writer) error {
	var b strings.Builder
	var deaths []string
	for _, d := range slices.Sorted(maps.Keys(r.Lives)) {
		deaths = append(deaths, fmt.Sprintf("%s %d", d, r.Lives[d]))
	}
	fmt.Fprintf(&b, "seed %d, rounds %d to %d in %.0f s, %d option sets; ends: %s\n", r.Seed, r.From, r.From+r.Rounds-1, r.Seconds, len(r.Sets), strings.Join(deaths, ", "))
	fmt.Fprintf(&b, "messages: %d sent, %d acknowledged; %d records stored in %d bytes of log, %d deleted with old files; %d delayed messages delivered\n", r.Sent, r.Acked, r.Stored, r.LogBytes, r.Deleted, r.Delivered)
	fmt.Fprintf(&b, "refused as they should be: %d puts on a full disk, %d at or after a failed sync\n", r.Refusals.DiskFull, r.Refusals.Sync)
	fmt.Fprintf(&b, "checked: %d records byte for byte, %d by queue, %d by tag, %d queries by key, %d audits\n\n", r.Checks.Records, r.Checks.ByQueue, r.Checks.ByTag, r.Checks.ByKey, r.Checks.Audits)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "option set\tleft\tends\tacknowledged\tlost\tmost in one end\tallowed then")
	for _, e := range r.Windows {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d messages, %d bytes\t%d bytes\n", e.Set, e.Left, e.Lives, e.Acked, e.Lost, e.MostMessages, e.MostBytes, e.AllowedBytes)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, v := range r.Violations {
		fmt.Fprintf(&b, "\nVIOLATION in round %d (%s); store kept in %s\n", v.Round.Number, v.Round, v.Store)
		for _, f := range v.Found {
			fmt.Fprintf(&b, "  %s\n", f)
		}
	}
	if len(r.Violations) == 0 {
		b.WriteString("\nno violation\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// String tells what a round is.
func (r Round) String() string {
	var lives []string
	for _, l := range r.Lives {
		lives = append(lives, l.String())
	}
	return r.Set + ": " + strings.Join(lives, ", then ")
}

// String tells how a life ends.
func (l Life) String() string {
	text := fmt.Sprintf("%s after %d puts of %d writers", l.Death, l.Acks, l.Writers)
	switch {
	case l.InOpen:
		text = string(l.Death) + " while it opens"
	case l.InClose:
		text = string(l.Death) + " while it closes after " + fmt.Sprintf("%d puts of %d writers", l.Acks, l.Writers)
	}
	if l.Death == SyncFail && !l.KeepCache {
		text += " and power"
	}
	return text
}
