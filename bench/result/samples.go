package result

import (
	"errors"
	"slices"

	"commitlab/bench/stat"
)

// Samples says how many independent values stand behind a percentile.
type Samples struct {
	// NEff is the number of values divided by their clustering; null when there
	// are too few intervals to tell.
	NEff *float64 `json:"n_eff"`
	// Need is how many independent values the percentile takes.
	Need   float64 `json:"need"`
	Enough bool    `json:"enough"`
}

// maxBatches bounds the batches that a run is cut into. Few long batches see
// clustering that lasts longer than one interval; too few could not measure it.
const maxBatches = 30

// samples reads the log again and counts, batch by batch, the values above
// each percentile of the whole. Values that are independent spread over the
// batches like coin tosses; one stall of a second puts all slow values into
// one batch, and then they say as much as one value.
func (r *Run) samples(m *Merged) (map[string]map[string]Samples, error) {
	counts := make(map[string]*tailCounts, len(m.Tags))
	for tag, d := range m.Tags {
		if d.Count() > 0 {
			counts[tag] = newTailCounts(d, m.Intervals[tag])
		}
	}
	for i, err := range r.Intervals() {
		if errors.Is(err, ErrTorn) {
			break
		}
		if err != nil {
			return nil, err
		}
		if c := counts[i.Tag]; c != nil {
			c.add(i)
		}
	}
	all := make(map[string]map[string]Samples, len(counts))
	for tag, c := range counts {
		all[tag] = c.samples()
	}
	return all, nil
}

// tailCounts counts the values of one tag above its percentiles, per batch of
// consecutive intervals.
type tailCounts struct {
	perBatch int   // intervals in one batch
	seen     int   // intervals counted so far
	first    []int // per percentile: index of the first counter above it
	hits     [][]int64
	sizes    []int64
}

func newTailCounts(d *Distribution, intervals int) *tailCounts {
	c := &tailCounts{
		perBatch: (intervals + maxBatches - 1) / maxBatches,
		hits:     make([][]int64, len(Percentiles)),
	}
	for _, p := range Percentiles {
		// The library does not tell the index of a value, but a histogram that
		// holds only that value does.
		probe := d.Hist.Clone()
		probe.Reset()
		index := 0
		if err := probe.RecordValue(d.Hist.ValueAtPercentile(p.P)); err == nil {
			index = slices.Index(probe.Export().Counts, 1)
		}
		c.first = append(c.first, index+1)
	}
	return c
}

func (c *tailCounts) add(i Interval) {
	if c.seen%c.perBatch == 0 {
		c.sizes = append(c.sizes, 0)
		for p := range c.hits {
			c.hits[p] = append(c.hits[p], 0)
		}
	}
	c.seen++
	if i.Hist.TotalCount() == 0 {
		return
	}
	last := len(c.sizes) - 1
	c.sizes[last] += i.Hist.TotalCount()
	counters := i.Hist.Export().Counts
	for p, from := range c.first {
		for _, n := range counters[from:] {
			c.hits[p][last] += n
		}
	}
}

func (c *tailCounts) samples() map[string]Samples {
	all := make(map[string]Samples, len(Percentiles))
	for i, p := range Percentiles {
		s := Samples{Need: stat.SamplesNeeded(p.P)}
		if n, ok := stat.EffectiveHits(c.hits[i], c.sizes); ok {
			s.NEff = &n
			s.Enough = n >= s.Need
		}
		all[p.Name] = s
	}
	return all
}
