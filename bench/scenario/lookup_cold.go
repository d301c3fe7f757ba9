package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"commitlab/bench/measure"
	"commitlab/engine"
)

// coldLookup is lookup with a log that is kept out of the page cache, so that
// nearly every record comes from the disk. Beside it a ticker that shares
// nothing with the readers shows what their waiting does to other goroutines.
//
//	workers   ask for a key, any of those stored       read
//	ticker    is due every millisecond                 ticker: how late it was
//	evictor   lets the log out of the page cache whenever more than
//	          a few percent of it have come back
type coldLookup struct {
	lookup
	ticks  aside
	stop   chan struct{}
	beside sync.WaitGroup // ticker and evictor

	mu    sync.Mutex
	cache cacheAccount // guarded by mu
	err   error        // guarded by mu; of the evictor
}

// cacheAccount tells how cold the log was.
type cacheAccount struct {
	LogBytes int64 `json:"logBytes"`
	// Unknown is why the system does not tell what is cached; the log is then
	// evicted by time, and the figures below are zero.
	Unknown string `json:"unknown,omitempty"`
	// FilledBytes were cached when the store had been filled, EvictedBytes of
	// them after the first eviction no more.
	FilledBytes  int64 `json:"filledBytes"`
	EvictedBytes int64 `json:"evictedBytes"`
	// CachedBytes were cached at the last look, at most MaxCachedBytes at any
	// look since the readers began.
	CachedBytes    int64 `json:"cachedBytes"`
	MaxCachedBytes int64 `json:"maxCachedBytes"`
	Evictions      int64 `json:"evictions"`
	TicksLost      int64 `json:"ticksLost,omitempty"`
}

const (
	tickerInterval = time.Millisecond
	evictorPause   = 20 * time.Millisecond
	// coldShare of the log may be cached before it is evicted again: 1 in so many.
	coldShare = 20
)

func newColdLookup(spec Spec) (measure.Instance, error) {
	if spec.MaxBytes <= 0 {
		return nil, fmt.Errorf("maxBytes is %d, want a positive number of bytes", spec.MaxBytes)
	}
	return &coldLookup{
		lookup: lookup{filled: filled{spec: spec}, ask: askUniform},
		ticks:  aside{op: opTicker}, stop: make(chan struct{}),
	}, nil
}

// needCold makes every record one that is read as the option coldRead says,
// unless the limit was set.
func needCold(o *engine.Options) error {
	if o.ColdAfterBytes == 0 {
		o.ColdAfterBytes = 1
	}
	return needDispatch(o)
}

// Setup fills the store and empties the page cache of its log.
func (c *coldLookup) Setup(ctx context.Context) error {
	if err := c.lookup.Setup(ctx); err != nil {
		return err
	}
	if err := c.cool(); err != nil {
		return errors.Join(err, c.store.Close())
	}
	c.beside.Go(c.tick)
	c.beside.Go(c.evict)
	return nil
}

// cool evicts the log for the first time and keeps account.
func (c *coldLookup) cool() error {
	c.cache.LogBytes = c.put[len(c.put)-1].offset + int64(c.put[len(c.put)-1].size)
	before, err := c.cachedBytes()
	if errors.Is(err, errors.ErrUnsupported) {
		c.cache.Unknown = err.Error()
		return c.store.EvictLog()
	}
	if err == nil {
		err = c.store.EvictLog()
	}
	if err != nil {
		return err
	}
	after, err := c.cachedBytes()
	c.cache.FilledBytes, c.cache.EvictedBytes = before, before-after
	return err
}

func (c *coldLookup) cachedBytes() (int64, error) {
	stat, err := c.store.LogCache()
	return stat.CachedPages * int64(os.Getpagesize()), err
}

// tick is due every millisecond and observes how late it is. One that is missed
// is late as well.
func (c *coldLookup) tick() {
	begin := time.Now()
	for due := tickerInterval; ; due += tickerInterval {
		time.Sleep(due - time.Since(begin))
		select {
		case <-c.stop:
			return
		default:
		}
		c.ticks.add(time.Since(begin) - due)
	}
}

// evict keeps the log cold.
func (c *coldLookup) evict() {
	pause := time.NewTicker(evictorPause)
	defer pause.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-pause.C:
		}
		if err := c.evictIfWarm(); err != nil {
			c.mu.Lock()
			c.err = fmt.Errorf("keep the log cold: %w", err)
			c.mu.Unlock()
			return
		}
	}
}

func (c *coldLookup) evictIfWarm() error {
	known := c.cache.Unknown == "" // immutable after Setup
	if known {
		cached, err := c.cachedBytes()
		if err != nil {
			return err
		}
		c.mu.Lock()
		c.cache.CachedBytes = cached
		c.cache.MaxCachedBytes = max(c.cache.MaxCachedBytes, cached)
		c.mu.Unlock()
		if cached <= c.cache.LogBytes/coldShare { // immutable, too
			return nil
		}
	}
	if err := c.store.EvictLog(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cache.Evictions++
	return nil
}

// Op reads one message by its key.
func (c *coldLookup) Op(w *measure.Worker) error {
	c.ticks.observe(w)
	return c.lookup.Op(w)
}

// Verify compares a sample, and fails if the log could not be kept cold.
func (c *coldLookup) Verify(ctx context.Context) error {
	c.mu.Lock()
	err := c.err
	c.mu.Unlock()
	return errors.Join(err, c.lookup.Verify(ctx))
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

// Close ends what runs beside the workers and closes the store.
func (c *coldLookup) Close() error {
	close(c.stop)
	c.beside.Wait()
	return c.lookup.Close()
}
