package study

import (
	"time"

	"commitlab/bench/measure"
	"commitlab/bench/result"
)

// sink writes what a run measures to its files. Called from the run's own
// goroutine only.
//
// Encoding a tick takes milliseconds of a processor, which on a small machine is
// the one that the measured goroutines need. A short run is therefore kept in
// memory and written behind its end; a long one is written in between, so that memory
// stays bounded.
type sink struct {
	writer *result.Writer
	opened time.Duration // when the window opened, on the run's clock
	// observe sees every tick before it is written; nil is allowed.
	observe func(measure.Tick)
	last    any            // counters of the last tick
	kept    []func() error // ticks and outliers not yet written, in order
	weight  int            // of what is kept
}

// What is kept weighs about a KiB for an outlier and a MiB for a tick with its
// histograms; keptWeight bounds it to 64 MiB or so.
const (
	outlierWeight = 1
	tickWeight    = 1 << 10
	keptWeight    = 64 << 10
)

// keep takes one item to be written later.
func (s *sink) keep(weight int, write func() error) error {
	s.kept = append(s.kept, write)
	if s.weight += weight; s.weight < keptWeight {
		return nil
	}
	return s.flush()
}

// flush writes what is kept.
func (s *sink) flush() error {
	for _, write := range s.kept {
		if err := write(); err != nil {
			return err
		}
	}
	clear(s.kept) // lets the histograms go
	s.kept, s.weight = s.kept[:0], 0
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
	for _, op := range t.Ops {
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
	return s.keep(tickWeight, func() error { return s.writer.Tick(out) })
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
	return s.keep(outlierWeight, func() error { return s.writer.Outlier(out) })
}
