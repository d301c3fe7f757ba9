package pressure

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Session is pressure that is being put on.
type Session struct {
	stop func() ([]Report, error) // once
}

// Start begins all kinds of the set, in order. When one cannot, those before it
// are stopped and the error says why. The session also ends when ctx does.
func (s Set) Start(ctx context.Context, env Env) (*Session, error) {
	var started []running
	stop := func() ([]Report, error) {
		reports := make([]Report, len(started))
		var errs []error
		for i := len(started) - 1; i >= 0; i-- {
			r, err := started[i].stop()
			r.Kind, r.Asked = s[i].Kind, s[i].Asked
			reports[i] = r
			if err != nil {
				errs = append(errs, fmt.Errorf("stop pressure %s: %w", r.Kind, err))
			}
		}
		return reports, errors.Join(errs...)
	}
	for _, spec := range s {
		r, err := spec.source.start(env)
		if err != nil {
			_, stopErr := stop()
			return nil, errors.Join(fmt.Errorf("start pressure %s=%s: %w", spec.Kind, spec.Asked, err), stopErr)
		}
		started = append(started, r)
	}
	session := &Session{stop: sync.OnceValues(stop)}
	context.AfterFunc(ctx, func() { _, _ = session.Stop() }) // who calls Stop gets what it returned
	return session, nil
}

// Stop ends all kinds, gives back what they took and returns what each did, in
// the order of the set. Further calls return the same.
func (s *Session) Stop() ([]Report, error) { return s.stop() }

// loop is goroutines that go on until they are told to end.
type loop struct {
	begun time.Time
	ended chan struct{}
	group sync.WaitGroup
}

func newLoop() *loop { return &loop{begun: time.Now(), ended: make(chan struct{})} }

// run starts a goroutine.
func (l *loop) run(f func()) { l.group.Go(f) }

// pause waits; false means that it is time to end.
func (l *loop) pause(d time.Duration) bool {
	if d <= 0 {
		select {
		case <-l.ended:
			return false
		default:
			return true
		}
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-l.ended:
		return false
	case <-timer.C:
		return true
	}
}

// end ends the goroutines and returns how long they were at work.
func (l *loop) end() time.Duration {
	close(l.ended)
	l.group.Wait()
	return time.Since(l.begun)
}
