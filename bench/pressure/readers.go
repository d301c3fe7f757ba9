package pressure

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Holder is what a scenario offers to readers that hold on to its records.
type Holder interface {
	// Hold returns a record of the oldest file, which keeps that file's mapping
	// until it is released. It may be called from any goroutine.
	Hold() (Held, error)
}

// Held is a record in a reader's hands.
type Held interface {
	// Revoked reports that the record was taken away by force meanwhile.
	Revoked() bool
	Release()
}

// heldReaders are readers that do not give back what they read.
type heldReaders struct {
	count int
	hold  time.Duration
}

const (
	defaultHold = 2 * time.Second
	mostReaders = 10_000
)

func parseHeldReaders(argument string) (source, error) {
	count, hold, timed := strings.Cut(argument, "/")
	p := heldReaders{hold: defaultHold}
	var err error
	if p.count, err = strconv.Atoi(count); err != nil || p.count < 1 || p.count > mostReaders {
		return nil, fmt.Errorf("a number of readers from 1 to %d, and how long they hold: 8 or 8/5s", mostReaders)
	}
	if timed {
		if p.hold, err = time.ParseDuration(hold); err != nil || p.hold <= 0 {
			return nil, errors.New("readers and a duration above 0: 8/5s")
		}
	}
	return p, nil
}

func (p heldReaders) missing(env Env) string {
	if env.Holder == nil {
		return errNoHolder.Error()
	}
	return ""
}

var errNoHolder = errors.New("the scenario has no records that a reader could hold")

func (p heldReaders) start(env Env) (running, error) {
	if env.Holder == nil {
		return nil, errNoHolder
	}
	r := &runningReaders{loop: newLoop(), heldReaders: p, holder: env.Holder}
	for range p.count {
		r.run(r.read)
	}
	return r, nil
}

type runningReaders struct {
	*loop
	heldReaders
	holder Holder

	held, most, total, revoked, refused atomic.Int64
	reason                              sync.Once
	refusal                             error // why the first one was refused; guarded by reason
}

// read holds one record after another.
func (r *runningReaders) read() {
	const retry = 5 * time.Millisecond // a file may just have gone
	for {
		h, err := r.holder.Hold()
		if err != nil {
			r.refused.Add(1)
			r.reason.Do(func() { r.refusal = err })
			if !r.pause(retry) {
				return
			}
			continue
		}
		r.total.Add(1)
		raise(&r.most, r.held.Add(1))
		goOn := r.pause(r.hold)
		if h.Revoked() {
			r.revoked.Add(1)
		}
		h.Release()
		r.held.Add(-1)
		if !goOn {
			return
		}
	}
}

// raise makes v at least n.
func raise(v *atomic.Int64, n int64) {
	for old := v.Load(); n > old && !v.CompareAndSwap(old, n); old = v.Load() {
	}
}

func (r *runningReaders) stop() (Report, error) {
	r.end()
	report := Report{
		Did: fmt.Sprintf("%d readers, at most %d at a time, held %d records for %v each; %d were taken away by force",
			r.count, r.most.Load(), r.total.Load(), r.hold, r.revoked.Load()),
		Values: map[string]float64{
			"readers": float64(r.count), "mostHeld": float64(r.most.Load()),
			"holds": float64(r.total.Load()), "revoked": float64(r.revoked.Load()), "refused": float64(r.refused.Load()),
		},
	}
	if n := r.refused.Load(); n > 0 {
		report.Notes = append(report.Notes, fmt.Sprintf("%d times there was nothing to hold: %v", n, r.refusal))
	}
	return report, nil
}
