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

	previous groupSync // of the caller of sync
}

func newGroup() *group {
	return &group{gathered: make(chan struct{}, 1)}
}

// A groupSync is what a sync was like.
type groupSync struct {
	members int // whom it served
	joined  int // who asked for the next one meanwhile
	took    time.Duration
	end     time.Time
}

// patience is how long the next sync, which could begin now, waits for the members
// of this one to come back: not at all when it ended longer ago than it took. Where
// hardly anybody joined while it went on, the appends are of those who wait for it:
// they all come back, and it pays to wait for as long as the sync took. Where as many
// joined, appends come by a clock of their own, and the wait is short.
func (s *groupSync) patience(now time.Time) time.Duration {
	switch {
	case now.Sub(s.end) > s.took:
		return 0
	case 2*s.joined >= s.members:
		return min(s.took/4, mostPatience)
	}
	return min(s.took, mostPatience)
}

// mostPatience bounds the wait after a sync that stalled.
const mostPatience = time.Millisecond

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

// waiting is the number of members of the round to come.
func (g *group) waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == nil {
		return 0
	}
	return g.next.members
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
	end := time.Now()
	g.previous = groupSync{members: r.members, joined: g.waiting(), took: end.Sub(start), end: end}
	close(r.done)
	return r.members, r.err
}

// gather waits a moment until those have joined who are about to: the members of
// the last round, who were just woken and may come back, and those who joined
// while it was synced. Without it the first few to come back would have a sync
// of their own, and the others would wait for it and for the next. It sleeps, so
// that they have every processor to themselves; the last of them wakes it.
func (g *group) gather() {
	limit := g.previous.patience(time.Now())
	if limit == 0 || !g.await(g.previous.members+g.previous.joined) {
		return
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-g.gathered:
	case <-timer.C:
		if !g.await(0) {
			<-g.gathered
		}
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
