package engine

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"commitlab/engine/fsutil"
)

// A diskUse is how full the file system below a path is.
type diskUse struct {
	path    string
	percent int // in use, rounded up; as df computes it
}

func (u diskUse) String() string {
	return fmt.Sprintf("the disk of %s is %d %% full", u.path, u.percent)
}

// fullest returns the one with the largest percentage; none is 0 % full.
func fullest(disks []diskUse) (most diskUse) {
	for _, u := range disks {
		if u.percent > most.percent {
			most = u
		}
	}
	return most
}

// A diskWatch looks at how full the disks of a store are, and refuses puts while
// one is too full. It is a service apart from cleaning: the slower files are
// deleted, the more it is needed.
//
//	percent   ≤ forcibly            … ≤ warning            > warning
//	puts      accepted              as before              refused
//
// The refusal names the fullest of the disks that are too full. What cannot be
// measured is as it was.
type diskWatch struct {
	paths             []string
	usage             func(path string) (fsutil.DiskUsage, error)
	warning, forcibly int

	mu   sync.Mutex
	full map[string]diskUse // guarded by mu; the disks that are too full, by path, as measured last

	percent atomic.Int64          // of the fullest, at the last look
	refusal atomic.Pointer[error] // what puts fail with; nil while they are accepted
}

func newDiskWatch(o Options, paths ...string) *diskWatch {
	d := &diskWatch{
		paths: paths, usage: o.DiskUsage, warning: o.DiskWarningPercent, forcibly: o.DiskCleanForciblyPercent,
		full: make(map[string]diskUse),
	}
	if d.usage == nil {
		d.usage = fsutil.Usage
	}
	return d
}

// Name implements service.Service.
func (d *diskWatch) Name() string { return "disk-watch" }

// measure returns the use of all disks that can be measured. The error tells of
// the others.
func (d *diskWatch) measure() (disks []diskUse, err error) {
	var errs []error
	for _, path := range d.paths {
		ratio := 0.0
		usage, err := d.usage(path)
		if err == nil {
			ratio, err = usage.Ratio()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("cannot tell how full the disk of %s is: %w", path, err))
			continue
		}
		disks = append(disks, diskUse{path: path, percent: int(math.Round(ratio * 100))})
	}
	return disks, errors.Join(errs...)
}

// Step looks once.
func (d *diskWatch) Step(time.Time) (int, error) {
	disks, err := d.measure()
	if len(disks) > 0 {
		d.percent.Store(int64(fullest(disks).percent))
	}
	d.judge(disks)
	return 0, err
}

// judge decides whether puts are accepted.
func (d *diskWatch) judge(disks []diskUse) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, u := range disks {
		if _, full := d.full[u.path]; u.percent > d.warning || full && u.percent > d.forcibly {
			d.full[u.path] = u
		} else {
			delete(d.full, u.path)
		}
	}
	if len(d.full) == 0 {
		d.refusal.Store(nil)
		return
	}
	var full []diskUse
	for _, path := range d.paths {
		full = append(full, d.full[path])
	}
	err := fmt.Errorf("%w: %s; puts are refused above diskWarningPercent %d until it is diskCleanForciblyPercent %d or less",
		ErrDiskFull, fullest(full), d.warning, d.forcibly)
	d.refusal.Store(&err)
}

// check returns an error wrapping ErrDiskFull while puts are refused.
func (d *diskWatch) check() error {
	if refusal := d.refusal.Load(); refusal != nil {
		return *refusal
	}
	return nil
}
