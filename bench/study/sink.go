package study

import (
	"time"

	"commitlab/bench/measure"
	"commitlab/bench/result"
)

// sink writes what a run measures to its files. Called from the run's own
// goroutine only.
type sink struct {
	writer *result.Writer
	opened time.Duration // when the window opened, on the run's clock
	// observe sees every tick before it is written; nil is allowed.
	observe func(measure.Tick)
	last    any // counters of the last tick
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
	return s.writer.Tick(out)
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
	return s.writer.Outlier(out)
}
