package report

import (
	"fmt"
	"strings"
	"testing"

	"commitlab/bench/result"
)

// Goal: a reader is told how cold a log was that was read from the disk, or that
// nobody knows.
func TestReportTellsHowColdALogWas(t *testing.T) {
	cold := func(unknown string) string {
		rounds := 0
		_, text := ratioLines(t, asking(t, 2, func(cell string, _ *result.Manifest, e *result.End) {
			if cell == "append.tuned" {
				rounds++
				e.Counters = fmt.Appendf(nil, `{"other":1,"cache":{"logBytes":2147483648,"blocks":8192,"rounds":%d,"filledBytes":1073741824,"roundBytes":%d,"leftBytes":0,"unknown":%q}}`,
					rounds, rounds<<20, unknown)
			}
		}))
		if strings.Count(text, "How cold the log was") != 1 {
			t.Error("want one table of it: the other scenario tells nothing of its log")
		}
		return strings.Join(strings.Fields(text), " ")
	}
	wantText(t, cold(""), "tuned 2 GiB 8,192 3 1 GiB 2 MiB 0 B")
	wantText(t, cold("cachestat is missing"), "tuned 2 GiB 8,192 3 – – –", "tuned: how much of the log was cached is not known: cachestat is missing.")
}
