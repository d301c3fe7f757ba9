package measure

import (
	"slices"
	"sort"
	"sync"
	"time"
)

// Bystanders are operations that go on while the target does something else that
// may hurt them: appends while a file is destroyed. Each operation of a kind
// named in Plan.Bystanders is put into one of two distributions:
//
//	disturbance      ├──────────┤··margin··┤
//	operations    ├─┤  ├─┤    ├──────┤   ├─┤    ├─┤
//	              out  inside   inside   inside  outside
//
// A disturbance is only known when it is over (Events.Disturb), so operations
// wait for the verdict, for as long as patience. Of a disturbance that lasts
// longer, what came before is judged already; how much that was is counted.

// span is one operation of a bystander kind.
type span struct {
	bystander  int // place in Plan.Bystanders
	start, end time.Duration
}

// interruption is one disturbance.
type interruption struct{ start, end time.Duration }

const (
	sortPeriod = 20 * time.Millisecond
	// patience is how long an operation waits for the end of what went on
	// beside it.
	patience = time.Second
	// spansKept is how many operations all workers together may end in a
	// sortPeriod, before some are left out.
	spansKept  = 1 << 16
	fewestKept = 1 << 10
)

// Disturbed tells what a run's bystanders were sorted by.
type Disturbed struct {
	Margin time.Duration // Plan.Margin
	Count  int           // disturbances, overlapping ones counted as one
	Time   time.Duration // their length, margins included
	// Unsorted is how much of them became known too late, so that operations
	// meanwhile stand outside; Lost how many operations are in neither
	// distribution, since there were too many at once.
	Unsorted time.Duration
	Lost     uint64
}

// sorter puts the spans of a run's workers into place. Between start and stop it
// has a goroutine of its own.
type sorter struct {
	crew   []*Worker // immutable, as are the next three
	events *Events   // nil if the target has none
	margin time.Duration
	names  []string

	mu        sync.Mutex // guards all below
	waiting   []batch    // oldest first
	free      [][]span
	windows   []interruption // margins included, ascending, apart from each other
	judged    time.Duration  // operations that ended earlier have been judged
	tick, all []verdicts     // by bystander: since the last tick, and altogether
	unsorted  time.Duration
	lost      uint64
}

// batch is what the workers did up to one time.
type batch struct {
	until time.Duration
	spans []span
}

// verdicts are the two distributions of one bystander.
type verdicts struct{ inside, outside totals }

func newSorter(crew []*Worker, events *Events, plan Plan) *sorter {
	return &sorter{
		crew: crew, events: events, margin: plan.Margin, names: plan.Bystanders,
		tick: make([]verdicts, len(plan.Bystanders)), all: make([]verdicts, len(plan.Bystanders)),
	}
}

// run gathers and judges until stop is closed.
func (s *sorter) run(now func() time.Duration, stop <-chan struct{}) {
	ticker := time.NewTicker(sortPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			t := now()
			s.gather(t)
			s.judge(t - patience)
		}
	}
}

// gather takes what workers and events have done so far.
func (s *sorter) gather(now time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := batch{until: now}
	if n := len(s.free); n > 0 {
		b.spans, s.free = s.free[n-1], s.free[:n-1]
	}
	for _, w := range s.crew {
		taken := w.rec.exchangeSpans()
		b.spans = append(b.spans, taken.spans...)
		s.lost += taken.lost
		taken.reset()
	}
	if s.events != nil {
		taken := s.events.takeSpans()
		b.spans = append(b.spans, taken.bystanders...)
		for _, d := range taken.disturbances {
			s.disturb(d)
		}
	}
	s.waiting = append(s.waiting, b)
}

// disturb adds a disturbance to the windows and joins those that touch. The caller
// holds mu.
func (s *sorter) disturb(d interruption) {
	if d.start < s.judged {
		s.unsorted += min(d.end, s.judged) - d.start
	}
	d.end += s.margin
	first := sort.Search(len(s.windows), func(i int) bool { return s.windows[i].end >= d.start })
	last := first
	for last < len(s.windows) && s.windows[last].start <= d.end {
		d.start, d.end = min(d.start, s.windows[last].start), max(d.end, s.windows[last].end)
		last++
	}
	s.windows = slices.Replace(s.windows, first, last, d)
}

// judge sorts the operations of batches taken up to a time.
func (s *sorter) judge(until time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	done := 0
	for _, b := range s.waiting {
		if b.until > until {
			break
		}
		for _, op := range b.spans {
			v := &s.tick[op.bystander]
			into := &v.outside
			if s.isInside(op) {
				into = &v.inside
			}
			into.record(int64(op.end-op.start), 1)
		}
		s.free = append(s.free, b.spans[:0])
		s.judged = b.until
		done++
	}
	s.waiting = slices.Delete(s.waiting, 0, done)
}

func (s *sorter) isInside(op span) bool {
	i := sort.Search(len(s.windows), func(i int) bool { return s.windows[i].end >= op.start })
	return i < len(s.windows) && s.windows[i].start <= op.end
}

// finish judges everything that is left; no operation is recorded any more.
func (s *sorter) finish(now time.Duration) {
	s.gather(now)
	s.judge(now)
}

// take returns what was judged since the last call, as operations of a tick.
func (s *sorter) take() []OpTick {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ticks []OpTick
	for i, name := range s.names {
		now, sum := &s.tick[i], &s.all[i]
		ticks = append(ticks, opTick(InsideName(name), &now.inside), opTick(OutsideName(name), &now.outside))
		sum.inside.add(&now.inside)
		sum.outside.add(&now.outside)
		now.inside.reset()
		now.outside.reset()
	}
	return ticks
}

// opTick is a tick of an operation that has a service time only.
func opTick(name string, sum *totals) OpTick {
	return OpTick{Name: name, Service: sum.histogram(), Over: OpValues{Service: sum.over}, Max: OpValues{Service: sum.max}}
}

// outcome sums up; take has been called after finish.
func (s *sorter) outcome(o *Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, name := range s.names {
		o.Bystanders = append(o.Bystanders,
			OpOutcome{Name: InsideName(name), Service: s.all[i].inside.dist()},
			OpOutcome{Name: OutsideName(name), Service: s.all[i].outside.dist()})
	}
	o.Disturbed = &Disturbed{Margin: s.margin, Count: len(s.windows), Unsorted: s.unsorted, Lost: s.lost}
	for _, w := range s.windows {
		o.Disturbed.Time += w.end - w.start
	}
}

// InsideName and OutsideName name the two parts of a bystander's operations.
func InsideName(op string) string { return op + ".inside" }

// OutsideName is the other part; see InsideName.
func OutsideName(op string) string { return op + ".outside" }
