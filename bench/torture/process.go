package torture

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// lifeTimeout bounds a life: a child that lives longer hangs.
const lifeTimeout = 2 * time.Minute

// stackTime is how long a child that hangs gets to print its goroutines.
const stackTime = 5 * time.Second

// A process is a child as its parent sees it.
type process struct {
	*verdict
	cmd     *exec.Cmd
	plan    Life
	content *content
	log     *lifeLog
	refused *Refusals
	said    tail // on standard error

	acks           int
	cloned, dying  bool
	killed, wanted bool // by the parent; killed as planned
}

// live runs one life to its end and takes down what it told. The error says that
// it could not be run; what went wrong in it goes to the verdict.
func (p *process) live(ctx context.Context, sp spec) error {
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return err
	}
	defer stdin.Close()
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.cmd.Stderr = &p.said
	if err := p.cmd.Start(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, p.kill)
	defer stop()
	hangs := time.AfterFunc(lifeTimeout, func() { // signals are safe until Wait has returned, and after
		_ = p.cmd.Process.Signal(syscall.SIGQUIT)
		time.AfterFunc(stackTime, p.kill)
	})
	err = json.NewEncoder(stdin).Encode(sp)
	lines := bufio.NewScanner(stdout)
	for err == nil && lines.Scan() {
		var e event
		if e, err = parseEvent(lines.Text()); err == nil {
			p.heard(e)
		}
	}
	if err != nil {
		p.kill()
	}
	ended := p.cmd.Wait()
	inTime := hangs.Stop()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("torture: %w: %s", err, &p.said)
	case len(p.found) > 0:
	case !inTime:
		p.wrong("the process did not end within %v: %s", lifeTimeout, &p.said)
	case !p.endedAsPlanned(ended):
		p.wrong("the process ended with %v (planned: %s): %s", ended, p.plan.Death, &p.said)
	}
	return nil
}

func (p *process) kill() { _ = p.cmd.Process.Kill() }

// heard takes in an event, and kills the child when its time has come.
func (p *process) heard(e event) {
	p.log.heard(e, p.content)
	due := false
	switch e.what {
	case eventWrong:
		p.wrong("%s", e.text)
		p.kill() // nothing else can be learned from it
	case eventAcked:
		p.acks++
		due = !p.plan.InOpen && !p.plan.InClose && p.acks >= p.plan.Acks+p.plan.needsMore()
	case eventOpening:
		due = p.plan.InOpen
	case eventClosing:
		due = p.plan.InClose
	case eventCloned:
		p.cloned = true
	case eventDying:
		p.dying = true
	case eventRefused:
		p.refused.add(refusal(e.numbers[0]), e.numbers[1])
	}
	if due && !p.wanted && (p.plan.Death == Kill || p.plan.Death == DiskFull) {
		p.wanted = true
		time.AfterFunc(time.Duration(p.plan.DelayUs)*time.Microsecond, p.kill)
	}
}

// needsMore is how many puts have to succeed once the disk has room again.
func (l Life) needsMore() int {
	if l.Death == DiskFull {
		return l.More
	}
	return 0
}

// endedAsPlanned judges the end of the process.
func (p *process) endedAsPlanned(err error) bool {
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	bySignal := status.Signaled() && status.Signal() == syscall.SIGKILL
	switch p.plan.Death {
	case Kill, DiskFull:
		return bySignal && p.wanted
	case SyncFail:
		if p.plan.KeepCache {
			return bySignal && p.dying
		}
		return err == nil && p.cloned
	case Power:
		return err == nil && p.cloned
	default:
		return err == nil && p.log.closed
	}
}

// tail keeps the last of what is written to it.
type tail struct{ text []byte }

const maxTail = 16 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if over := len(t.text) - maxTail; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(bytes.TrimSpace(t.text)) }
