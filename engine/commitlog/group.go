package commitlog

import (
	"fmt"
	"sync"
	"time"
)

// A group gathers appends that wait for the next sync. One sync covers all
// that joined before it began: each had appended before it joined.
type group struct {
	mu      sync.Mutex
	next    *round // guarded by mu; nil while nobody waits
	last    *round // guarded by mu; what everybody is told once the group is closed
	awaited int    // guarded by mu; members of next that gather waits for, 0 if it does not

	gathered chan struct{} // gets a token from the last of those awaited

	// Of the caller of sync.
	expected int           // appenders that wait for a sync, as of the last one
	lastSync time.Duration // how long it took
	syncedAt time.Time     // when it ended
	patience patience
}

func newGroup() *group {
	return &group{gathered: make(chan struct{}, 1), patience: mostPatience}
}

// A round is one sync and those who wait for it.
type round struct {
	members int           // guarded by group.mu until the round is taken
	done    chan struct{} // closed when err is final
	err     error
}

func (g *group) join() *round {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last != nil {
		return g.last
	}
	if g.next == nil {
		g.next = &round{done: make(chan struct{})}
	}
	g.next.members++
	if g.next.members == g.awaited {
		g.awaited = 0
		g.gathered <- struct{}{}
	}
	return g.next
}

// wait returns what the sync of the round had for a result, or ErrFlushTimeout.
func (r *round) wait(timeout time.Duration) error {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-r.done:
		return r.err
	case <-timer.C:
		return fmt.Errorf("%w (%v)", ErrFlushTimeout, timeout)
	}
}

// sync takes the waiting round, runs flush for it and wakes its members with
// the outcome. It returns how many they were.
func (g *group) sync(flush func() error) (members int, err error) {
	if g.waiting() == 0 {
		return 0, nil
	}
	g.gather()
	g.mu.Lock()
	r := g.next
	g.next = nil
	g.mu.Unlock()
	start := time.Now()
	r.err = flush()
	g.syncedAt = time.Now()
	g.lastSync, g.expected = g.syncedAt.Sub(start), r.members+g.waiting()
	close(r.done)
	return r.members, r.err
}

// gather waits a moment until those have joined who are about to: the members of
// the last round, who were just woken and may come back, and those who joined
// while it was synced. Without it the first few to come back would have a sync
// of their own, and the others would wait for it and for the next. It sleeps, so
// that they have every processor to themselves; the last of them wakes it.
func (g *group) gather() {
	limit := g.patience.limit(g.lastSync, time.Since(g.syncedAt))
	if limit == 0 || !g.await(g.expected) {
		return
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-g.gathered:
		g.patience = g.patience.rewarded()
	case <-timer.C:
		if !g.await(0) {
			<-g.gathered
		}
		g.patience = g.patience.disappointed()
	}
}

// await asks for a token when the round to come has so many members; with 0 it
// takes the request back. It is false when there is nothing to wait for: they
// are there already or, taking back, have just come.
func (g *group) await(members int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if members == 0 {
		pending := g.awaited != 0
		g.awaited = 0
		return pending
	}
	if g.next.members >= members {
		return false
	}
	g.awaited = members
	return true
}

// A patience is the share of the last sync, in quarters, that the next one
// waits for those who waited for it. Writers that append again as soon as they
// are told all come back, and the wait pays: it stays long. Where appends come by
// a clock of their own they do not, every wait is in vain, and it gets shorter.
type patience int

const (
	leastPatience patience = 1
	mostPatience  patience = 4
)

func (p patience) rewarded() patience     { return mostPatience }
func (p patience) disappointed() patience { return max(p-1, leastPatience) }

// limit is how long to wait after a sync of that length: not at all when it
// ended longer ago than it took, because then nobody is about to come back.
func (p patience) limit(lastSync, ago time.Duration) time.Duration {
	if ago > lastSync {
		return 0
	}
	return min(lastSync*time.Duration(p)/4, maxGather)
}

// maxGather bounds the wait after a sync that stalled.
const maxGather = time.Millisecond

// waiting is the number of members of the round to come.
func (g *group) waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == nil {
		return 0
	}
	return g.next.members
}

// close tells those who wait, and all who come later, the outcome of the final
// flush. No sync follows.
func (g *group) close(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last, g.next = g.next, nil
	if g.last == nil {
		g.last = &round{done: make(chan struct{})}
	}
	g.last.err = err
	close(g.last.done)
}
