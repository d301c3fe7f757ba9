package pressure

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// cpuHog is processes that compute.
//
// Note: goroutines would be hogs of the Go scheduler, which nobody else's
// programs are: they would take the generator's Ps and not only its processors.
type cpuHog struct{ count int }

const mostHogs = 1024

func parseCPUHog(argument string) (source, error) {
	n, err := strconv.Atoi(argument)
	if err != nil || n < 1 || n > mostHogs {
		return nil, fmt.Errorf("a number of processes from 1 to %d", mostHogs)
	}
	return cpuHog{n}, nil
}

func (cpuHog) missing(Env) string {
	if _, err := exec.LookPath("sh"); err != nil {
		return err.Error()
	}
	return ""
}

// hogProgram computes for as long as the process lives that its argument names; it
// looks every some ten milliseconds. Nothing else ends it when this one is killed.
const hogProgram = `while kill -0 "$1" 2>/dev/null; do i=0; while [ "$i" -lt 20000 ]; do i=$((i+1)); done; done`

func (p cpuHog) start(Env) (running, error) {
	r := &runningHog{cpuHog: p, begun: time.Now()}
	for range p.count {
		cmd := hogOf(os.Getpid())
		if err := cmd.Start(); err != nil {
			_, stopErr := r.stop()
			return nil, errors.Join(err, stopErr)
		}
		r.processes = append(r.processes, cmd)
	}
	return r, nil
}

// hogOf is a process that computes for as long as the owner lives.
func hogOf(owner int) *exec.Cmd {
	return exec.Command("sh", "-c", hogProgram, "cpu-hog", strconv.Itoa(owner))
}

type runningHog struct {
	cpuHog
	begun     time.Time
	processes []*exec.Cmd
}

func (r *runningHog) stop() (Report, error) {
	took := time.Since(r.begun)
	var used time.Duration
	var errs []error
	early := 0
	for _, cmd := range r.processes {
		if err := cmd.Process.Kill(); err != nil {
			early++ // it has ended by itself; Wait tells
		}
	}
	for _, cmd := range r.processes {
		var exit *exec.ExitError
		if err := cmd.Wait(); err != nil && !errors.As(err, &exit) { // killed is an exit
			errs = append(errs, err)
		}
		if s := cmd.ProcessState; s != nil {
			used += s.UserTime() + s.SystemTime()
		}
	}
	report := Report{
		Did:    fmt.Sprintf("%d processes computed for %.2f s of processor time in %.2f s", len(r.processes), used.Seconds(), took.Seconds()),
		Values: map[string]float64{"processes": float64(len(r.processes)), "cpuSeconds": used.Seconds(), "seconds": took.Seconds()},
	}
	if early > 0 {
		report.Notes = append(report.Notes, fmt.Sprintf("%d processes had ended before they were told to", early))
	}
	return report, errors.Join(errs...)
}
