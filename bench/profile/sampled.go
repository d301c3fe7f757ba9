package profile

import (
	"bytes"
	"fmt"
	"io"
	"runtime/pprof"
	"runtime/trace"
	"time"

	"github.com/felixge/fgprof"
	"github.com/google/pprof/profile"
)

func beginCPU(out io.Writer, w *window) (func() error, error) {
	var raw bytes.Buffer
	if err := pprof.StartCPUProfile(&raw); err != nil {
		return nil, err
	}
	return func() error {
		pprof.StopCPUProfile()
		p, err := profile.Parse(&raw)
		if err != nil {
			return err
		}
		return w.write(out, p)
	}, nil
}

// beginWall samples the stacks of all goroutines 99 times a second.
func beginWall(out io.Writer, w *window) (func() error, error) {
	var raw bytes.Buffer
	stop := fgprof.Start(&raw, fgprof.FormatPprof)
	return func() error {
		if err := stopWall(stop); err != nil {
			return fmt.Errorf("window of %v: %w", w.length(), err)
		}
		p, err := profile.Parse(&raw)
		if err != nil {
			return err
		}
		p.PeriodType = &profile.ValueType{Type: "wallclock", Unit: "nanoseconds"}
		p.DefaultSampleType = "time"
		return w.write(out, p)
	}, nil
}

// stopWall turns the panic of fgprof (v0.9.5 divides by a rate that rounds to
// zero when the window was too short for a sample) into an error.
func stopWall(stop func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("too short for a sample of the wall clock")
		}
	}()
	return stop()
}

func beginTrace(out io.Writer, _ *window) (func() error, error) {
	if err := trace.Start(out); err != nil {
		return nil, err
	}
	return func() error {
		trace.Stop()
		return nil
	}, nil
}

func (w *window) length() time.Duration { return w.end.Sub(w.start) }

// write completes a profile's metadata with those of the window and encodes it.
func (w *window) write(out io.Writer, p *profile.Profile) error {
	p.TimeNanos = w.start.UnixNano()
	p.DurationNanos = w.length().Nanoseconds()
	p.Comments = append(p.Comments, w.label.comments(w.kind)...)
	if err := p.CheckValid(); err != nil {
		return err
	}
	return p.Write(out)
}
