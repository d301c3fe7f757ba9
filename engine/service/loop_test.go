package service

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// job hands out a fixed amount of work, one unit a step.
type job struct {
	left  atomic.Int64
	steps atomic.Int64
	fail  atomic.Pointer[error]
	ran   chan struct{}
}

func (j *job) Name() string { return "job" }

func (j *job) Step(time.Time) (int, error) {
	j.steps.Add(1)
	defer func() {
		select {
		case j.ran <- struct{}{}:
		default:
		}
	}()
	if p := j.fail.Load(); p != nil {
		return 0, *p
	}
	if j.left.Load() == 0 {
		return 0, nil
	}
	j.left.Add(-1)
	return 1, nil
}

func TestWakeRunsAllWorkWithoutWaitingForTheInterval(t *testing.T) {
	j := &job{ran: make(chan struct{}, 64)}
	l := Start(j, Options{Interval: time.Hour})
	defer l.Stop()
	j.left.Store(5)
	l.Wake()
	for range 6 { // five units and the step that finds nothing
		<-j.ran
	}
	if got := j.left.Load(); got != 0 {
		t.Fatalf("work left: got %d, want 0", got)
	}
}

func TestStopDrainsWhatIsLeft(t *testing.T) {
	j := &job{ran: make(chan struct{}, 64)}
	l := Start(j, Options{Interval: time.Hour})
	j.left.Store(7)
	l.Stop()
	if got := j.left.Load(); got != 0 {
		t.Fatalf("work left after Stop: got %d, want 0", got)
	}
	l.Stop() // a second Stop only waits
}

func TestTimedLoopIgnoresWakeUps(t *testing.T) {
	j := &job{ran: make(chan struct{}, 64)}
	l := Start(j, Options{Interval: time.Hour, Timed: true})
	for range 100 {
		l.Wake()
	}
	l.Stop()
	if got := j.steps.Load(); got != 1 { // the drain alone
		t.Fatalf("steps: got %d, want 1", got)
	}
}

func TestErrorsAreReportedAndTheLoopGoesOn(t *testing.T) {
	boom := errors.New("boom")
	j := &job{ran: make(chan struct{}, 64)}
	j.fail.Store(&boom)
	var seen atomic.Int64
	l := Start(j, Options{Interval: time.Hour, OnError: func(name string, err error) {
		if name != "job" || !errors.Is(err, boom) {
			t.Errorf("reported %q %v", name, err)
		}
		seen.Add(1)
	}})
	l.Wake()
	<-j.ran
	j.fail.Store(nil)
	j.left.Store(1)
	l.Wake()
	<-j.ran
	l.Stop()
	if seen.Load() == 0 {
		t.Fatal("error was not reported")
	}
	if j.left.Load() != 0 {
		t.Fatal("the loop stopped working after an error")
	}
}
