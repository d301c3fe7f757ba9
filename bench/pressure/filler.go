package pressure

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"commitlab/engine/fsutil"
)

// diskFiller takes disk space until so much of it is used.
type diskFiller struct{ ratio float64 }

// highestRatio is a hard limit: above it other programs fail.
const highestRatio = 0.95

func parseDiskFiller(argument string) (source, error) {
	percent, ok := strings.CutSuffix(argument, "%")
	n, err := strconv.ParseFloat(percent, 64)
	if err != nil || !ok || !(n >= 1 && n <= 100*highestRatio) {
		return nil, fmt.Errorf("a share of the disk from 1%% to %.0f%%", 100*highestRatio)
	}
	return diskFiller{n / 100}, nil
}

func (p diskFiller) missing(env Env) string {
	room, need, err := p.room(env.Dir)
	switch {
	case err != nil:
		return err.Error()
	case need == 0:
		return fmt.Sprintf("more than %.0f %% of the disk are used already: nothing will be taken", 100*p.ratio)
	case need > room:
		return fmt.Sprintf("it would take %s and no more than %s may be taken", size(need), size(room))
	}
	return ""
}

// room is how much may be taken of the disk of dir, and how much the ratio needs.
func (p diskFiller) room(dir string) (room, need int64, err error) {
	usage, err := fsutil.Usage(dir)
	if err != nil {
		return 0, 0, err
	}
	room, need = diskRoom(usage), toRatio(usage, p.ratio)
	name, err := fsutil.FileSystem(dir)
	if err != nil {
		return 0, 0, err
	}
	if name == "tmpfs" || name == "ramfs" { // its space is memory
		m, err := memory()
		if err != nil {
			return 0, 0, err
		}
		room = min(room, memoryRoom(m.available, m.total))
	}
	return room, need, nil
}

// fillerBytes is the size of one of its files: some file systems have a limit.
const fillerBytes = gib

func (p diskFiller) start(env Env) (running, error) {
	room, need, err := p.room(env.Dir)
	if err != nil {
		return nil, err
	}
	r := &runningFiller{diskFiller: p, dir: env.Dir}
	if need > room {
		r.notes = append(r.notes, fmt.Sprintf("%s were taken of the %s it would need: the rest is kept", size(room), size(need)))
	}
	if r.before, err = ratioOf(env.Dir); err != nil {
		return nil, err
	}
	for want := min(need, room); r.taken < want; {
		if err := r.take(min(want-r.taken, fillerBytes)); err != nil {
			return nil, errors.Join(err, r.release())
		}
	}
	if r.reached, err = ratioOf(env.Dir); err != nil {
		return nil, errors.Join(err, r.release())
	}
	return r, nil
}

func ratioOf(dir string) (float64, error) {
	usage, err := fsutil.Usage(dir)
	if err != nil {
		return 0, err
	}
	return usage.Ratio()
}

type runningFiller struct {
	diskFiller
	dir             string
	files           []*os.File
	taken           int64
	before, reached float64
	notes           []string
}

// take reserves n bytes in a file of its own.
func (r *runningFiller) take(n int64) error {
	f, err := nameless(r.dir)
	if err != nil {
		return err
	}
	r.files = append(r.files, f)
	if err = fsutil.Fallocate(f, n); errors.Is(err, errors.ErrUnsupported) {
		err = fsutil.ZeroFill(f, n, 0)
	}
	r.taken += n
	return err
}

func (r *runningFiller) release() error {
	var errs []error
	for _, f := range r.files {
		errs = append(errs, f.Close())
	}
	r.files = nil
	return errors.Join(errs...)
}

func (r *runningFiller) stop() (Report, error) {
	return Report{
		Did: fmt.Sprintf("%s taken: the disk went from %.0f %% used to %.0f %%, %.0f %% were asked for",
			size(r.taken), 100*r.before, 100*r.reached, 100*r.ratio),
		Values: map[string]float64{"takenBytes": float64(r.taken), "ratioBefore": r.before, "ratioReached": r.reached},
		Notes:  r.notes,
	}, r.release()
}
