package pressure

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"commitlab/bench/workload"
	"commitlab/engine/mmap"
)

// ballast is memory that is taken and not used.
type ballast struct {
	bytes  int64
	locked bool
}

func parseBallast(argument string) (source, error) {
	bytes, how, given := strings.Cut(argument, "/")
	n, err := workload.ParseBytes(bytes)
	if err != nil || n < 1 || given && how != "locked" && how != "touched" {
		return nil, errors.New("a size, touched by default, or locked: 2GiB or 2GiB/locked")
	}
	return ballast{n, how == "locked"}, nil
}

func (p ballast) missing(Env) string {
	m, err := memory()
	if err != nil {
		return fmt.Sprintf("how much memory is free is not known: %v", err)
	}
	if room := memoryRoom(m.available, m.total); p.bytes > room {
		return fmt.Sprintf("%s are asked for; %s are available, of which %s are kept: %s will be taken",
			size(p.bytes), size(m.available), size(memoryReserve(m.total)), size(room))
	}
	return ""
}

// ballastChunk is taken at a time, with a look at what is left before each.
const ballastChunk = 64 * mib

func (p ballast) start(Env) (running, error) {
	r := &runningBallast{ballast: p}
	for r.taken < p.bytes {
		m, err := memory()
		if err != nil {
			return nil, errors.Join(err, r.release())
		}
		n := min(p.bytes-r.taken, ballastChunk)
		if n > memoryRoom(m.available, m.total) {
			r.notes = append(r.notes, fmt.Sprintf("%s of %s were taken: no more than %s are available, of which %s are kept",
				size(r.taken), size(p.bytes), size(m.available), size(memoryReserve(m.total))))
			break
		}
		if err := r.take(n); err != nil {
			return nil, errors.Join(err, r.release())
		}
	}
	return r, nil
}

type runningBallast struct {
	ballast
	regions []mmap.Region
	taken   int64
	held    int64 // of these, locked
	notes   []string
}

// take maps n bytes and makes their pages.
func (r *runningBallast) take(n int64) error {
	region, err := mmap.Anonymous(n)
	if err != nil {
		return err
	}
	r.regions = append(r.regions, region)
	err = region.Populate(0, n, mmap.PopulateWrite)
	if errors.Is(err, errors.ErrUnsupported) {
		b := region.Bytes()
		for at := 0; at < len(b); at += os.Getpagesize() {
			b[at] = 1
		}
		err = nil
	}
	if err != nil {
		return err
	}
	r.taken += n
	if !r.locked {
		return nil
	}
	if err := region.Lock(0, n, false); err != nil {
		if r.held == r.taken-n { // the first that could not be
			r.notes = append(r.notes, fmt.Sprintf("memory from %s on is touched and not locked: %v", size(r.held), err))
		}
		return nil
	}
	r.held += n
	return nil
}

func (r *runningBallast) release() error {
	var errs []error
	for _, region := range r.regions {
		errs = append(errs, region.Unmap())
	}
	r.regions = nil
	return errors.Join(errs...)
}

func (r *runningBallast) stop() (Report, error) {
	did := fmt.Sprintf("%s of memory touched", size(r.taken))
	if r.locked {
		did += fmt.Sprintf(", %s of it locked", size(r.held))
	}
	return Report{
		Did: did, Notes: r.notes,
		Values: map[string]float64{"takenBytes": float64(r.taken), "lockedBytes": float64(r.held)},
	}, r.release()
}
