package report

import (
	"encoding/xml"
	"errors"
	"html"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"commitlab/bench/result"
)

func pageOf(t *testing.T, r *Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.HTML(&b, Options{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A latency far above the service time could not be understood, since only one
// of the two was shown, under a label for both.
func TestB103_ServiceAndResponseStandSideBySide(t *testing.T) {
	s := two(1, always(time.Second), always(time.Second))
	s.end = overloaded
	got := text(t, s.load(t), Options{})
	wantText(t, got, "append service time\n", "append response time\n", "from the start of the operation to its end", "from the time the operation was due to its end, waiting included")
}

// overloaded is a run that did 30 of the 150 operations that were due.
func overloaded(_ string, _ int, e *result.End) bool {
	offered, achieved := 5.0, 1.0
	e.OfferedPerSecond, e.AchievedPerSecond = &offered, &achieved
	e.Due, e.Done, e.Late, e.NeverSent = 150, 30, 2, 120
	return true
}

// The tool fell short of the rate and the run looked fine.
func TestB104_WhatWasDueButNotDoneIsListed(t *testing.T) {
	s := two(1, always(time.Second), always(time.Second))
	s.end = overloaded
	got := text(t, s.load(t), Options{})
	wantText(t, got, "WARNING: a achieved 20.0 % of the offered rate")
	fields := regexp.MustCompile(`(?m)^  a +5.00 +1.00 +150 +30 +2 +120 +0 `)
	if !fields.MatchString(got) {
		t.Errorf("no line with offered 5, achieved 1, due 150, done 30, late 2, never sent 120:\n%s", got)
	}
}

// A histogram without values gave percentiles.
func TestB117_NoOperationsAreADash(t *testing.T) {
	s := two(1, always(time.Millisecond), always(time.Millisecond))
	s.count = func(int, int) int { return 0 }
	got := text(t, s.load(t), Options{})
	if !regexp.MustCompile(`(?m)^  a +– +– +– +– +–$`).MatchString(got) {
		t.Errorf("no line of dashes:\n%s", got)
	}
	if page := pageOf(t, s.load(t)); strings.Contains(page, "NaN") || strings.Contains(page, "Inf") {
		t.Error("the page shows NaN or Inf")
	}
}

func TestClosedLoopHasNoResponseTime(t *testing.T) {
	s := two(6, always(time.Millisecond), always(2*time.Millisecond))
	s.closed = true
	r := s.load(t)
	got := text(t, r, Options{})
	wantText(t, got, "Closed loop: each worker starts its next operation", "closed loop, as fast as it goes")
	for _, where := range []string{got, pageOf(t, r)} {
		if strings.Contains(where, "response time\n") || strings.Contains(where, "append response") {
			t.Error("a closed loop shows a response time")
		}
	}
}

// Progress bars filled log files with control characters.
func TestB143_TextHasNoControlCharacters(t *testing.T) {
	got := text(t, two(1, always(time.Millisecond), always(time.Millisecond)).load(t), Options{Runs: true})
	if i := strings.IndexFunc(got, func(c rune) bool { return c < ' ' && c != '\n' }); i >= 0 {
		t.Errorf("control character %q in the text", got[i])
	}
}

func TestFewSamplesAreMarked(t *testing.T) {
	s := two(1, always(time.Millisecond), always(time.Millisecond))
	got := text(t, s.load(t), Options{})
	wantText(t, got, "1.00 ms†", "† Too few independent samples")
}

func TestPageNeedsNothingElse(t *testing.T) {
	page := pageOf(t, quick(2).load(t))
	for _, outside := range []string{"<script", "<link", "<img", "src=", "url(", "@import", "href="} {
		if strings.Contains(page, outside) {
			t.Errorf("the page contains %q", outside)
		}
	}
	if n := strings.Count(strings.ReplaceAll(page, "http://www.w3.org/2000/svg", ""), "://"); n != 0 {
		t.Errorf("the page names %d addresses", n)
	}
	if !strings.Contains(page, "prefers-color-scheme: dark") {
		t.Error("the page has no dark colours")
	}
}

func TestFiguresAreXMLWithTitleAndDescription(t *testing.T) {
	page := pageOf(t, quickSix(t))
	figures := regexp.MustCompile(`(?s)<svg .*?</svg>`).FindAllString(page, -1)
	if len(figures) != 6 { // two by percentile, one of ratios, three over time
		t.Errorf("%d figures, want 6", len(figures))
	}
	for _, f := range figures {
		d := xml.NewDecoder(strings.NewReader(f))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in %s", err, f)
			}
		}
		if !strings.Contains(f, `role="img"`) || !regexp.MustCompile(`<title>[^<]+</title><desc>[^<]+</desc>`).MatchString(f) {
			t.Errorf("a figure without role, title or description: %.200s", f)
		}
		if strings.Contains(f, "NaN") || strings.Contains(f, "Inf") {
			t.Errorf("a figure with a position that is no number: %.200s", f)
		}
	}
}

// The page and the text cannot disagree: every figure of the one is in the
// other.
func TestPageShowsTheFiguresOfTheText(t *testing.T) {
	r := quickSix(t)
	page := html.UnescapeString(pageOf(t, r))
	for _, g := range r.Groups {
		for _, table := range g.tables(true) {
			for _, row := range table.Rows {
				for _, cell := range row.Cells {
					if !strings.Contains(page, "<td>"+cell+"</td>") {
						t.Errorf("%s, %s: %q is not in the page", table.Title, row.Label, cell)
					}
				}
			}
		}
	}
}

func TestNamesAreEscapedInThePage(t *testing.T) {
	s := two(6, always(time.Millisecond), always(2*time.Millisecond))
	s.cells[1].label = `<b>&"x"`
	page := pageOf(t, s.load(t))
	if strings.Contains(page, "<b>&") {
		t.Error("a configuration's name is markup in the page")
	}
	if !strings.Contains(page, "&lt;b&gt;&amp;") {
		t.Error("the configuration's name is missing")
	}
}
