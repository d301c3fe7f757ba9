package scenario

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"commitlab/bench/measure"
)

// recent is every so many-th message of all workers: those not known to be
// dispatched, and the last ones, for lookups. Safe for concurrent use.
type recent struct {
	first atomic.Int64 // log offset behind the oldest not dispatched; MaxInt64 for none

	mu         sync.Mutex
	ring       [recentMessages]recentMessage // guarded by mu
	head, tail uint64                        // guarded by mu; [head,tail) is not dispatched
}

// recentMessages is a power of two. A worker that finds the ring full does not
// follow its message.
const recentMessages = 1 << 12

type recentMessage struct {
	awaited
	worker int
	appended
}

func (r *recent) add(m recentMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tail-r.head == recentMessages {
		return
	}
	r.ring[r.tail%recentMessages] = m
	r.tail++
	if r.tail-r.head == 1 {
		r.first.Store(m.end)
	}
}

// observe records how long those took that lie below dispatched, unless another
// worker is doing so.
func (r *recent) observe(w *measure.Worker, dispatched int64) {
	if !r.mu.TryLock() {
		return
	}
	defer r.mu.Unlock()
	now := w.Now()
	for ; r.head < r.tail; r.head++ {
		m := &r.ring[r.head%recentMessages]
		if m.end > dispatched {
			r.first.Store(m.end)
			return
		}
		w.ObserveSpan(opDispatch, m.at, now)
	}
	r.first.Store(math.MaxInt64)
}

// pick returns one of the later half of the messages that are dispatched; the
// earlier may be about to be deleted.
func (r *recent) pick(random *rand.Rand, dispatched int64) (recentMessage, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(r.tail, recentMessages/2)
	if n == 0 {
		return recentMessage{}, false
	}
	m := r.ring[(r.tail-1-random.Uint64N(n))%recentMessages]
	return m, m.end <= dispatched
}
