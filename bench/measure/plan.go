package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"commitlab/bench/pace"
)

// Plan says how an Instance is driven. The zero value of each field but Primary
// and Duration is a default.
type Plan struct {
	Primary string   // name of the operation that Op is, such as "append"
	Ops     []string // further names that Op may pass to Worker.Observe
	Workers int      // goroutines that call Op; default 1

	// Bystanders are the names, among Primary and Ops, of operations whose service
	// times are also sorted by whether they overlapped a disturbance that the
	// target reported (Events.Disturb), or one that had ended less than Margin
	// before, default 1 ms. Of what a worker observes, ObserveSpan is needed.
	Bystanders []string
	Margin     time.Duration

	// Pacer is the schedule; nil or pace.Closed is a closed loop.
	Pacer pace.Pacer
	// Wait says how workers pass the time until an operation is due.
	Wait pace.Mode

	// The warm-up ends when both have passed: Warmup, and the due time of
	// operation number WarmupOps (in a closed loop: when so many were done).
	Warmup    time.Duration
	WarmupOps uint64
	Duration  time.Duration // of the window that is measured; required
	// Drain bounds what happens after the window: for so long operations that were
	// due in it are still started. Those under way then are awaited for as long
	// again, at least 1 s. Default 5 s, negative for none.
	Drain time.Duration
	// Tick is the length of an interval handed to the sink. Default a twentieth
	// of Duration, but at least 100 ms and at most 1 s.
	Tick time.Duration

	Seed uint64 // of the workers' random sources

	// MaxErrors is how many failed operations a run bears; one more ends it.
	MaxErrors uint64

	// OutlierOver is the service or response time from which an operation leaves
	// an Outlier; 0 for none. OutlierLimit bounds them per worker and tick
	// (default 64); those beyond are counted.
	OutlierOver  time.Duration
	OutlierLimit int

	// Beside, if set, is called after Setup and before the first Op; the function
	// it returns is called once, after the last Op and before Verify. For what
	// goes on beside the load, on purpose.
	Beside func(ctx context.Context) (ended func() error, err error)
	// Window, if set, is called when the measured window opens; the function it
	// returns is called when the window closes, before the drain. For profiles.
	Window func() (closed func() error, err error)
	// Wall is the wall clock, for dates only; default time.Now.
	Wall func() time.Time
}

const (
	defaultDrain        = 5 * time.Second
	defaultOutlierLimit = 64
	defaultMargin       = time.Millisecond
	longestTick         = time.Minute
)

// Resolve fills in defaults and reports everything that is wrong at once.
func (p Plan) Resolve() (Plan, error) {
	var problems []error
	if p.Primary == "" {
		problems = append(problems, errors.New("primary operation has no name"))
	}
	names := append([]string{p.Primary}, p.Ops...)
	slices.Sort(names)
	if len(slices.Compact(names)) != len(p.Ops)+1 {
		problems = append(problems, fmt.Errorf("operation names %q, %q are not distinct", p.Primary, p.Ops))
	}
	for _, name := range p.Bystanders {
		if !slices.Contains(names, name) {
			problems = append(problems, fmt.Errorf("bystander %q is none of the operations %q", name, names))
		}
	}
	if p.Margin < 0 {
		problems = append(problems, fmt.Errorf("margin %v: want at least 0", p.Margin))
	}
	if p.Duration <= 0 {
		problems = append(problems, fmt.Errorf("duration %v: want more than 0", p.Duration))
	}
	if p.Workers < 0 {
		problems = append(problems, fmt.Errorf("workers %d: want at least 1", p.Workers))
	}
	if p.Warmup < 0 {
		problems = append(problems, fmt.Errorf("warm-up %v: want at least 0", p.Warmup))
	}
	if p.Tick < 0 || p.Tick > longestTick {
		problems = append(problems, fmt.Errorf("tick %v: want more than 0 and at most %v", p.Tick, longestTick))
	}
	if p.OutlierOver < 0 || p.OutlierLimit < 0 {
		problems = append(problems, fmt.Errorf("outliers over %v, limit %d: want at least 0", p.OutlierOver, p.OutlierLimit))
	}
	if len(problems) > 0 {
		return p, fmt.Errorf("plan: %w", errors.Join(problems...))
	}
	p.Workers = max(p.Workers, 1)
	if p.Pacer == nil {
		p.Pacer = pace.Closed{}
	}
	if p.Drain == 0 {
		p.Drain = defaultDrain
	}
	p.Drain = max(p.Drain, 0)
	if p.Tick == 0 {
		p.Tick = min(max(p.Duration/20, 100*time.Millisecond), time.Second)
	}
	if p.OutlierLimit == 0 {
		p.OutlierLimit = defaultOutlierLimit
	}
	if p.Margin == 0 {
		p.Margin = defaultMargin
	}
	if p.Wall == nil {
		p.Wall = time.Now
	}
	return p, nil
}

// names lists the operations of a run, the primary one first.
func (p Plan) names() []string { return append([]string{p.Primary}, p.Ops...) }
