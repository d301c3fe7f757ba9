package scenario

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"commitlab/bench/measure"
	"commitlab/engine"
	"commitlab/engine/segment"
)

// coldLookup is lookup with a log that is not in the page cache, so that every
// record comes from the disk. Beside the readers runs a ticker that shares
// nothing with them: it shows what their waiting does to other goroutines.
//
//	log       │ block │ block │ block │ …     one read in each block,
//	                                          in random order: a round
//	          evict ─► round ─► evict ─► round ─► …
//
// The system reads more than it is asked for. A record is cold if nothing near
// it was read since the log was evicted, so a round reads one record of each
// block, and a block is larger than what Linux reads around a page by default. A
// device may be set to more: with advise other than random the counter roundBytes
// tells whether a round has warmed the whole log.
//
// The worker that finds a round at its end evicts the log while the others wait;
// that is time of the operation turn, not of read within it.
//
// Note: a goroutine that evicted by time would be held up by the readers, and
// the more so the worse their way of reading is: it let the log warm up.
type coldLookup struct {
	lookup
	blocks []int // index in put of the first message of each block, and the end

	round    sync.RWMutex // read-locked by readers
	order    []int        // guarded by round; blocks in the order they are read
	next     atomic.Int64 // place in order
	rand     *rand.Rand   // guarded by round
	evicting atomic.Bool

	ticks  aside
	stop   chan struct{}
	ticker sync.WaitGroup

	mu    sync.Mutex
	cache cacheAccount // guarded by mu
}

// cacheAccount tells how cold the log was.
type cacheAccount struct {
	LogBytes int64 `json:"logBytes"`
	Blocks   int   `json:"blocks"` // reads in a round
	Rounds   int64 `json:"rounds"` // evictions
	// Unknown is why the system does not tell what is cached; the figures below
	// are then zero.
	Unknown string `json:"unknown,omitempty"`
	// FilledBytes were cached when the store had been filled, RoundBytes at most
	// at the end of a round, LeftBytes at most after an eviction.
	FilledBytes int64 `json:"filledBytes"`
	RoundBytes  int64 `json:"roundBytes"`
	LeftBytes   int64 `json:"leftBytes"`
	TicksLost   int64 `json:"ticksLost,omitempty"`
}

const (
	tickerInterval = time.Millisecond
	// coldBlockBytes is twice what Linux reads around a faulting page by default.
	coldBlockBytes = 256 << 10
)

func newColdLookup(spec Spec) (measure.Instance, error) {
	if spec.MaxBytes <= 0 {
		return nil, fmt.Errorf("maxBytes is %d, want a positive number of bytes", spec.MaxBytes)
	}
	return &coldLookup{
		lookup: lookup{filled: filled{spec: spec}},
		rand:   rand.New(rand.NewPCG(spec.Workload.Seed, 0)),
		ticks:  aside{op: opTicker}, stop: make(chan struct{}),
	}, nil
}

// needCold makes every record one that is read as the option coldRead says, and
// has the system read what it is asked for alone, unless these were set.
func needCold(o *engine.Options) error {
	if o.Advise == "" {
		o.Advise = segment.AdviseRandom
	}
	if o.ColdAfterBytes == 0 {
		o.ColdAfterBytes = 1
	}
	return needDispatch(o)
}

// Setup fills the store and evicts its log.
func (c *coldLookup) Setup(ctx context.Context) error {
	if err := c.lookup.Setup(ctx); err != nil {
		return err
	}
	end := c.put[len(c.put)-1].offset
	for at := int64(0); at <= end; at += coldBlockBytes {
		first := sort.Search(len(c.put), func(i int) bool { return c.put[i].offset >= at })
		if n := len(c.blocks); n == 0 || first > c.blocks[n-1] { // not within a long message
			c.order = append(c.order, len(c.blocks))
			c.blocks = append(c.blocks, first)
		}
	}
	c.blocks = append(c.blocks, len(c.put))
	c.cache.LogBytes, c.cache.Blocks = end+int64(c.put[len(c.put)-1].size), len(c.order)
	filled, err := c.cachedBytes()
	if errors.Is(err, errors.ErrUnsupported) {
		c.cache.Unknown, err = err.Error(), nil
	}
	c.cache.FilledBytes = filled
	if err == nil {
		err = c.begin()
	}
	if err != nil {
		return errors.Join(err, c.store.Close())
	}
	c.ticker.Go(c.tick)
	return nil
}

// cachedBytes is how much of the log is in the page cache; 0 if that is not known.
func (c *coldLookup) cachedBytes() (int64, error) {
	if c.cache.Unknown != "" { // immutable after Setup
		return 0, nil
	}
	stat, err := c.store.LogCache()
	return stat.CachedPages * int64(os.Getpagesize()), err
}

// begin evicts the log and begins a round. The caller holds round, or is Setup.
func (c *coldLookup) begin() error {
	c.evicting.Store(true)
	defer c.evicting.Store(false)
	before, err := c.cachedBytes()
	if err != nil {
		return err
	}
	if err := c.store.EvictLog(); err != nil {
		return err
	}
	after, err := c.cachedBytes()
	if err != nil {
		return err
	}
	c.mu.Lock()
	if c.cache.Rounds > 0 {
		c.cache.RoundBytes = max(c.cache.RoundBytes, before)
	}
	c.cache.LeftBytes = max(c.cache.LeftBytes, after)
	c.cache.Rounds++
	c.mu.Unlock()
	c.rand.Shuffle(len(c.order), func(i, j int) { c.order[i], c.order[j] = c.order[j], c.order[i] })
	c.next.Store(0)
	return nil
}

// tick is due every millisecond and observes how late it is. One that is missed
// is late as well; those of an eviction do not count.
func (c *coldLookup) tick() {
	begin := time.Now()
	for due := tickerInterval; ; due += tickerInterval {
		time.Sleep(due - time.Since(begin))
		select {
		case <-c.stop:
			return
		default:
		}
		if !c.evicting.Load() {
			c.ticks.add(time.Since(begin) - due)
		}
	}
}

// Op takes the next block of the round and reads one message of it by key.
func (c *coldLookup) Op(w *measure.Worker) error {
	c.ticks.observe(w)
	block, err := c.take()
	if err != nil {
		return err
	}
	defer c.round.RUnlock()
	first, end := c.blocks[block], c.blocks[block+1]
	q := c.question(first + w.Rand.IntN(end-first))
	start := w.Now()
	if err := c.answer(c.readers[w.ID], q); err != nil {
		return err
	}
	w.Observe(opRead, w.Now()-start)
	return nil
}

// take returns a block that was not read in this round, with round read-locked
// if there is no error.
func (c *coldLookup) take() (block int, err error) {
	for {
		c.round.RLock()
		if n := int(c.next.Add(1)) - 1; n < len(c.order) {
			return c.order[n], nil
		}
		c.round.RUnlock()
		if err := c.renew(); err != nil {
			return 0, fmt.Errorf("keep the log cold: %w", err)
		}
	}
}

// renew begins the next round, unless another worker has done so.
func (c *coldLookup) renew() error {
	c.round.Lock()
	defer c.round.Unlock()
	if int(c.next.Load()) < len(c.order) {
		return nil
	}
	return c.begin()
}

// Counters are the store's own account and that of its page cache.
func (c *coldLookup) Counters() any {
	c.mu.Lock()
	cache := c.cache
	c.mu.Unlock()
	cache.TicksLost = c.ticks.dropped()
	return struct {
		engine.Snapshot
		Cache cacheAccount `json:"cache"`
	}{c.store.Snapshot(), cache}
}

// Close ends the ticker and closes the store.
func (c *coldLookup) Close() error {
	close(c.stop)
	c.ticker.Wait()
	return c.lookup.Close()
}
