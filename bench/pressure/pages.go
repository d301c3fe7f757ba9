package pressure

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"commitlab/bench/workload"
	"commitlab/engine/fsutil"
)

// pageWriter dirties pages of the page cache that belong to nobody's log.
type pageWriter struct{ bytesPerSecond int64 }

const (
	// fewestBytes are written a second, mostBytes lie on the disk at a time.
	fewestBytes = 1 << 16
	mostBytes   = 512 * mib
	writeBlock  = 256 << 10
	writePause  = 5 * time.Millisecond
)

func parsePageWriter(argument string) (source, error) {
	rate, perSecond := strings.CutSuffix(argument, "/s")
	n, err := workload.ParseBytes(rate)
	if err != nil || !perSecond || n < fewestBytes {
		return nil, errors.New("a rate of 64KiB/s or more, such as 200MB/s")
	}
	return pageWriter{n}, nil
}

func (pageWriter) missing(Env) string { return "" }

func (p pageWriter) start(env Env) (running, error) {
	usage, err := fsutil.Usage(env.Dir)
	if err != nil {
		return nil, err
	}
	r := &runningWriter{loop: newLoop(), pageWriter: p, most: min(mostBytes, diskRoom(usage)/2)}
	if r.most < writeBlock {
		return nil, fmt.Errorf("no room: %s are available in %s, of which %s are kept", size(int64(usage.Available)), env.Dir, size(diskReserve(usage)))
	}
	if r.file, err = nameless(env.Dir); err != nil {
		return nil, err
	}
	r.run(r.write)
	return r, nil
}

type runningWriter struct {
	*loop
	pageWriter
	file *os.File
	most int64 // bytes of the file before it is dropped

	// Of the goroutine until it has ended.
	written, drops, failures int64
	failure                  error
}

// write keeps up with the rate: what is due is written in blocks, then it waits.
func (r *runningWriter) write() {
	block := make([]byte, writeBlock)
	for i := range block {
		block[i] = byte(i)
	}
	for at := int64(0); r.pause(writePause); {
		due := int64(time.Since(r.begun).Seconds() * float64(r.bytesPerSecond))
		for r.written < due && r.pause(0) {
			if at+writeBlock > r.most {
				r.drop(&at)
			}
			n, err := r.file.WriteAt(block, at)
			at += int64(n)
			r.written += int64(n)
			if err != nil {
				r.failures++
				r.failure = err
				r.drop(&at)
				break
			}
		}
	}
}

// drop gives the pages and blocks of the file back.
func (r *runningWriter) drop(at *int64) {
	if err := r.file.Truncate(0); err != nil {
		r.failures++
		r.failure = err
	}
	*at = 0
	r.drops++
}

func (r *runningWriter) stop() (Report, error) {
	took := r.end()
	perSecond := float64(r.written) / took.Seconds()
	report := Report{
		Did: fmt.Sprintf("%s written in %.1f s: %.1f MB/s of %.1f asked for, in a file of at most %s that was dropped %d times",
			size(r.written), took.Seconds(), perSecond/1e6, float64(r.bytesPerSecond)/1e6, size(r.most), r.drops),
		Values: map[string]float64{"writtenBytes": float64(r.written), "bytesPerSecond": perSecond, "drops": float64(r.drops), "seconds": took.Seconds()},
	}
	if r.failures > 0 {
		report.Notes = append(report.Notes, fmt.Sprintf("%d writes failed, the last one: %v", r.failures, r.failure))
	}
	return report, r.file.Close()
}
