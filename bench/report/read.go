package report

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"commitlab/bench/result"
)

// readRun streams the files of one run and returns it with the distributions
// of its tags. On an error the run holds what came before the damage; if more
// than a torn last line is missing, it does not count.
func readRun(r *result.Run) (*Run, map[string]*result.Distribution, error) {
	acc, err := readIntervals(r)
	extremes, extremesErr := readExtremes(r)
	acc.extremes(extremes)
	run := &Run{Dir: r.Dir, Manifest: r.Manifest}
	var totals map[string]*result.Distribution
	run.Latency, totals = acc.finish()
	err = errors.Join(err, extremesErr)
	if err == nil {
		err = run.addSamples(r)
	}
	run.Dropped = dropped(r.Manifest, err)
	return run, totals, err
}

// dropped says why a run does not count, "" if it does.
func dropped(m result.Manifest, err error) string {
	switch {
	case m.Status() != result.OK:
		if reason := m.Reason(); reason != "" {
			return string(m.Status()) + ": " + reason
		}
		return string(m.Status())
	case err != nil:
		return "damaged: not all of its files could be read"
	case len(m.Profiles) > 0:
		return "profiled: " + strings.Join(m.Profiles, ", ") + " ran along"
	}
	return ""
}

// readIntervals reduces the latency log. The manifest says how many intervals
// to expect; a log with far more is read a second time with wider points.
func readIntervals(r *result.Run) (*accumulator, error) {
	intervals := int64(1)
	if r.Manifest.TickNs > 0 {
		intervals += r.Manifest.DurationNs / r.Manifest.TickNs
	}
	for ; ; intervals *= 8 {
		acc := newAccumulator(intervals)
		fits, err := acc.addAll(r)
		if fits || err != nil {
			return acc, err
		}
	}
}

// readExtremes returns the exact maxima: from the manifest, or, where the run
// never ended, from its intervals.
func readExtremes(r *result.Run) (map[string]result.Extremes, error) {
	if r.Manifest.End != nil {
		return r.Manifest.End.Extremes, nil
	}
	all := map[string]result.Extremes{}
	for line, err := range r.Counters() {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, result.ErrTorn) {
			break // the maxima of the histogram must do
		}
		if err != nil {
			return nil, err
		}
		for tag, e := range line.Extremes {
			sum := all[tag]
			sum.Add(e)
			all[tag] = sum
		}
	}
	return all, nil
}

// addSamples notes the summary, which tells how many independent values stand
// behind each percentile.
func (r *Run) addSamples(from *result.Run) error {
	s, err := from.Summary()
	if err != nil {
		return fmt.Errorf("%s: %w", r.Dir, err)
	}
	r.Summary = &s
	for tag, l := range r.Latency {
		op, kind := splitTag(tag)
		if kind == "" {
			l.Samples = s.Hiccup.Samples
			continue
		}
		l.Samples = s.Ops[op].Of(kind).Samples
	}
	return nil
}
