package peer

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"commitlab/bench/measure"
	"commitlab/bench/result"
)

// outcomeJSON is outcome.json. Times are nanoseconds on the peer's clock, whose
// zero is the pacer's; the counts are those of measure.Tally.
type outcomeJSON struct {
	Schema    string `json:"schema"`
	DateMs    int64  `json:"dateMs"` // of the clock's zero, since the epoch
	OpenedNs  int64  `json:"openedNs"`
	EndNs     int64  `json:"endNs"`
	DrainedNs int64  `json:"drainedNs"`

	Done       uint64 `json:"done"`
	Late       uint64 `json:"late"`
	Failed     uint64 `json:"failed"`
	Unfinished uint64 `json:"unfinished"`
	Ended      uint64 `json:"ended"`
	BusyNs     int64  `json:"busyNs"`

	OutliersDropped uint64 `json:"outliersDropped"`
	Cancelled       bool   `json:"cancelled"`
	Failure         string `json:"failure"`    // what failed; "" if nothing did
	EndedEarly      string `json:"endedEarly"` // why the run ended in order before its time

	Target Facts `json:"target"`
}

// tickJSON is a line of ticks.jsonl. Tags are those of the lines that the tick
// has in the latency log, in that order.
type tickJSON struct {
	FromNs   int64                      `json:"fromNs"`
	ToNs     int64                      `json:"toNs"`
	Tags     []string                   `json:"tags"`
	Extremes map[string]result.Extremes `json:"extremes"`
	Failed   uint64                     `json:"failed"`
	Counters json.RawMessage            `json:"counters"`
}

// outlierJSON is a line of outliers.jsonl.
type outlierJSON struct {
	Tick    int    `json:"tick"` // from 0
	Worker  int    `json:"worker"`
	N       uint64 `json:"n"`
	DueNs   int64  `json:"dueNs"` // the start in a closed loop
	StartNs int64  `json:"startNs"`
	EndNs   int64  `json:"endNs"`
	Offset  *int64 `json:"offset"` // physical offset of the operation; absent if there is none
}

// intake is what a peer left, checked against its plan.
type intake struct {
	tally    measure.Tally
	facts    Facts
	ticks    []measure.Tick
	outliers [][]measure.Outlier // by tick
}

func read(dir string, p plan) (*intake, error) {
	var o outcomeJSON
	b, err := os.ReadFile(filepath.Join(dir, outcomeFile))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &o); err != nil {
		return nil, fmt.Errorf("%s: %w", outcomeFile, err)
	}
	if o.Schema != Schema {
		return nil, fmt.Errorf("%s: schema is %q, want %q", outcomeFile, o.Schema, Schema)
	}
	in := &intake{facts: o.Target, tally: o.tally()}
	if err := in.readTicks(dir, p); err != nil {
		return nil, err
	}
	if err := in.readOutliers(dir, p); err != nil {
		return nil, err
	}
	return in, in.check()
}

func (o outcomeJSON) tally() measure.Tally {
	t := measure.Tally{
		Date:   time.UnixMilli(o.DateMs),
		Opened: time.Duration(o.OpenedNs), End: time.Duration(o.EndNs), Drained: time.Duration(o.DrainedNs),
		Done: o.Done, Late: o.Late, Failed: o.Failed, Unfinished: o.Unfinished,
		Ended: o.Ended, Busy: time.Duration(o.BusyNs),
		OutliersDropped: o.OutliersDropped, Cancelled: o.Cancelled,
	}
	switch {
	case o.Failure != "":
		t.Failure = errors.New(o.Failure)
	case o.EndedEarly != "":
		t.Failure = fmt.Errorf("%w: %s", measure.ErrEnd, o.EndedEarly)
	}
	return t
}

// check holds the counts against the histograms.
func (in *intake) check() error {
	recorded := uint64(0)
	for _, t := range in.ticks {
		if h := t.Ops[0].Service; h != nil {
			recorded += uint64(h.TotalCount())
		}
	}
	if want := in.tally.Done + in.tally.Late; recorded != want {
		return fmt.Errorf("%s holds %d operations of %d that were done", latencyFile, recorded, want)
	}
	return nil
}

// readTicks reads the intervals, and of each the histograms that it says it has.
func (in *intake) readTicks(dir string, p plan) error {
	next, stop := iter.Pull2(result.ReadLog(filepath.Join(dir, latencyFile)))
	defer stop()
	err := readLines(dir, ticksFile, func(line tickJSON) error {
		tick := measure.Tick{
			Start: in.tally.Date.Add(time.Duration(line.FromNs)), End: in.tally.Date.Add(time.Duration(line.ToNs)),
			From: time.Duration(line.FromNs) - in.tally.Opened, To: time.Duration(line.ToNs) - in.tally.Opened,
		}
		for _, op := range p.Ops {
			tick.Ops = append(tick.Ops, measure.OpTick{Name: op})
		}
		tick.Ops[0].Failed = line.Failed
		if len(line.Counters) > 0 {
			tick.Counters = line.Counters
		}
		for _, tag := range line.Tags {
			i, err, ok := next()
			switch {
			case !ok:
				return fmt.Errorf("%s ends before %s of the tick", latencyFile, tag)
			case err != nil:
				return err
			case i.Tag != tag:
				return fmt.Errorf("%s: tag is %q, want %q", latencyFile, i.Tag, tag)
			}
			if err := place(&tick, p.Ops, tag, i.Hist, line.Extremes[tag]); err != nil {
				return fmt.Errorf("%s: %w", latencyFile, err)
			}
		}
		in.ticks = append(in.ticks, tick)
		return nil
	})
	if err != nil {
		return err
	}
	if i, _, ok := next(); ok {
		return fmt.Errorf("%s: %q belongs to no tick", latencyFile, i.Tag)
	}
	return nil
}

// place puts a histogram where its tag belongs.
func place(t *measure.Tick, ops []string, tag string, h *hdrhistogram.Histogram, e result.Extremes) error {
	if h.LowestTrackableValue() != result.LowestNs || h.HighestTrackableValue() != result.HighestNs || h.SignificantFigures() != result.SignificantDigits {
		return fmt.Errorf("%s: histogram of %d to %d with %d digits, want %d to %d with %d", tag,
			h.LowestTrackableValue(), h.HighestTrackableValue(), h.SignificantFigures(), result.LowestNs, int64(result.HighestNs), result.SignificantDigits)
	}
	if tag == result.HiccupTag {
		t.Hiccup = h
		return nil
	}
	dot := max(strings.LastIndexByte(tag, '.'), 0)
	name, kind := tag[:dot], strings.TrimPrefix(tag[dot:], ".")
	i := slices.Index(ops, name)
	if i < 0 {
		return fmt.Errorf("tag %q: the plan has no such operation, only %q", tag, ops)
	}
	op := &t.Ops[i]
	switch result.Kind(kind) {
	case result.Service:
		op.Service, op.Max.Service, op.Over.Service = h, e.MaxNs, e.OverRange
	case result.Response:
		op.Response, op.Max.Response, op.Over.Response = h, e.MaxNs, e.OverRange
	case result.Slip:
		op.Slip, op.Max.Slip, op.Over.Slip = h, e.MaxNs, e.OverRange
	case result.Lag:
		op.Lag, op.Max.Lag, op.Over.Lag = h, e.MaxNs, e.OverRange
	default:
		return fmt.Errorf("tag %q: want one of the kinds %q", tag, result.Kinds)
	}
	return nil
}

func (in *intake) readOutliers(dir string, p plan) error {
	in.outliers = make([][]measure.Outlier, len(in.ticks))
	return readLines(dir, outliersFile, func(line outlierJSON) error {
		if line.Tick < 0 || line.Tick >= len(in.ticks) {
			return fmt.Errorf("tick %d of %d", line.Tick, len(in.ticks))
		}
		o := measure.Outlier{
			Op: p.Ops[0], Worker: line.Worker, N: line.N,
			Due: time.Duration(line.DueNs), Start: time.Duration(line.StartNs), End: time.Duration(line.EndNs),
			Date: in.tally.Date.Add(time.Duration(line.EndNs)),
		}
		if line.Offset != nil {
			o.Notes = []measure.Note{{Name: "offset", Value: *line.Offset}}
		}
		in.outliers[line.Tick] = append(in.outliers[line.Tick], o)
		return nil
	})
}

// readLines decodes each line of a file; an error says which.
func readLines[T any](dir, name string, each func(T) error) error {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var line T
		err := json.Unmarshal(lines.Bytes(), &line)
		if err == nil {
			err = each(line)
		}
		if err != nil {
			return fmt.Errorf("%s line %d: %w", name, n, err)
		}
	}
	return lines.Err()
}

// feed hands everything to a sink in the order in which bench/measure would.
func (in *intake) feed(sink measure.Sink) error {
	for i, t := range in.ticks {
		for _, o := range in.outliers[i] {
			if err := sink.Outlier(o); err != nil {
				return err
			}
		}
		if err := sink.Tick(t); err != nil {
			return err
		}
	}
	return nil
}
