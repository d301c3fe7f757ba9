package pressure

import (
	"errors"
	"fmt"
	"os"

	"commitlab/bench/workload"
)

// memoryLimit makes memory scarce for this process alone, page cache that it
// brings in included.
type memoryLimit struct{ bytes int64 }

// leastLimit is what a load generator needs to live.
const leastLimit = 256 * mib

func parseMemoryLimit(argument string) (source, error) {
	n, err := workload.ParseBytes(argument)
	if err != nil || n < leastLimit {
		return nil, fmt.Errorf("a size of %s or more, such as 2GiB", size(leastLimit))
	}
	return memoryLimit{n}, nil
}

func (p memoryLimit) missing(env Env) string {
	_, err := ownMemoryGroup()
	if err == nil {
		return ""
	}
	text := fmt.Sprintf("%v; ballast takes its place", err)
	if b, err := p.ballast(); err != nil {
		text += fmt.Sprintf(": %v", err)
	} else if m := b.missing(env); m != "" {
		text += ": " + m
	}
	return text
}

func (p memoryLimit) start(env Env) (running, error) {
	group, err := ownMemoryGroup()
	if err != nil {
		return p.instead(env, err)
	}
	r, err := group.confine(os.Getpid(), p.bytes)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, errNoGroup) {
		return p.instead(env, err)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// errNoGroup: there is no memory control group that could be used.
var errNoGroup = errors.New("no memory control group can be made")

// ballast leaves as much memory as the limit would.
func (p memoryLimit) ballast() (ballast, error) {
	m, err := memory()
	if err != nil {
		return ballast{}, err
	}
	return ballast{bytes: max(m.available-p.bytes, 1)}, nil
}

// instead puts ballast in the place of a limit, and says so.
func (p memoryLimit) instead(env Env, why error) (running, error) {
	b, err := p.ballast()
	if err != nil {
		return nil, errors.Join(why, err)
	}
	r, err := b.start(env)
	if err != nil {
		return nil, errors.Join(why, err)
	}
	return &insteadOf{r, fmt.Sprintf("no memory limit: %v; ballast was put in its place, which also takes memory from others", why)}, nil
}

// insteadOf is another kind of pressure than was asked for.
type insteadOf struct {
	running
	note string
}

func (r *insteadOf) stop() (Report, error) {
	report, err := r.running.stop()
	report.Notes = append([]string{r.note}, report.Notes...)
	return report, err
}
