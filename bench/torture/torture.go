package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"commitlab/engine"
	"commitlab/engine/segment"
)

// DefaultAcks bounds the puts of a life before its death is due.
const DefaultAcks = 400

// Options of a run.
type Options struct {
	Dir      string
	Seed     uint64
	From     int           // first round; 0: where the directory stands
	Rounds   int           // how many
	Duration time.Duration // no round begins after it; 0: no limit
	Acks     int           // puts of a life before its death is due, at most; 0: DefaultAcks
	// MaxLogBytes: while children live, the oldest files of a larger log are deleted.
	// It must be more than a round writes. 0: nothing is deleted.
	MaxLogBytes int64
	// Command makes the command of a child: a program that calls Child with its
	// standard input and output.
	Command func() *exec.Cmd
	// Progress, if not nil, is told of each round that begins.
	Progress func(done int, r Round)
	// Fault is what the run must find; for tests of the run itself.
	Fault Fault
}

// A Fault is a defect that is put in on purpose, to see that it is found.
type Fault string

// The faults.
const (
	FaultNone Fault = ""
	FaultLie  Fault = "lie"  // syncs before a power cut do nothing and report success
	FaultDrop Fault = "drop" // the last message that had to survive is wiped out of the log
)

// Run tortures the store in a directory round by round. It stops at the first
// violation, which is in the report and no error. The report is of use, as far as
// it goes, when the error is that of ctx.
func Run(ctx context.Context, o Options) (*Report, error) {
	content, err := newContent(o.Seed)
	if err != nil {
		return nil, err
	}
	if o.Acks == 0 {
		o.Acks = DefaultAcks
	}
	dir := directory(o.Dir)
	from, ledger, err := dir.begin(o.Seed, o.From)
	if err != nil {
		return nil, err
	}
	r := &runner{
		opt: o, dir: dir, content: content, ledger: ledger,
		report: &Report{Schema: Schema, Dir: o.Dir, Seed: o.Seed, From: from, Next: from, Lives: make(map[Death]int), Violations: []Violation{}},
	}
	for _, s := range sets {
		r.report.Sets = append(r.report.Sets, s.name)
	}
	start := time.Now()
	err = r.rounds(ctx, from, start)
	r.report.Seconds = time.Since(start).Seconds()
	r.report.Stored, r.report.LogBytes, r.report.Deleted = int64(len(ledger.records)-ledger.live()), ledger.end()-ledger.min, int64(ledger.live())
	for _, record := range ledger.records {
		if record.kind == delivered {
			r.report.Delivered++
		}
	}
	return r.report, err
}

// A runner is a run under way.
type runner struct {
	opt     Options
	dir     directory
	content *content
	ledger  *ledger
	report  *Report
}

// rounds plays the rounds and then checks all that the store holds.
func (r *runner) rounds(ctx context.Context, from int, start time.Time) error {
	var last Round
	for n := range r.opt.Rounds {
		if r.opt.Duration > 0 && time.Since(start) >= r.opt.Duration {
			break
		}
		last = planRound(r.opt.Seed, from+n, r.opt.Acks)
		if r.opt.Progress != nil {
			r.opt.Progress(n, last)
		}
		v := &verdict{}
		if err := r.play(ctx, v, last); err != nil {
			return fmt.Errorf("round %d: %w", last.Number, err)
		}
		r.report.Rounds++
		if err := r.judged(v, last); err != nil || len(v.found) > 0 {
			return err
		}
		r.report.Next = last.Number + 1
	}
	if r.report.Rounds == 0 {
		return nil
	}
	v := &verdict{}
	if err := r.checkAll(ctx, v, last); err != nil {
		return err
	}
	return r.judged(v, last)
}

// judged enters a verdict and sets the store aside if something is wrong.
func (r *runner) judged(v *verdict, round Round) error {
	if len(v.found) == 0 {
		return nil
	}
	if v.more > 0 {
		v.found = append(v.found, fmt.Sprintf("and %d more", v.more))
	}
	r.report.Violations = append(r.report.Violations, Violation{Round: round, Found: v.found, Store: r.dir.violation(round.Number)})
	return r.dir.setAside(round.Number)
}

// play lives the lives of a round and checks what is left.
func (r *runner) play(ctx context.Context, v *verdict, round Round) error {
	options, err := optionsOf(round.Set, r.opt.Seed, 0)
	if err != nil {
		return err
	}
	if err := r.dir.keep(round.Number); err != nil {
		return err
	}
	if err := r.dir.forget(); err != nil {
		return err
	}
	var lives []*lifeLog
	for i, plan := range round.Lives {
		log := &lifeLog{
			Round: round.Number, Number: i, set: round.Set, plan: plan, fates: make(map[ID]fate), recovered: -1,
			async: options.Flush == engine.FlushAsync, buffers: options.SyncPath == segment.SyncPwrite,
		}
		if err := r.live(ctx, v, log, i < len(round.Lives)-1); err != nil {
			return err
		}
		lives = append(lives, log)
		if len(v.found) > 0 {
			return nil
		}
	}
	if r.opt.Fault == FaultDrop {
		if err := drop(r.dir.store(), lives, options.CommitLogFileBytes); err != nil {
			return err
		}
	}
	first := len(r.ledger.records)
	if err := r.check(ctx, v, round, lives, options); err != nil || len(v.found) > 0 {
		return err
	}
	return errors.Join(appendLedger(r.dir.ledger(), r.opt.Seed, round.Number, r.ledger.records[first:]), r.dir.forget())
}

// live lives one life. again: another one follows in the same round.
func (r *runner) live(ctx context.Context, v *verdict, log *lifeLog, again bool) error {
	p := &process{verdict: v, cmd: r.opt.Command(), plan: log.plan, content: r.content, log: log, refused: &r.report.Refusals}
	err := p.live(ctx, spec{
		Image: r.dir.imageOf(log.Round), Clone: r.dir.clone(), Record: again && log.plan.keepsCache(),
		Seed: r.opt.Seed, Round: log.Round, Life: log.Number, Set: log.set, Plan: log.plan, MaxLogBytes: r.opt.MaxLogBytes, Fault: r.opt.Fault,
	})
	if err == nil && p.cloned {
		err = r.dir.swap(again)
	}
	return err
}

// check opens the store again and looks at what a round left.
func (r *runner) check(ctx context.Context, v *verdict, round Round, lives []*lifeLog, options engine.Options) error {
	return r.open(ctx, v, options, func(c *checker) error {
		c.oldest(r.opt.MaxLogBytes)
		records, err := c.quiesce(ctx)
		if err != nil {
			return err
		}
		for i, cost := range judge(v, r.ledger, records, lives) {
			r.report.count(lives[i], cost)
		}
		if len(v.found) > 0 {
			return nil
		}
		first := len(r.ledger.records)
		r.ledger.add(round.Number, records)
		rng := rand.New(rand.NewPCG(r.opt.Seed, uint64(round.Number)))
		c.byQueue(first, rng)
		for _, record := range records {
			c.byKey(record)
		}
		for range min(first, sampledRecords) {
			c.again(rng.IntN(first))
		}
		return nil
	})
}

// sampledRecords of earlier rounds are checked after each round.
const sampledRecords = 300

// checkAll checks all that the store holds.
func (r *runner) checkAll(ctx context.Context, v *verdict, last Round) error {
	options, err := optionsOf(last.Set, r.opt.Seed, 0)
	if err != nil {
		return err
	}
	return r.open(ctx, v, options, func(c *checker) error {
		if err := c.settle(ctx, time.Now()); err != nil {
			return err
		}
		c.oldest(r.opt.MaxLogBytes)
		for i := range r.ledger.records {
			c.again(i)
		}
		c.byQueue(0, nil)
		return ctx.Err()
	})
}

// checkTimeout bounds a check, which takes seconds: a store that hangs is found too.
const checkTimeout = 10 * time.Minute

// open opens the store for a check, closes and audits it. Errors of the store are
// violations.
func (r *runner) open(ctx context.Context, v *verdict, options engine.Options, check func(*checker) error) error {
	done := make(chan error, 1)
	go func() { done <- r.opened(ctx, v, options, check) }()
	select {
	case err := <-done:
		return err
	case <-time.After(checkTimeout):
		stacks := make([]byte, 64<<10)
		return fmt.Errorf("the check did not end within %v: %s", checkTimeout, stacks[:runtime.Stack(stacks, true)])
	}
}

// opened does what open promises, unless it hangs.
func (r *runner) opened(ctx context.Context, v *verdict, options engine.Options, check func(*checker) error) error {
	s, err := engine.Open(r.dir.store(), options)
	if err != nil {
		v.wrong("open: %v", err)
		return nil
	}
	c := &checker{verdict: v, content: r.content, store: s, ledger: r.ledger, counts: &r.report.Checks}
	err = check(c)
	closed := s.Close()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := errors.Join(err, closed); err != nil {
		v.wrong("%v", err)
		return nil
	}
	if err := auditStore(ctx, v, r.dir.store(), options); err != nil {
		return err
	}
	r.report.Checks.Audits++
	return nil
}

// drop wipes the last message that had to survive out of the log, and what follows
// it in its file.
func drop(store string, lives []*lifeLog, fileBytes int64) error {
	last := int64(-1)
	for _, life := range lives {
		for _, a := range life.acks {
			if a.end() <= life.required() {
				last = max(last, a.offset)
			}
		}
	}
	if last < 0 {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(store, "commitlog", segment.FileName(last/fileBytes*fileBytes)), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(make([]byte, fileBytes-last%fileBytes), last%fileBytes)
	return errors.Join(err, f.Close())
}
