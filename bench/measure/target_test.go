package measure_test

import (
	"context"
	"sync/atomic"
	"time"

	"commitlab/bench/measure"
)

// target is an Instance made of functions; what is nil does nothing.
type target struct {
	setup, verify func(context.Context) error
	op            func(*measure.Worker) error
	close         func() error

	ops atomic.Uint64 // calls of Op
}

func (t *target) Setup(ctx context.Context) error  { return callContext(t.setup, ctx) }
func (t *target) Verify(ctx context.Context) error { return callContext(t.verify, ctx) }

func (t *target) Op(w *measure.Worker) error {
	t.ops.Add(1)
	if t.op == nil {
		return nil
	}
	return t.op(w)
}

func (t *target) Close() error {
	if t.close == nil {
		return nil
	}
	return t.close()
}

func callContext(f func(context.Context) error, ctx context.Context) error {
	if f == nil {
		return nil
	}
	return f(ctx)
}

// serving returns an Op that takes d each time.
func serving(d time.Duration) func(*measure.Worker) error {
	return func(*measure.Worker) error {
		time.Sleep(d)
		return nil
	}
}

// collector is a Sink that keeps everything.
type collector struct {
	ticks    []measure.Tick
	outliers []measure.Outlier
	err      error // returned by Tick
}

func (c *collector) Tick(t measure.Tick) error {
	c.ticks = append(c.ticks, t)
	return c.err
}

func (c *collector) Outlier(o measure.Outlier) error {
	c.outliers = append(c.outliers, o)
	return nil
}
