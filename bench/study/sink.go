package study

import (
	"slices"
	"time"

	"commitlab/bench/measure"
	"commitlab/bench/result"
)

// sink writes what a run measures to its files. Called from the run's own
// goroutine only.
//
// Encoding a tick takes milliseconds of a processor, which on a small machine is
// the one that the measured goroutines need. A short run is therefore kept in
// memory and written behind its end; a long one is written every few seconds, so
// that memory stays bounded and little is lost if the process is killed.
type sink struct {
	writer *result.Writer
	opened time.Duration // when the window opened, on the run's clock
	// observe sees every tick before it is written; nil is allowed.
	observe func(measure.Tick)
	last    any            // counters of the last tick
	kept    []func() error // ticks and outliers not yet written, in order
	ticks   int            // of kept
	written time.Time      // end of the last tick that was written
}

// keptFor is how much of a run is kept in memory, more than a run of the usual
// five seconds; keptTicks bounds it for short ticks, each with about a MiB of
// histograms.
const (
	keptFor   = 6 * time.Second
	keptTicks = 64
)

// flush writes what is kept.
func (s *sink) flush() error {
	kept := s.kept
	s.kept, s.ticks = nil, 0 // written once, whatever comes of it
	for _, write := range kept {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

func (s *sink) Tick(t measure.Tick) error {
	if s.observe != nil {
		s.observe(t)
	}
	if t.Counters != nil {
		s.last = t.Counters
	}
	out := result.Tick{Start: t.Start, End: t.End, Hiccup: t.Hiccup, Counters: t.Counters}
	for _, op := range slices.Concat(t.Ops, t.Bystanders) {
		out.Ops = append(out.Ops, result.OpTick{
			Name:             op.Name,
			Service:          op.Service,
			Response:         op.Response,
			Slip:             op.Slip,
			Lag:              op.Lag,
			ServiceExtremes:  result.Extremes{MaxNs: op.Max.Service, OverRange: op.Over.Service},
			ResponseExtremes: result.Extremes{MaxNs: op.Max.Response, OverRange: op.Over.Response},
			SlipExtremes:     result.Extremes{MaxNs: op.Max.Slip, OverRange: op.Over.Slip},
			LagExtremes:      result.Extremes{MaxNs: op.Max.Lag, OverRange: op.Over.Lag},
		})
	}
	s.kept = append(s.kept, func() error { return s.writer.Tick(out) })
	if s.written.IsZero() {
		s.written = t.Start
	}
	if s.ticks++; s.ticks < keptTicks && t.End.Sub(s.written) < keptFor {
		return nil
	}
	s.written = t.End
	return s.flush()
}

func (s *sink) Outlier(o measure.Outlier) error {
	out := result.Outlier{
		Op: o.Op, Worker: o.Worker, Seq: o.N,
		StartNs: int64(o.Start - s.opened), EndNs: int64(o.End - s.opened),
	}
	if o.Due != o.Start {
		due := int64(o.Due - s.opened)
		out.DueNs = &due
	}
	for _, n := range o.Notes {
		if n.Name == "offset" {
			offset := n.Value
			out.Offset = &offset
		}
	}
	s.kept = append(s.kept, func() error { return s.writer.Outlier(out) })
	return nil
}
