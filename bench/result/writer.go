package result

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Writer writes one run as it happens. After every Tick the files hold
// everything up to it, so that a killed process loses at most one interval; they
// are synced to the disk at the end, so as not to disturb what is measured.
// Its methods may be called from several goroutines.
type Writer struct {
	dir string

	mu       sync.Mutex // guards all below
	manifest Manifest
	latency  *os.File
	log      *hdrhistogram.HistogramLogWriter // writes to buf
	buf      *bufio.Writer                    // of latency
	counters *jsonLines
	outliers *jsonLines
	seen     map[string]bool // tags that have an interval in the log
	extremes map[string]Extremes
	empty    *hdrhistogram.Histogram
	ended    bool
}

// CreateRun makes dir, which must not hold a run yet, and writes a manifest
// without an end. It fills Schema, and Start if that is zero.
func CreateRun(dir string, m Manifest) (*Writer, error) {
	m.Schema = Schema
	m.End = nil
	if m.Start.IsZero() {
		m.Start = time.Now()
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("create run: %w", err)
	}
	w := &Writer{
		dir:      dir,
		manifest: m,
		seen:     make(map[string]bool),
		extremes: make(map[string]Extremes),
		empty:    NewHistogram(),
	}
	// O_EXCL on the first file is what keeps two writers out of one directory.
	const flags = os.O_CREATE | os.O_EXCL | os.O_WRONLY
	var err error
	if w.latency, err = os.OpenFile(filepath.Join(dir, LatencyFile), flags, 0o666); err != nil {
		return nil, fmt.Errorf("create run: %w", err)
	}
	w.buf = bufio.NewWriterSize(w.latency, 64<<10)
	w.log = hdrhistogram.NewHistogramLogWriter(w.buf)
	if w.counters, err = createLines(filepath.Join(dir, CountersFile)); err != nil {
		return nil, errors.Join(fmt.Errorf("create run: %w", err), w.latency.Close())
	}
	if w.outliers, err = createLines(filepath.Join(dir, OutliersFile)); err != nil {
		return nil, errors.Join(fmt.Errorf("create run: %w", err), w.latency.Close(), w.counters.close())
	}
	if err := errors.Join(w.header(), writeJSON(filepath.Join(dir, ManifestFile), &m)); err != nil {
		return nil, errors.Join(fmt.Errorf("create run: %w", err), w.close())
	}
	return w, nil
}

// header writes the comment lines of the log.
//
// Note: the library's OutputStartTime cuts to whole seconds, and a base time,
// cut as well, would shift every interval by the lost milliseconds; written but
// not set on the writer, it would double the times. So intervals carry absolute
// times and there is no base line; the start line, which readers use as
// information only, is written in full through OutputComment.
func (w *Writer) header() error {
	start := w.manifest.Start
	return errors.Join(
		w.log.OutputComment("[Logged with commitlab, "+Schema+"]"),
		w.log.OutputLogFormatVersion(),
		w.log.OutputComment(fmt.Sprintf("[StartTime: %d.%03d (seconds since epoch), %s]",
			start.Unix(), start.UnixMilli()-1000*start.Unix(), start.Format("2006-01-02T15:04:05.000Z07:00"))),
		w.log.OutputLegend(),
		w.buf.Flush(),
	)
}

// Dir returns the directory of the run, for what else belongs to it (profiles).
func (w *Writer) Dir() string { return w.dir }

// Tick appends one interval: a log line per tag and a line of counters. A
// histogram that is nil leaves no line, unless its tag had one before: a second
// in which nothing ended is an interval with count 0, not a gap.
//
// Interval times are kept to the millisecond, the log format's unit.
func (w *Writer) Tick(t Tick) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return fmt.Errorf("tick in %s: the run has ended", w.dir)
	}
	line := CountersLine{Start: t.Start, End: t.End, Extremes: make(map[string]Extremes)}
	var errs []error
	add := func(tag string, h *hdrhistogram.Histogram, e Extremes) {
		if h == nil {
			if !w.seen[tag] {
				return
			}
			h = w.empty
		}
		if h.TotalCount() > 0 {
			if e.MaxNs == 0 {
				e.MaxNs = h.Max()
			}
			line.Extremes[tag] = e
		}
		errs = append(errs, w.interval(tag, t, h, e))
	}
	for _, op := range t.Ops {
		w.seen[Tag(op.Name, Service)] = true
		add(Tag(op.Name, Service), op.Service, op.ServiceExtremes)
		add(Tag(op.Name, Response), op.Response, op.ResponseExtremes)
		add(Tag(op.Name, Slip), op.Slip, op.SlipExtremes)
		add(Tag(op.Name, Lag), op.Lag, op.LagExtremes)
	}
	add(HiccupTag, t.Hiccup, t.HiccupExtremes)
	errs = append(errs, w.buf.Flush())
	if t.Counters != nil {
		b, err := json.Marshal(t.Counters)
		errs = append(errs, err)
		line.Counters = b
	}
	errs = append(errs, w.counters.write(&line), w.counters.flush(), w.outliers.flush())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("tick in %s: %w", w.dir, err)
	}
	return nil
}

// interval writes one log line.
func (w *Writer) interval(tag string, t Tick, h *hdrhistogram.Histogram, e Extremes) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	if err := checkGeometry(h); err != nil {
		return fmt.Errorf("%s: %w", tag, err)
	}
	h.SetTag(tag)
	h.SetStartTimeMs(t.Start.UnixMilli())
	h.SetEndTimeMs(t.End.UnixMilli())
	if err := w.log.OutputIntervalHistogram(h); err != nil {
		return fmt.Errorf("%s: %w", tag, err)
	}
	w.seen[tag] = true
	total := w.extremes[tag]
	total.Add(e)
	w.extremes[tag] = total
	return nil
}

// Outlier appends one record to the outliers. It is in the file with the next
// Tick.
func (w *Writer) Outlier(o Outlier) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return fmt.Errorf("outlier in %s: the run has ended", w.dir)
	}
	return w.outliers.write(&o)
}

// End completes the run: it closes the files and replaces the manifest by one
// with e. Extremes are filled in from the ticks. Only the first call counts;
// later ones are an error.
func (w *Writer) End(e End) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return fmt.Errorf("end run in %s: the run has ended", w.dir)
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Extremes = maps.Clone(w.extremes)
	w.manifest.End = &e
	// The data must be on disk before the manifest says that it is complete.
	err := w.close()
	if err == nil {
		err = writeJSON(filepath.Join(w.dir, ManifestFile), &w.manifest)
	}
	if err != nil {
		return fmt.Errorf("end run in %s: %w", w.dir, err)
	}
	return nil
}

// Close closes the files of a run that is given up without an end. After End
// it does nothing.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return nil
	}
	return w.close()
}

func (w *Writer) close() error {
	w.ended = true
	return errors.Join(
		w.buf.Flush(), w.latency.Sync(), w.latency.Close(),
		w.counters.close(), w.outliers.close(),
	)
}
