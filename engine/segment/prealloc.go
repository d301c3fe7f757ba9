package segment

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

// ErrPreallocStopped is returned to an appender that waits for a file while
// the store closes.
var ErrPreallocStopped = errors.New("segment: preallocation is stopped")

// retryAfter is the pause after a failed attempt to make a file. Until it is
// over, every roll fails at once with the error of the last attempt.
const retryAfter = 100 * time.Millisecond

// Prealloc makes the next file of a queue while the current one is written, so
// that a roll finds it allocated, populated and locked. It is a service; its
// Step makes at most one file. Without a running service (Inline) a roll makes
// the file itself.
type Prealloc struct {
	dir    string
	opt    *Options
	inline bool
	wake   func()

	mu      sync.Mutex
	want    int64         // guarded by mu; base of the file to make, -1 for none
	ready   *File         // guarded by mu; made and not yet taken
	failed  error         // guarded by mu; of the last attempt at want
	retryAt time.Time     // guarded by mu; no attempt before
	rolled  []*File       // guarded by mu; full files still to be unlocked
	change  chan struct{} // guarded by mu; closed and renewed when ready or failed changes
	stopped bool          // guarded by mu
}

// NewPrealloc returns the preallocation of the queue in dir. wake is called
// when there is work for Step; with inline there never is.
func NewPrealloc(dir string, o *Options, inline bool, wake func()) *Prealloc {
	return &Prealloc{dir: dir, opt: o, inline: inline, wake: wake, want: -1, change: make(chan struct{})}
}

// Name implements service.Service.
func (p *Prealloc) Name() string { return "prealloc" }

// Step makes the file that is wanted, if any, and unlocks files that were
// rolled. It returns the number of files it dealt with.
func (p *Prealloc) Step(now time.Time) (int, error) {
	p.mu.Lock()
	rolled := p.rolled
	p.rolled = nil
	base := p.want
	idle := base < 0 || p.ready != nil || p.stopped || now.Before(p.retryAt)
	p.mu.Unlock()
	for _, f := range rolled {
		f.unlock(p.opt)
	}
	if idle {
		return len(rolled), nil
	}
	file, err := Next(filepath.Join(p.dir, FileName(base)), base, p.opt)

	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped { // Stop came while the file was made
		if file != nil {
			_, err = file.Destroy(now, 0)
		}
		return len(rolled), err
	}
	p.ready, p.failed = file, err
	if err != nil {
		p.retryAt = now.Add(retryAfter)
	}
	p.announce()
	if err != nil {
		return len(rolled), err
	}
	return len(rolled) + 1, nil
}

// announce wakes everybody in Take. Called under mu.
func (p *Prealloc) announce() {
	close(p.change)
	p.change = make(chan struct{})
}

// Request says that the file at base will be needed.
func (p *Prealloc) Request(base int64) {
	if p.inline {
		return
	}
	p.mu.Lock()
	p.want = base
	p.mu.Unlock()
	p.wake()
}

// Idle reports that no file is being made: the one that was asked for is ready
// or could not be made, or none was asked for.
func (p *Prealloc) Idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.want < 0 || p.ready != nil || p.failed != nil
}

// Take returns the file at base and how long the caller waited for it. It
// fails with the reason when the file cannot be made, without waiting for
// better times: the next Take tries again.
func (p *Prealloc) Take(base int64) (file *File, waited time.Duration, err error) {
	start := time.Now()
	if p.inline {
		file, err = Next(filepath.Join(p.dir, FileName(base)), base, p.opt)
		return file, time.Since(start), err
	}
	p.mu.Lock()
	for {
		if p.stopped {
			p.mu.Unlock()
			return nil, time.Since(start), ErrPreallocStopped
		}
		if p.ready != nil {
			if p.ready.Base() != base {
				p.mu.Unlock()
				return nil, time.Since(start), fmt.Errorf("segment: prepared file starts at %d, wanted %d", p.ready.Base(), base)
			}
			file, p.ready, p.want = p.ready, nil, -1
			p.mu.Unlock()
			return file, time.Since(start), nil
		}
		p.want = base
		if p.failed != nil && time.Now().Before(p.retryAt) {
			err := p.failed
			p.mu.Unlock()
			return nil, time.Since(start), err
		}
		p.failed, p.retryAt = nil, time.Time{}
		change := p.change
		p.mu.Unlock()
		p.wake()
		<-change
		p.mu.Lock()
	}
}

// Rolled hands over a file that is full, to be unlocked in the background.
func (p *Prealloc) Rolled(f *File) {
	if p.opt.MemoryLock == LockNone {
		return
	}
	if p.inline {
		f.unlock(p.opt)
		return
	}
	p.mu.Lock()
	p.rolled = append(p.rolled, f)
	p.mu.Unlock()
	p.wake()
}

// Stop refuses further work and removes a file that was made and not taken.
func (p *Prealloc) Stop() error {
	p.mu.Lock()
	p.stopped = true
	ready := p.ready
	p.ready = nil
	p.announce()
	p.mu.Unlock()
	if ready == nil {
		return nil
	}
	_, err := ready.Destroy(time.Now(), 0)
	return err
}
