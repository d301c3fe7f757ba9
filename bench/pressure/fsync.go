package pressure

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// fsyncStorm makes small writes durable, as a database beside the log would.
type fsyncStorm struct{ perSecond float64 } // 0: as many as there can be

const (
	syncBlock = 4 << 10
	syncSpan  = 1 << 20 // the blocks of its file are written round and round
	mostSyncs = 1e6
)

func parseFsyncStorm(argument string) (source, error) {
	if argument == "max" {
		return fsyncStorm{}, nil
	}
	rate, ok := strings.CutSuffix(argument, "/s")
	n, err := strconv.ParseFloat(rate, 64)
	if err != nil || !ok || !(n > 0 && n <= mostSyncs) {
		return nil, errors.New("a rate such as 100/s, or max")
	}
	return fsyncStorm{n}, nil
}

func (fsyncStorm) missing(Env) string { return "" }

func (p fsyncStorm) start(env Env) (running, error) {
	f, err := nameless(env.Dir)
	if err != nil {
		return nil, err
	}
	r := &runningStorm{loop: newLoop(), fsyncStorm: p, file: f}
	r.run(r.sync)
	return r, nil
}

type runningStorm struct {
	*loop
	fsyncStorm
	file *os.File

	// Of the goroutine until it has ended.
	syncs, failures int64
	waited, longest time.Duration
	failure         error
}

func (r *runningStorm) sync() {
	block := make([]byte, syncBlock)
	for n := int64(0); r.pause(r.wait(n)); n++ {
		block[0] = byte(n)
		start := time.Now()
		_, err := r.file.WriteAt(block, n*syncBlock%syncSpan)
		if err == nil {
			err = r.file.Sync()
		}
		took := time.Since(start)
		if err != nil {
			r.failures++
			r.failure = err
			continue
		}
		r.syncs++
		r.waited += took
		r.longest = max(r.longest, took)
	}
}

// wait is how long it is until the n-th write is due.
func (r *runningStorm) wait(n int64) time.Duration {
	if r.perSecond == 0 {
		return 0
	}
	return time.Duration(float64(n)/r.perSecond*float64(time.Second)) - time.Since(r.begun)
}

func (r *runningStorm) stop() (Report, error) {
	took := r.end()
	asked := "as many as there can be"
	if r.perSecond > 0 {
		asked = fmt.Sprintf("%.6g a second", r.perSecond)
	}
	mean := r.waited / time.Duration(max(r.syncs, 1))
	report := Report{
		Did: fmt.Sprintf("%d durable writes of 4 KiB in %.1f s: %.1f a second, asked for were %s; one took %v, the longest %v",
			r.syncs, took.Seconds(), float64(r.syncs)/took.Seconds(), asked, mean.Round(time.Microsecond), r.longest.Round(time.Microsecond)),
		Values: map[string]float64{
			"syncs": float64(r.syncs), "perSecond": float64(r.syncs) / took.Seconds(),
			"meanMs": float64(mean) / 1e6, "maxMs": float64(r.longest) / 1e6, "seconds": took.Seconds(),
		},
	}
	if r.failures > 0 {
		report.Notes = append(report.Notes, fmt.Sprintf("%d failed, the last one: %v", r.failures, r.failure))
	}
	return report, r.file.Close()
}
