package result

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"time"
)

// Run reads the files of one run. All its sequences stream: memory does not
// grow with the length of the run. It holds no open file.
type Run struct {
	Dir      string
	Manifest Manifest
}

// OpenRun reads the manifest of the run in dir.
func OpenRun(dir string) (*Run, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, fmt.Errorf("open run: %w", err)
	}
	return &Run{Dir: dir, Manifest: m}, nil
}

// Intervals reads the latency log in file order; see ReadLog.
func (r *Run) Intervals() iter.Seq2[Interval, error] {
	return ReadLog(filepath.Join(r.Dir, LatencyFile))
}

// Counters reads the counters, one line per interval. A torn last line ends
// the sequence with an error that wraps ErrTorn.
func (r *Run) Counters() iter.Seq2[CountersLine, error] {
	return readLines[CountersLine](filepath.Join(r.Dir, CountersFile))
}

// Outliers reads the outliers. A torn last line ends the sequence with an
// error that wraps ErrTorn.
func (r *Run) Outliers() iter.Seq2[Outlier, error] {
	return readLines[Outlier](filepath.Join(r.Dir, OutliersFile))
}

// Merged is the whole of one or more runs: per tag one distribution.
type Merged struct {
	Tags map[string]*Distribution
	// Measured is the time that the intervals of a tag cover, and Intervals how
	// many there are. Pauses between merged runs are in neither, so that
	// Rate is right for any number of runs.
	Measured  map[string]time.Duration
	Intervals map[string]int
	// OutOfOrder counts intervals that start before their predecessor of the
	// same tag. They are merged like all others.
	OutOfOrder int
	// Torn says that the last line of a file was cut off and left out.
	Torn bool
}

// Merge reads all intervals of the run into one distribution per tag.
func (r *Run) Merge() (*Merged, error) {
	m := &Merged{
		Tags:      make(map[string]*Distribution),
		Measured:  make(map[string]time.Duration),
		Intervals: make(map[string]int),
	}
	last := make(map[string]time.Time)
	for i, err := range r.Intervals() {
		if errors.Is(err, ErrTorn) {
			m.Torn = true
			break
		}
		if err != nil {
			return nil, err
		}
		if t, ok := last[i.Tag]; ok && i.Start.Before(t) {
			m.OutOfOrder++
		}
		last[i.Tag] = i.Start
		m.Measured[i.Tag] += i.Length()
		m.Intervals[i.Tag]++
		d := m.Tags[i.Tag]
		if d == nil {
			m.Tags[i.Tag] = &Distribution{Hist: i.Hist}
			continue
		}
		if err := d.Add(i.Hist, Extremes{}); err != nil {
			return nil, fmt.Errorf("read %s: tag %q at %s: %w", r.Dir, i.Tag, i.Start.Format(time.RFC3339), err)
		}
	}
	return m, r.addExtremes(m)
}

// addExtremes takes the exact maxima from the manifest, or, if the run never
// ended, from its intervals.
func (r *Run) addExtremes(m *Merged) error {
	if r.Manifest.End != nil {
		for tag, e := range r.Manifest.End.Extremes {
			if d := m.Tags[tag]; d != nil {
				d.Extremes.Add(e)
			}
		}
		return nil
	}
	for c, err := range r.Counters() {
		switch {
		case errors.Is(err, ErrTorn):
			m.Torn = true
			return nil
		case errors.Is(err, fs.ErrNotExist):
			return nil // only the exact maxima are lost
		case err != nil:
			return err
		}
		for tag, e := range c.Extremes {
			if d := m.Tags[tag]; d != nil {
				d.Extremes.Add(e)
			}
		}
	}
	return nil
}

// Add merges another run into m. On an error m is spoilt.
func (m *Merged) Add(o *Merged) error {
	for tag, d := range o.Tags {
		mine := m.Tags[tag]
		if mine == nil {
			mine = &Distribution{Hist: d.Hist.Clone()}
			mine.Extremes = d.Extremes
			m.Tags[tag] = mine
		} else if err := mine.Add(d.Hist, d.Extremes); err != nil {
			return fmt.Errorf("tag %q: %w", tag, err)
		}
		m.Measured[tag] += o.Measured[tag]
		m.Intervals[tag] += o.Intervals[tag]
	}
	m.OutOfOrder += o.OutOfOrder
	m.Torn = m.Torn || o.Torn
	return nil
}

// Rate returns how many values of the tag there were per second of measured
// time. It is false where no time was measured.
func (m *Merged) Rate(tag string) (perSecond float64, ok bool) {
	d, t := m.Tags[tag], m.Measured[tag]
	if d == nil || t <= 0 {
		return 0, false
	}
	return float64(d.Count()) / t.Seconds(), true
}
