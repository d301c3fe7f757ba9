package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"commitlab/engine"
)

// patience is how a scenario that is being set up puts messages: a disk that
// stands still for a second makes the store refuse them, and is no reason to give
// up a run that has not begun. What is measured never puts this way: there a
// refusal is a result.
type patience struct {
	pause time.Duration // between two attempts
	most  time.Duration // from the first refusal until it is given up
}

// settingUp is the patience of every Setup. Shared disks have been seen to stand
// still for ten seconds.
var settingUp = patience{pause: 20 * time.Millisecond, most: 30 * time.Second}

// put calls try until the store no longer says that its page cache is busy, which
// means that nothing was stored. The error of a wait that was too long, or was
// cancelled, tells how long it was and wraps the store's last one.
func (p patience) put(ctx context.Context, try func() (engine.PutResult, error)) (engine.PutResult, error) {
	r, err := try()
	if !errors.Is(err, engine.ErrPageCacheBusy) {
		return r, err
	}
	first := time.Now()
	tick := time.NewTicker(p.pause)
	defer tick.Stop()
	for tries := 2; ; tries++ {
		select {
		case <-ctx.Done():
			return r, fmt.Errorf("%w, having waited %v for the store to take a message: %w", ctx.Err(), time.Since(first), err)
		case <-tick.C:
		}
		if r, err = try(); !errors.Is(err, engine.ErrPageCacheBusy) {
			return r, err
		}
		if waited := time.Since(first); waited >= p.most {
			return r, fmt.Errorf("waited %v for the store to take a message, in %d attempts: %w", waited, tries, err)
		}
	}
}
